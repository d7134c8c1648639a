#include "cli/manual/tables.h"

#include "agent/error.h"
#include "agent/hook_point.h"
#include "agent/outcome.h"
#include "cli/manual/mdoc.h"
#include "cli/options.h"
#include "config/keys.h"
#include "config/project_config.h"
#include "config/replay_script.h"
#include "config/test_case.h"
#include "config/user_config.h"
#include "providers/registry.h"
#include "tools/builtin/registry.h"
#include "tools/hooks/hook_dialect.h"
#include "tools/hooks/outside_programs.h"
#include "tools/process/harmless_variables.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/places.h"
#include "tools/web/address.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace cli {
namespace {

using namespace mdoc;

// ---- the command line ----

std::string argument(const Positional& positional) {
  const std::string dots = positional.repeated ? " ..." : "";
  if (!positional.choices.empty()) {
    return fmt::format(
        "{}Cm {}{}", positional.required ? "" : "Op ", fmt::join(positional.choices, " | "), dots);
  }
  return fmt::format("{}Ar {}{}", positional.required ? "" : "Op ", positional.name, dots);
}

std::string synopsis() {
  std::string text;
  for (const Command& command : commands()) {
    if (command.hidden) {
      continue;
    }
    text += fmt::format(".Nm\n.Cm {}\n", literal(command.name));
    text += command.options.empty() ? "" : ".Op Ar options\n";
    for (const Positional& positional : command.positionals) {
      text += fmt::format(".{}\n", argument(positional));
    }
  }
  return text;
}

std::string flag(std::string_view name) {
  return "Fl " + literal(name.substr(1));
}

std::string option_item(const Option& option) {
  std::string item = ".It ";
  if (!option.short_name.empty()) {
    item += flag(option.short_name) + " , ";
  }
  item += flag(option.name);
  if (!option.value.empty()) {
    item += " Ar " + std::string(option.value);
  }
  std::string text = item + "\n" + prose(sentence(option.help));
  if (!option.details.empty()) {
    text += prose(option.details);
  }
  if (!option.environment.empty()) {
    text += fmt::format("The variable\n.Ev {}\nsets it where the option is not given.\n",
                        option.environment);
  }
  return text;
}

std::string command_section(const Command& command) {
  std::string text = fmt::format(".Ss errand {}\n", literal(command.name));
  text += prose(command.description);
  for (const Example& example : command.examples) {
    std::string says = sentence(example.says);
    says.back() = ':';
    text += ".Pp\n" + prose(says) + display(example.line);
  }
  if (command.positionals.empty() && command.options.empty()) {
    return text;
  }
  text += ".Bl -tag -width Ds\n";
  for (const Positional& positional : command.positionals) {
    text += fmt::format(".It Ar {}\n{}", positional.name, prose(sentence(positional.help)));
  }
  for (const Option& option : command.options) {
    text += option_item(option);
  }
  text += ".El\n";
  return text;
}

std::string command_sections() {
  std::string text;
  for (const Command& command : commands()) {
    text += command.hidden ? "" : command_section(command);
  }
  return text;
}

std::string environment() {
  std::string text;
  for (const Command& command : commands()) {
    for (const Option& option : command.options) {
      if (!option.environment.empty()) {
        text += fmt::format(".It Ev {}\nAs\n.{}\nof\n.Cm {} .\n{}",
                            option.environment,
                            flag(option.name),
                            literal(command.name),
                            option.kind == Kind::flag ? "1 switches it on, 0 off.\n" : "");
      }
    }
  }
  for (const Variable& variable : variables()) {
    text += fmt::format(".It Ev {}\n{}", variable.name, prose(variable.help));
  }
  return text;
}

// ---- how a run ends ----

std::string exit_lines() {
  std::string text;
  for (const agent::ExitRow& row : agent::exit_table()) {
    const std::string_view later = agent::is_built(row) ? "" : " (not implemented yet)";
    text += fmt::format(
        ".It {}\n{}", row.exit_code, prose(fmt::format("{}: {}{}", row.name, row.when, later)));
  }
  return text;
}

std::string exit_item(const agent::ExitRow& row) {
  const auto known = [](std::string_view word) { return word != "-"; };
  std::string text =
      fmt::format(".It {} {}\n{}", row.exit_code, row.name, prose(sentence(row.when)));
  text += agent::is_built(row) ? "" : "Not implemented yet: no run ends this way.\n";
  if (known(row.retry)) {
    text += fmt::format("Run it again: {}.\n", row.retry);
  }
  if (known(row.resumable)) {
    text += fmt::format("Resumable: {}.\n", row.resumable);
  }
  return text;
}

std::string exit_items() {
  std::string text;
  for (const agent::ExitRow& row : agent::exit_table()) {
    text += exit_item(row);
  }
  return text;
}

std::string code_item(const agent::CodeRow& row) {
  std::string policy = row.exit_code == 0 ? std::string("No exit code of its own")
                       : row.only_if_fatal
                           ? fmt::format("Exit code {} where it ends the run", row.exit_code)
                           : fmt::format("Exit code {}", row.exit_code);
  policy += fmt::format(
      "; domain {}; retry {}", agent::to_string(row.domain), agent::to_string(row.retry));
  policy += row.retry_note.empty() ? "" : fmt::format(" ({})", row.retry_note);
  policy += row.since.empty() ? "; not implemented yet." : fmt::format("; since {}.", row.since);
  return fmt::format(".It {}\n{}{}", row.name, prose(row.advice), prose(policy));
}

std::string error_items() {
  std::string text;
  for (const agent::CodeRow& row : agent::error_table()) {
    text += code_item(row);
  }
  return text;
}

// ---- keys of files ----

std::string key_item(const config::Key& key) {
  std::string text = fmt::format(".It Ic {}\n{}", in_quotes(key.path), prose(key.help));
  std::string facts = fmt::format("Type: {}", config::to_string(key.type));
  if (!key.choices.empty()) {
    facts += fmt::format(
        "{}{}", key.type == config::Type::choice ? ": " : ", or ", fmt::join(key.words(), ", "));
  }
  facts += key.required ? "; required" : "";
  text += prose(facts + ".");
  if (!key.default_value.empty()) {
    text += fmt::format("Default:\n.Ql {} .\n", in_quotes(key.default_value));
  }
  if (!key.example.empty()) {
    const std::string_view name = key.path.substr(key.path.rfind('.') + 1);
    text += name.ends_with("[]") || name == "*"
                ? fmt::format("Example:\n.Ql {}\n", in_quotes(key.example))
                : fmt::format("Example:\n.Ql {}\n",
                              in_quotes(fmt::format("{}: {}", name, key.example)));
  }
  return text;
}

std::string key_items(std::span<const config::Key> table, config::Status status) {
  std::string text;
  for (const config::Key& key : table) {
    if (key.status == status) {
      text += status == config::Status::available
                  ? key_item(key)
                  : fmt::format(".It Ic {}\n{}", in_quotes(key.path), prose(key.help));
    }
  }
  return text;
}

std::string available(std::span<const config::Key> table) {
  return key_items(table, config::Status::available);
}

// ---- what there is ----

std::string provider_items() {
  std::string text;
  for (const providers::Preset& preset : providers::presets()) {
    text += fmt::format(".It Cm {}\n{}", literal(preset.name), prose(preset.description));
    if (!preset.base_url.empty()) {
      text += fmt::format(".br\nAddress:\n{}\n", literal(preset.base_url));
    }
    if (!preset.base_url_variable.empty()) {
      text += preset.base_url.empty() ? ".br\nAddress: that of\n" : "or\n";
      text += fmt::format(".Ev {}\n", preset.base_url_variable);
    }
    if (!preset.other_origins.empty()) {
      text += fmt::format(".br\nIts own are also:\n{}\n", literal(preset.other_origins));
    }
    if (!preset.key_variable.empty()) {
      text += fmt::format(".br\nKey:\n.Ev {}\n", preset.key_variable);
    }
  }
  return text;
}

std::string builtin_tools() {
  std::string text;
  for (const tools::Builtin& tool : tools::builtins()) {
    std::string help(tool.help);
    help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(help.front())));
    text += fmt::format(".It Cm {}\n{}.\n", tool.name, help);
  }
  return text;
}

