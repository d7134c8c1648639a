// `errand init`: a first agent file that works and explains itself.
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/output.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace cli {
namespace {

constexpr std::string_view k_keys = R"(version: 1
name: {name}
description: Answers questions about the files of this folder.

# PROVIDER/NAME, for example anthropic/claude-sonnet-4-5, openai/gpt-5-mini, ollama/qwen3.
# auto takes the first provider whose API key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, …).
model: auto
)";

constexpr std::string_view k_instructions =
    "You answer questions about the files of the current folder. Look before you answer,\n"
    "name the files and lines that your answer rests on, and say so when you do not know.\n";

constexpr std::string_view k_rest = R"(
# What to do where the command line says nothing. {{ name }} stands for a parameter.
prompt: What is in this folder? Answer {{ style }}.

# Set on the command line: errand run -P style="in detail"
parameters:
  style: {type: string, default: in five sentences}

# Files that are added to the instructions; with a ? the file may be missing.
context: [AGENTS.md?]

# These only read. shell, write_file, edit_file and apply_patch change things.
# A command is a tool, too:
#   - name: run_tests
#     description: Runs the unit tests.
#     command: [make, test]
tools: [list_directory, read_file, glob, grep]

# Each limit has an exit code of its own: errand exit-codes
limits: {max_turns: 30, max_total_tokens: 300k, timeout: 10m}
)";

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string result(text);
  const auto at = result.find(what);
  return at == std::string::npos ? result : result.replace(at, what.size(), with);
}

std::string indented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = text.find('\n');
    result += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return result;
}

// An agent's name is made of a-z, 0-9, - and _.
std::string name_from(const std::filesystem::path& file) {
  std::string name;
  for (const char byte : file.stem().string()) {
    const char lower = agent::to_lower(byte);
    const bool fits = (lower >= 'a' && lower <= 'z') || agent::is_digit(lower);
    name += fits ? lower : '-';
  }
  const auto start = name.find_first_not_of('-');
  name = start == std::string::npos ? "" : name.substr(start, 64);
  return name.empty() || agent::is_digit(name[0]) ? "agent" : name;
}

std::string yaml_agent(const std::string& name) {
  return fmt::format(
      "# An agent for errand. Every key: man errand-agent. Check it: errand check\n{}\n"
      "instructions: |\n{}{}",
      replaced(k_keys, "{name}", name),
      indented(k_instructions),
      k_rest);
}

std::string markdown_agent(const std::string& name) {
  return fmt::format("---\n{}{}---\n{}", replaced(k_keys, "{name}", name), k_rest, k_instructions);
}

agent::Result<void> write_new(const std::filesystem::path& file,
                              const std::string& shown,
                              std::string_view text,
                              bool force) {
  std::error_code error;
  if (!force && std::filesystem::exists(std::filesystem::symlink_status(file, error))) {
    return agent::fail(agent::Code::cli_cannot_create,
                       fmt::format("`{}` already exists", shown),
                       "name another file, or overwrite it with --force");
  }
  TRY_ASSIGN(const auto output, Output::to_file(file.string()));
  output->write(text);
  output->commit();
  TRY(ending_of(*output, 0));
  return {};
}

}  // namespace

agent::Result<int> command_init(const Parsed& parsed, Context& context) {
  const std::string shown = parsed.positionals.empty() ? "agent.yaml" : parsed.positionals.front();
  const std::filesystem::path file = context.cwd / shown;
  const std::string extension = file.extension().string();
  if (extension != ".yaml" && extension != ".yml" && extension != ".md") {
    return agent::fail(agent::Code::cli_usage,
                       fmt::format("`{}` is not a name for an agent file", shown),
                       "its name ends in .yaml, .yml or .md");
  }
  const std::string name = name_from(file);
  TRY(check_stays_inside(shown, context.cwd));
  TRY(write_new(file,
                shown,
                extension == ".md" ? markdown_agent(name) : yaml_agent(name),
                parsed.has("--force")));
  context.err << fmt::format(
      "{} is written; try it: errand run {}\n", agent::one_line(shown), agent::one_line(shown));
  return 0;
}

}  // namespace cli
