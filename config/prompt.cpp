#include "config/prompt.h"

#include "agent/text.h"
#include "config/build.h"
#include "config/source.h"
#include "config/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace config {
namespace {

constexpr std::size_t k_largest_context_file = 1'048'576;

using Values = std::map<std::string, std::string>;

std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> names;
  for (const Piece& piece : parse_template(text)) {
    if (piece.kind == Piece::Kind::name) {
      names.insert(piece.text);
    }
  }
  return names;
}

std::string fill(std::string_view text, const Values& values) {
  std::string filled;
  for (const Piece& piece : parse_template(text)) {
    if (piece.kind == Piece::Kind::text) {
      filled += piece.text;
    } else if (const auto value = values.find(piece.text); value != values.end()) {
      filled += value->second;
    }
  }
  return filled;
}

agent::Result<void> check_are_known(const agent::AgentSpec& spec, const Values& given) {
  std::vector<std::string> names;
  for (const agent::ParameterSpec& parameter : spec.parameters) {
    names.push_back(parameter.name);
  }
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, name) != names.end()) {
      continue;
    }
    const auto meant = agent::nearest(name, std::span<const std::string>(names));
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("the agent has no parameter `{}`", agent::printable(name)),
                       meant ? fmt::format("did you mean `--param {}=VALUE`?", *meant)
                       : names.empty()
                           ? std::string("it has none: leave out `--param NAME=VALUE`")
                           : fmt::format("`--param NAME=VALUE`, where NAME is one of: {}",
                                         fmt::join(names, ", ")));
  }
  return {};
}

agent::Result<void> check_value(const agent::ParameterSpec& parameter, const std::string& value) {
  if (!is_value_of_type(value, parameter.type)) {
    return agent::fail(
        agent::Code::cli_usage,
        fmt::format("the parameter `{}` must be of type {}, not `{}`",
                    parameter.name,
                    parameter.type,
                    agent::printable(agent::prefix(value, 60))),
        fmt::format("`--param {}={}`",
                    parameter.name,
                    parameter.type == "boolean" ? "true" : "VALUE, where VALUE is a number"));
  }
  const auto& options = parameter.options;
  if (!options.empty() && std::ranges::find(options, value) == options.end()) {
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("the parameter `{}` cannot be `{}`",
                                   parameter.name,
                                   agent::printable(agent::prefix(value, 60))),
                       fmt::format("`--param {}=VALUE`, where VALUE is one of: {}",
                                   parameter.name,
                                   fmt::join(options, ", ")));
  }
  return {};
}

agent::Result<Values> bind(const agent::AgentSpec& spec,
                           const Values& given,
                           const std::set<std::string>& unneeded) {
  TRY(check_are_known(spec, given));
  Values values;
  for (const agent::ParameterSpec& parameter : spec.parameters) {
    const auto value = given.find(parameter.name);
    if (value != given.end()) {
      TRY(check_value(parameter, value->second));
      values.emplace(parameter.name, value->second);
    } else if (parameter.required && !unneeded.contains(parameter.name)) {
      return agent::fail(agent::Code::cli_usage,
                         fmt::format("the parameter `{}` is missing", parameter.name),
                         fmt::format("`--param {}=VALUE`{}{}",
                                     parameter.name,
                                     parameter.description.empty() ? "" : ": ",
                                     parameter.description));
    } else {
      values.emplace(parameter.name, parameter.fallback.value_or(""));
    }
  }
  return values;
}

// Parameters that only the agent's own prompt names, which is not used.
std::set<std::string> only_in_prompt(const agent::AgentSpec& spec) {
  std::set<std::string> names = names_in(spec.prompt);
  for (const std::string& name : names_in(spec.instructions)) {
    names.erase(name);
  }
  return names;
}

agent::Error context_error(const std::filesystem::path& path, std::string message) {
  return agent::Error{.code = agent::Code::config_invalid,
                      .message = std::move(message),
                      .help = "`context` takes text files in UTF-8",
                      .where = agent::Where{.file = path.string(), .excerpt = {}}};
}

agent::Result<std::string> read_context_file(const std::filesystem::path& path) {
  TRY_ASSIGN(std::string text, read_text_file(path, k_largest_context_file));
  if (!agent::is_valid_utf8(text) || text.find('\0') != std::string::npos) {
    return agent::fail(
        context_error(path, fmt::format("`{}` is no text", agent::printable(path.string()))));
  }
  return text;
}

agent::Result<void> append_context(const agent::AgentSpec& spec, std::string& instructions) {
  for (const agent::ContextFile& file : spec.context) {
    const auto path = std::filesystem::path(spec.directory) / file.path;
    std::error_code failure;
    if (file.optional && !std::filesystem::exists(path, failure) && !failure) {
      continue;
    }
    auto text = read_context_file(path);
    if (!text) {
      return agent::fail(
          std::move(text).error().while_(fmt::format("reading the context file `{}`", file.path)));
    }
    instructions +=
        fmt::format("{}# {}\n\n{}", instructions.empty() ? "" : "\n\n", file.path, *text);
    while (instructions.ends_with('\n')) {
      instructions.pop_back();
    }
  }
  return {};
}

}  // namespace

agent::Result<Rendered> render(const agent::AgentSpec& spec,
                               const std::map<std::string, std::string>& parameters,
                               const std::optional<std::string>& prompt_from_outside,
                               const agent::Environment& /*environment*/) {
  const auto unneeded = prompt_from_outside ? only_in_prompt(spec) : std::set<std::string>{};
  TRY_ASSIGN(const Values values, bind(spec, parameters, unneeded));
  Rendered rendered;
  rendered.instructions = fill(spec.instructions, values);
  rendered.prompt = prompt_from_outside ? *prompt_from_outside : fill(spec.prompt, values);
  TRY(append_context(spec, rendered.instructions));
  return rendered;
}

}  // namespace config