std::string sandbox_layers() {
  std::string text;
  for (const tools::sandbox::LayerRow& row : tools::sandbox::k_layers) {
    text +=
        fmt::format(".It Cm {}\n{}", row.name, prose(fmt::format("Without it, {}.", row.without)));
  }
  return text;
}

// Names with commas between them, and what ends the list.
template <typename Names>
std::string enumeration(const Names& names, char end) {
  return prose(fmt::format("{}{}", fmt::join(names, ", "), end));
}

std::string reserved_addresses() {
  std::string text;
  for (const tools::AddressRange& range : tools::reserved_addresses()) {
    text += fmt::format(".It {}/{}\n{}\n", range.first, range.bits, range.name);
  }
  return text;
}

std::string hook_dialects() {
  std::string text;
  for (const tools::HookDialect& dialect : tools::hook_dialects()) {
    text += fmt::format(".Ss {}\n.Bl -tag -width post_tool_useXX -compact\n", dialect.name);
    for (std::size_t at = 0; at < agent::k_points; ++at) {
      text += fmt::format(".It Ic {}\n{}\n",
                          agent::to_string(static_cast<agent::HookPoint>(at)),
                          literal(dialect.events[at]));
    }
    for (const tools::HookTool& tool : dialect.tools) {
      text += fmt::format(".It Ic {}\n{}", tool.ours, literal(tool.theirs));
      for (const tools::HookArgument& argument : tool.arguments) {
        if (argument.ours != argument.theirs) {
          text += fmt::format(", {} for {}", argument.theirs, argument.ours);
        }
      }
      text += "\n";
    }
    text += ".El\n";
    if (!dialect.folder_variable.empty()) {
      text +=
          fmt::format("The variable\n.Ev {}\nhas the working folder.\n", dialect.folder_variable);
    }
  }
  return text;
}

