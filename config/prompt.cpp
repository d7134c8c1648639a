#include "config/prompt.h"

#include "agent/absence.h"
#include "agent/text.h"
#include "config/attachment.h"
#include "config/build/build.h"
#include "config/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace config {
namespace {

constexpr std::size_t k_largest_context_file = 1'048'576;
constexpr std::size_t k_most_context = 32u << 20;  // bytes of text in all
constexpr std::size_t k_most_filled = 32u << 20;   // of a template with its values
constexpr const char* k_attaching = "attaching a file that the prompt names";

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

struct PlacedValue {
  std::size_t from = 0;
  std::size_t end = 0;  // behind it
  std::string name;
};

// A template with its values in place.
struct Filled {
  std::string text;
  std::vector<PlacedValue> values;

  const PlacedValue* value_at(std::size_t offset) const {
    const auto next = std::ranges::upper_bound(values, offset, {}, &PlacedValue::from);
    return next == values.begin() || offset >= std::prev(next)->end ? nullptr : &*std::prev(next);
  }
};

agent::Result<Filled> fill(std::string_view key, std::string_view text, const Values& values) {
  Filled filled;
  for (const Piece& piece : parse_template(text)) {
    const std::size_t from = filled.text.size();
    if (piece.kind == Piece::Kind::text) {
      filled.text += piece.text;
    } else if (const auto value = values.find(piece.text); value != values.end()) {
      filled.text += value->second;
      filled.values.push_back({.from = from, .end = filled.text.size(), .name = piece.text});
    }
    if (filled.text.size() > k_most_filled) {
      return agent::fail(
          agent::Code::cli_usage,
          fmt::format("with its parameters, `{}` is more than {} MiB", key, k_most_filled >> 20),
          "give shorter values, or name them less often");
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
                       fmt::format("the agent has no parameter `{}`", agent::one_line(name)),
                       meant ? fmt::format("did you mean `--param {}=VALUE`?", *meant)
                       : names.empty()
                           ? std::string("it has none: leave out `--param NAME=VALUE`")
                           : fmt::format("`--param NAME=VALUE`, where NAME is one of: {}",
                                         fmt::join(names, ", ")));
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
      TRY(check_parameter(parameter, value->second));
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

agent::Result<std::string> read_context_file(const std::string& name, const NamedFiles& files) {
  TRY_ASSIGN(std::string text, files.read(name, k_largest_context_file));
  if (!agent::is_valid_utf8(text) || text.find('\0') != std::string::npos) {
    const std::string path = files.locate(name).string();
    return agent::fail({.code = agent::Code::config_invalid,
                        .message = fmt::format("`{}` is not text", agent::one_line(path)),
                        .help = "`context` takes text files in UTF-8, pictures and PDFs",
                        .where = agent::Where{.file = path, .excerpt = {}}});
  }
  return text;
}

agent::Result<void> attach_named(const std::string& name,
                                 const NamedFiles& files,
                                 Rendered& rendered) {
  return attach(files.locate(name), rendered.attachments, [&](const std::filesystem::path& real) {
    return files.judge(name, real);
  });
}

// `left`: bytes of text that may still be added.
agent::Result<void> add_context_file(const std::string& name,
                                     const NamedFiles& files,
                                     std::size_t& left,
                                     Rendered& rendered) {
  if (is_medium(name)) {
    return attach_named(name, files, rendered);
  }
  TRY_ASSIGN(const std::string text, read_context_file(name, files));
  if (text.size() > left) {
    return agent::fail(
        {.code = agent::Code::config_invalid,
         .message = fmt::format("with `{}`, the text files of `context` are more than 32 MiB",
                                agent::one_line(name)),
         .help = "name fewer or smaller files",
         .where = agent::Where{.file = files.locate(name).string(), .excerpt = {}}});
  }
  left -= text.size();
  std::string& instructions = rendered.instructions;
  instructions += fmt::format("{}# {}\n\n{}", instructions.empty() ? "" : "\n\n", name, text);
  while (instructions.ends_with('\n')) {
    instructions.pop_back();
  }
  return {};
}

agent::Result<void> add_context(const std::vector<agent::ContextFile>& context,
                                const NamedFiles& files,
                                Rendered& rendered) {
  std::size_t left = k_most_context;
  for (const agent::ContextFile& file : context) {
    if (file.optional && agent::is_absent(files.locate(file.path))) {
      continue;
    }
    if (auto added = add_context_file(file.path, files, left, rendered); !added) {
      return agent::fail(
          std::move(added).error().while_(fmt::format("reading the context file `{}`", file.path)));
    }
  }
  return {};
}

// A path is relative to where its beginning was written.
agent::Result<void> add_mentioned_files(const Filled& prompt,
                                        const Values& given,
                                        const std::set<std::string>& out_of_a_file,
                                        const NamedFiles& files,
                                        const NamedFiles& files_from_here,
                                        Rendered& rendered) {
  for (const Mention& mention : find_mentions(prompt.text)) {
    if (prompt.value_at(mention.at) != nullptr) {
      continue;
    }
    const PlacedValue* value = prompt.value_at(mention.from);
    const bool begins_here = value != nullptr && given.contains(value->name);
    const bool is_given = begins_here && !out_of_a_file.contains(value->name) &&
                          mention.from == value->from &&
                          mention.from + mention.path.size() <= value->end;
    auto added = is_given
                     ? attach(mention.path, rendered.attachments)
                     : attach_named(mention.path, begins_here ? files_from_here : files, rendered);
    if (!added) {
      agent::Error error = std::move(added).error();
      error.code = begins_here ? agent::Code::cli_no_input : error.code;
      return agent::fail(std::move(error).while_(k_attaching));
    }
  }
  return {};
}

}  // namespace

std::string values_of(const agent::ParameterSpec& parameter) {
  return !parameter.options.empty() ? fmt::format("one of: {}", fmt::join(parameter.options, ", "))
         : parameter.type == "boolean" ? "`true` or `false`"
         : parameter.type == "integer" ? "a whole number"
         : parameter.type == "number"  ? "a number"
                                       : "text";
}

agent::Result<void> check_parameter(const agent::ParameterSpec& parameter,
                                    const std::string& value) {
  if (!is_value_of_type(value, parameter.type)) {
    return agent::fail(
        agent::Code::cli_usage,
        fmt::format("the parameter `{}` must be of type {}, not `{}`",
                    parameter.name,
                    parameter.type,
                    agent::one_line(value, 60)),
        fmt::format("`--param {}=VALUE`, where VALUE is {}", parameter.name, values_of(parameter)));
  }
  const auto& options = parameter.options;
  if (!options.empty() && std::ranges::find(options, value) == options.end()) {
    return agent::fail(
        agent::Code::cli_usage,
        fmt::format(
            "the parameter `{}` cannot be `{}`", parameter.name, agent::one_line(value, 60)),
        fmt::format("`--param {}=VALUE`, where VALUE is {}", parameter.name, values_of(parameter)));
  }
  return {};
}

agent::Result<void> check_named_files(const agent::AgentSpec& spec, const ReadingPolicy& reading) {
  const NamedFiles files(spec.directory, reading);
  Rendered unsent;
  TRY(add_context(spec.context, files, unsent));
  for (const Mention& mention : find_mentions(spec.prompt)) {
    if (mention.path.contains("{{")) {
      continue;
    }
    if (auto added = attach_named(mention.path, files, unsent); !added) {
      return agent::fail(std::move(added).error().while_(k_attaching));
    }
  }
  return {};
}

agent::Result<Values> bound_parameters(const agent::AgentSpec& spec, const Values& given) {
  return bind(spec, given, {});
}

agent::Result<Rendered> render(const agent::AgentSpec& spec,
                               const std::map<std::string, std::string>& parameters,
                               const std::optional<std::string>& prompt_from_outside,
                               const ReadingPolicy& reading,
                               const std::set<std::string>& out_of_a_file) {
  const auto unneeded = prompt_from_outside ? only_in_prompt(spec) : std::set<std::string>{};
  TRY_ASSIGN(const Values values, bind(spec, parameters, unneeded));
  const NamedFiles files(spec.directory, reading);
  Rendered rendered;
  TRY_ASSIGN(Filled instructions, fill("instructions", spec.instructions, values));
  rendered.instructions = std::move(instructions.text);
  TRY(add_context(spec.context, files, rendered));
  if (prompt_from_outside) {
    rendered.prompt = *prompt_from_outside;
    return rendered;
  }
  TRY_ASSIGN(Filled prompt, fill("prompt", spec.prompt, values));
  TRY(add_mentioned_files(
      prompt, parameters, out_of_a_file, files, NamedFiles({}, reading), rendered));
  rendered.prompt = std::move(prompt.text);
  return rendered;
}

}  // namespace config
