#include "config/prompt.h"

#include "agent/text.h"
#include "config/attachment.h"
#include "config/build/build.h"
#include "config/template.h"
#include "config/yaml/source.h"

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

// A template with its values in place.
struct Filled {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> values;  // from, and behind the end

  bool is_value(std::size_t offset) const {
    return std::ranges::any_of(
        values, [&](const auto& value) { return offset >= value.first && offset < value.second; });
  }
};

Filled fill(std::string_view text, const Values& values) {
  Filled filled;
  for (const Piece& piece : parse_template(text)) {
    const std::size_t from = filled.text.size();
    if (piece.kind == Piece::Kind::text) {
      filled.text += piece.text;
    } else if (const auto value = values.find(piece.text); value != values.end()) {
      filled.text += value->second;
      filled.values.emplace_back(from, filled.text.size());
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
                      .help = "`context` takes text files in UTF-8, pictures and PDFs",
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

agent::Result<void> add_context_file(const std::string& name,
                                     const std::filesystem::path& path,
                                     Rendered& rendered) {
  if (is_medium(name)) {
    return attach(path, rendered.attachments);
  }
  TRY_ASSIGN(const std::string text, read_context_file(path));
  std::string& instructions = rendered.instructions;
  instructions += fmt::format("{}# {}\n\n{}", instructions.empty() ? "" : "\n\n", name, text);
  while (instructions.ends_with('\n')) {
    instructions.pop_back();
  }
  return {};
}

agent::Result<void> add_context(const agent::AgentSpec& spec, Rendered& rendered) {
  for (const agent::ContextFile& file : spec.context) {
    const auto path = std::filesystem::path(spec.directory) / file.path;
    std::error_code failure;
    if (file.optional && !std::filesystem::exists(path, failure) && !failure) {
      continue;
    }
    if (auto added = add_context_file(file.path, path, rendered); !added) {
      return agent::fail(
          std::move(added).error().while_(fmt::format("reading the context file `{}`", file.path)));
    }
  }
  return {};
}

// A path is relative to where its beginning was written.
agent::Result<void> add_mentioned_files(const Filled& prompt,
                                        const std::filesystem::path& folder,
                                        Rendered& rendered) {
  for (const Mention& mention : find_mentions(prompt.text)) {
    if (prompt.is_value(mention.at)) {
      continue;
    }
    const bool is_given = prompt.is_value(mention.from);
    if (auto added = attach(is_given ? std::filesystem::path(mention.path) : folder / mention.path,
                            rendered.attachments);
        !added) {
      agent::Error error = std::move(added).error();
      error.code = is_given ? agent::Code::cli_no_input : error.code;
      return agent::fail(std::move(error).while_("attaching a file that the prompt names"));
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
  rendered.instructions = fill(spec.instructions, values).text;
  TRY(add_context(spec, rendered));
  if (prompt_from_outside) {
    rendered.prompt = *prompt_from_outside;
    return rendered;
  }
  Filled prompt = fill(spec.prompt, values);
  TRY(add_mentioned_files(prompt, spec.directory, rendered));
  rendered.prompt = std::move(prompt.text);
  return rendered;
}

}  // namespace config
