#include "cli/parse.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace {

using Words = std::vector<std::string>;

cli::Parsed parsed(const Words& words, const agent::Environment& environment = {}) {
  auto result = cli::parse(words, environment);
  INFO((result ? std::string() : result.error().message));
  REQUIRE(result);
  return *result;
}

agent::Error refused(const Words& words, const agent::Environment& environment = {}) {
  auto result = cli::parse(words, environment);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == agent::Code::cli_usage);
  CHECK_FALSE(result.error().message.empty());
  CHECK_FALSE(result.error().help.empty());
  return result.error();
}

}  // namespace

TEST_CASE("parse: options and positionals of run", "[cli]") {
  const auto run = parsed(
      {"run", "a.yaml", "-o", "json", "why", "-vv", "does", "--param=a=b", "-P", "c=", "it", "-v"});
  CHECK(run.command->name == "run");
  CHECK(run.positionals == Words{"a.yaml", "why", "does", "it"});
  CHECK(run.value("--output") == "json");
  CHECK(run.all("--param") == Words{"a=b", "c="});
  CHECK(run.count("--verbose") == 3);
  CHECK_FALSE(run.has("--quiet"));
}

TEST_CASE("parse: words are taken as they are", "[cli]") {
  const auto run = parsed({"run", "a.yaml", "[a,b]", "-", "", "-5", "--", "--quiet", "-x", "--"});
  CHECK(run.positionals == Words{"a.yaml", "[a,b]", "-", "", "-5", "--quiet", "-x", "--"});
  CHECK(parsed({"run", "-p", "[a,b]"}).value("--prompt") == "[a,b]");
  CHECK(parsed({"run", "-p", "--help me"}).value("--prompt") == "--help me");
  CHECK(parsed({"run", "--prompt=a=b"}).value("--prompt") == "a=b");
  CHECK(parsed({"run", "-P", "k=[a,b]"}).all("--param") == Words{"k=[a,b]"});
}

TEST_CASE("parse: an option wins over its variable", "[cli]") {
  const agent::Environment environment{{"ERRAND_MODEL", "a/b"},
                                       {"ERRAND_TIMEOUT", "5m"},
                                       {"ERRAND_NO_SESSION", "1"},
                                       {"ERRAND_MAX_TURNS", ""}};
  const auto run = parsed({"run", "-m", "c/d"}, environment);
  CHECK(run.value("--model") == "c/d");
  CHECK(run.value("--timeout") == "5m");
  CHECK(run.has("--no-session"));
  CHECK_FALSE(run.has("--max-turns"));
  CHECK_FALSE(parsed({"run"}, {{"ERRAND_NO_SESSION", "0"}}).has("--no-session"));
  CHECK_FALSE(parsed({"check", "a"}, environment).has("--model"));
}

TEST_CASE("parse: a bad variable is named", "[cli]") {
  CHECK(refused({"run"}, {{"ERRAND_TIMEOUT", "10"}}).message.find("ERRAND_TIMEOUT") !=
        std::string::npos);
  CHECK(refused({"run"}, {{"ERRAND_NO_SESSION", "maybe"}}).message.find("ERRAND_NO_SESSION") !=
        std::string::npos);
  CHECK(refused({"run"}, {{"ERRAND_OUTPUT", "jsn"}}).message.find("ERRAND_OUTPUT") !=
        std::string::npos);
}

TEST_CASE("parse: help is found wherever it stands", "[cli]") {
  CHECK(parsed({"--help"}).command == nullptr);
  CHECK(parsed({"-h"}).help);
  CHECK(parsed({"run", "-h"}).help);
  CHECK(parsed({"check", "--help"}).command->name == "check");
  CHECK(parsed({"tools", "call", "x", "--help"}).command->name == "tools call");
  CHECK(parsed({"tools", "--help"}).help);
  CHECK(parsed({"run", "--max-turns", "0", "-h"}).help);
}

TEST_CASE("parse: version needs no more than its name", "[cli]") {
  CHECK(parsed({"--version"}).command->name == "version");
  CHECK(parsed({"-V"}).command->name == "version");
  CHECK(parsed({"--version", "-o", "json"}).value("--output") == "json");
}