constexpr auto k_tables = std::to_array<ManTable>({
    {"SYNOPSIS", synopsis},
    {"COMMANDS", command_sections},
    {"ENVIRONMENT", environment},
    {"EXIT_NAMES", exit_lines},
    {"EXIT_CODES", exit_items},
    {"ERROR_CODES", error_items},
    {"CONTRACT", [] { return std::to_string(agent::k_exit_code_contract); }},
    {"AGENT_KEYS", [] { return available(config::keys()); }},
    {"LATER_KEYS", [] { return key_items(config::keys(), config::Status::later); }},
    {"USER_KEYS", [] { return available(config::user_keys()); }},
    {"PROJECT_KEYS", [] { return available(config::project_keys()); }},
    {"CASE_KEYS", [] { return available(config::test_case_keys()); }},
    {"REPLAY_KEYS", [] { return available(config::replay_keys()); }},
    {"PROVIDERS", provider_items},
    {"BUILTIN_TOOLS", builtin_tools},
    {"SANDBOX_LAYERS", sandbox_layers},
    {"OPEN_PLACES", [] { return enumeration(tools::sandbox::open_place_names(), '.'); }},
    {"SECRET_PLACES", [] { return enumeration(tools::sandbox::secret_place_names(), '.'); }},
    {"VARIABLES_INSIDE", [] { return enumeration(tools::harmless_variable_names(), '.'); }},
    {"PROGRAMS_OUTSIDE", [] { return enumeration(tools::known_outside(), ','); }},
    {"VARIABLES_OUTSIDE", [] { return enumeration(tools::names_outside(), ','); }},
    {"RESERVED_ADDRESSES", reserved_addresses},
    {"HOOK_DIALECTS", hook_dialects},
});

}  // namespace

std::span<const ManTable> man_tables() {
  return k_tables;
}

}  // namespace cli
