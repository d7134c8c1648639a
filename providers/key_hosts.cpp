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

// What would happen, up to the server: "`api_key_env` would send the key OPENAI_API_KEY".
std::string sentence(const KeyRequest& request) {
  const std::string& name = request.variable;
  switch (request.place) {
    case Place::key:
      return fmt::format("`api_key_env` would send the key {}", name);
    case Place::header:
      return fmt::format("a header would send the value of {}", name);
    case Place::address:
      return fmt::format("the address would send the value of {}", name);
    case Place::text:
      return fmt::format("the agent could send the value of {}", name);
    case Place::program:
      return fmt::format("a program that is given the value of {} could take it", name);
    case Place::told:
      return fmt::format("a program or web_fetch that is told the value of {} could take it", name);
    case Place::login:
      return fmt::format("a login would send the value of {}", name);
    case Place::client:
      return fmt::format("`oauth` would use the secret {} for a login", name);
  }
  return name;
}

// Whose key it is: nullopt for no provider's, null for that of one without a preset.
std::optional<const Preset*> owner_of(std::string_view variable) {
  const auto other = std::ranges::find(other_key_variables(), variable, &OtherKeyVariable::name);
  const bool is_other = other != other_key_variables().end();
  const auto found = std::ranges::find_if(presets(), [&](const Preset& preset) {
    return is_other ? preset.name == other->preset
                    : !preset.key_variable.empty() && preset.key_variable == variable;
  });
  if (found != presets().end()) {
    return &*found;
  }
  return is_other ? std::optional<const Preset*>(nullptr) : std::nullopt;
}

}  // namespace

std::string shown(const Origin& origin) {
  return origin.text == k_anywhere ? "any server: it has the network"
         : origin.is_loopback      ? origin.text + ", where a program of the agent can listen"
                                   : origin.text;
}

std::string KeyRequest::setting() const {
  return fmt::format("key_hosts: {{{}: [\"{}\"]}}", variable, origin.text);
}

std::string KeyRequest::option() const {
  return origin.text.contains('*') ? fmt::format("--key-host '{}={}'", variable, origin.text)
                                   : fmt::format("--key-host {}={}", variable, origin.text);
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
    addresses_.insert(origin->text);
    if (!preset.key_variable.empty()) {
      origins_[std::string(preset.key_variable)].insert(origin->text);
    }
  }
}

void KeyHosts::allow(std::string variable, Origin origin) {
  origins_[std::move(variable)].insert(std::move(origin.text));
}

bool KeyHosts::allows(const KeyRequest& request) const {
  const Origin& origin = request.origin;
  const auto has_origin = [&](const auto& entry) { return entry.second.contains(origin.text); };
  const auto is_named = [&](std::string_view variable) {
    const auto found = origins_.find(variable);
    return found != origins_.end() &&
           (has_origin(*found) || found->second.contains(std::string(k_anywhere)));
  };
  if (is_named(request.variable) || (origin.is_loopback && !is_loopback_shared_)) {
    return true;
  }
  const auto owner = owner_of(request.variable);
  if (owner && request.place != Place::text) {
    return *owner != nullptr &&
           (is_named((*owner)->key_variable) || is_own_origin(**owner, origin));
  }
  if (origin.is_loopback) {
    return false;
  }
  if (request.place != Place::key && request.place != Place::text) {
    return false;
  }
  const bool is_of_provider =
      addresses_.contains(origin.text) ||
      std::ranges::any_of(presets(), [&](const auto& one) { return is_own_origin(one, origin); });
  return is_of_provider ||
         (request.place == Place::text && std::ranges::any_of(origins_, has_origin));
}

agent::Error refusal(const KeyRequest& request) {
  return {
      .code = Code::config_invalid,
      .message = fmt::format(
          "{} to {}, and no setting of yours allows it", sentence(request), shown(request.origin)),
      .help = fmt::format("if it is to go there, write `{}` into your own config.yaml, or "
                          "give {}",
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