TEST_CASE("parse: every mistake says what, and how to mend it", "[cli]") {
  struct Case {
    Words words;
    std::string message;
    std::string help;
  };
  const Case mistake = GENERATE(values<Case>({
      {{}, "no command", "errand run"},
      {{"rnu"}, "unknown command `rnu`", "`errand run`"},
      {{"validate"}, "unknown command", "`errand check`"},
      {{"agent.yaml"}, "unknown command", "`errand run agent.yaml`"},
      {{"frobnicate"}, "unknown command", "exit-codes"},
      {{"chat"}, "not yet supported", "run"},
      {{"worker"}, "not yet supported", "run"},
      {{"tools"}, "list, call", "errand tools list"},
      {{"tools", "lst"}, "unknown command `tools lst`", "errand tools list"},
      {{"tools call"}, "unknown command", ""},
      {{"--quiet", "run"}, "before the command", "errand run --quiet"},
      {{"--bogus"}, "unknown option `--bogus`", "--help"},
      {{"run", "--modle", "x"}, "unknown option `--modle`", "`--model`"},
      {{"run", "--modle=x"}, "unknown option `--modle`", "`--model`"},
      {{"run", "--json"}, "unknown option `--json`", "`-o json`"},
      {{"run", "-x"}, "unknown option `-x`", "`--`"},
      {{"check", "--json", "a"}, "unknown option `--json`", "`-o json`"},
      {{"run", "-o", "jsn"}, "`jsn` is not a value of `--output`", "`json`"},
      {{"run", "-o", "stream-json"}, "`stream-json`", "`jsonl`"},
      {{"run", "-o=json"}, "`=json`", "text, json, jsonl"},
      {{"run", "-o", "json", "-o", "text"}, "given 2 times", "once"},
      {{"run", "-q", "-v"}, "cannot be used together", "one of them"},
      {{"run", "a.yaml", "words", "-p", "more"}, "cannot be used together", "one of them"},
      {{"run", "-p", "a", "-f", "b"}, "cannot be used together", "one of them"},
      {{"run", "--model"}, "`--model` needs a value", "NAME"},
      {{"run", "-m"}, "`--model` needs a value", "NAME"},
      {{"run", "-qm"}, "`--model` needs a value", "NAME"},
      {{"run", "--model="}, "is empty", "value"},
      {{"run", "--model=", "x"}, "is empty", "value"},
      {{"run", "--quiet=no"}, "takes no value", "--quiet"},
      {{"run", "--timeout", "10"}, "`10` is not a duration", "10m"},
      {{"run", "--timeout", "0s"}, "`0s` is not a duration", "10m"},
      {{"run", "--max-turns", "0"}, "`0` is not a count", "no limit"},
      {{"run", "--max-turns", "many"}, "`many` is not a count", "from 1"},
      {{"run", "-P", "target"}, "`target` is not a K=V", "target=main"},
      {{"run", "-P", "=x"}, "`=x` is not a K=V", "target=main"},
      {{"prices", "import"}, "needs FILE", "usage: errand prices import"},
      {{"schema", "agnt"}, "`agnt` is not a value of NAME", "`agent`"},
      {{"completions", "tcsh"}, "`tcsh` is not a value of SHELL", "bash, zsh, fish"},
      {{"init", "a.yaml", "b.yaml"}, "does not take `b.yaml`", "usage: errand init"},
  }));
  const agent::Error error = refused(mistake.words);
  INFO(error.message << " / " << error.help);
  CHECK(error.message.find(mistake.message) != std::string::npos);
  CHECK(error.help.find(mistake.help) != std::string::npos);
}

TEST_CASE("parse: no name stands twice in the table", "[cli]") {
  std::vector<std::string_view> commands;
  for (const cli::Command& command : cli::commands()) {
    commands.push_back(command.name);
    std::vector<std::string_view> names{cli::help_option().name, cli::help_option().short_name};
    for (const cli::Option& option : command.options) {
      names.push_back(option.name);
      if (!option.short_name.empty()) {
        names.push_back(option.short_name);
      }
      CHECK(option.value.empty() == (option.kind == cli::Kind::flag));
      CHECK(option.choices.empty() == (option.kind != cli::Kind::choice));
    }
    std::ranges::sort(names);
    CHECK(std::ranges::adjacent_find(names) == names.end());
    CHECK(command.run != nullptr);
  }
  std::ranges::sort(commands);
  CHECK(std::ranges::adjacent_find(commands) == commands.end());
}
