#include "providers/key_hosts.h"

#include "agent/text.h"
#include "providers/preset_address.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using Place = KeyRequest::Place;

// us-east-1, us-gov-west-1: no name below which somebody else can have one, as s3 is.
constexpr std::string_view k_region = "[a-z]{2,4}(?:-[a-z]+){1,3}-[0-9]{1,2}";
constexpr std::string_view k_region_mark = "{region}";

bool matches(std::string_view pattern, const Origin& origin) {
  const auto mark = pattern.find(k_region_mark);
  if (mark == std::string_view::npos) {
    return origin.text == pattern;
  }
  return re2::RE2::FullMatch(
      origin.text,
      re2::RE2::QuoteMeta(std::string(pattern.substr(0, mark))) + std::string(k_region) +
          re2::RE2::QuoteMeta(std::string(pattern.substr(mark + k_region_mark.size()))));
}

// What is said of the value in a message: "`model.api_key_env` sends OPENAI_API_KEY".
std::string sentence(const KeyRequest& request) {
  const std::string& name = request.variable;
  switch (request.place) {
    case Place::key:
      return fmt::format("`api_key_env` sends the key {}", name);
    case Place::header:
      return fmt::format("a header sends the value of {}", name);
    case Place::address:
      return fmt::format("`base_url` sends the value of {}", name);
    case Place::text:
      return fmt::format("the agent can send the value of {}", name);
  }
  return name;
}

const Preset* preset_of(std::string_view variable) {
  const auto other = std::ranges::find(other_key_variables(), variable, &OtherKeyVariable::name);
  const auto found = std::ranges::find_if(presets(), [&](const Preset& preset) {
    return !preset.key_variable.empty() && preset.key_variable == variable;
  });
  if (found != presets().end()) {
    return &*found;
  }
  if (other == other_key_variables().end() || other->preset.empty()) {
    return nullptr;
  }
  return &*std::ranges::find(presets(), other->preset, &Preset::name);
}

}  // namespace

std::string KeyRequest::setting() const {
  return fmt::format("key_hosts: {{{}: [\"{}\"]}}", variable, origin.text);
}

std::string KeyRequest::option() const {
  return fmt::format("--key-host {}={}", variable, origin.text);
}

bool is_own_origin(const Preset& preset, const Origin& origin) {
  if (const auto own = origin_of(std::string(preset.base_url), Code::config_invalid);
      own && *own == origin) {
    return true;
  }
  std::string_view rest = preset.other_origins;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (matches(rest.substr(0, end), origin)) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

KeyHosts::KeyHosts(const agent::Environment& environment) {
  for (const Preset& preset : presets()) {
    const auto address = preset_base_url(preset, environment);
    const auto origin = address ? origin_of(*address, Code::config_invalid)
                                : agent::Result<Origin>(std::unexpected(address.error()));
    if (!origin) {
      continue;  // whoever asks for the preset is told
    }
    known_.insert(origin->text);
    if (!preset.key_variable.empty()) {
      origins_[std::string(preset.key_variable)].insert(origin->text);
    }
  }
}

void KeyHosts::allow(std::string variable, Origin origin) {
  known_.insert(origin.text);
  origins_[std::move(variable)].insert(std::move(origin.text));
}

bool KeyHosts::allows(const KeyRequest& request) const {
  const Origin& origin = request.origin;
  if (origin.is_loopback) {
    return true;
  }
  if (request.place == Place::text) {
    return known_.contains(origin.text) || std::ranges::any_of(presets(), [&](const auto& preset) {
             return is_own_origin(preset, origin);
           });
  }
  const Preset* const preset = preset_of(request.variable);
  const std::string_view name =
      preset != nullptr ? preset->key_variable : std::string_view(request.variable);
  const auto said = [&](std::string_view variable) {
    const auto found = origins_.find(variable);
    return found != origins_.end() && found->second.contains(origin.text);
  };
  return said(request.variable) || said(name) ||
         (preset != nullptr && is_own_origin(*preset, origin));
}

agent::Error refusal(const KeyRequest& request) {
  return {.code = Code::config_invalid,
          .message = fmt::format("{} to {}, which nobody but the agent file says",
                                 sentence(request),
                                 request.origin.text),
          .help = fmt::format("where you trust that server with it: `{}` in your own config.yaml, "
                              "or {}",
                              request.setting(),
                              request.option()),
          .where = request.where};
}

KeyCheck strict_check(KeyHosts hosts) {
  return [hosts = std::move(hosts)](const KeyRequest& request) -> agent::Result<void> {
    if (hosts.allows(request)) {
      return {};
    }
    return agent::fail(refusal(request));
  };
}

}  // namespace providers
