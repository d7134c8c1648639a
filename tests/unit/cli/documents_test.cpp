// Help, man pages and completions say the same: they come from one table, and what is checked in
// is what the program prints.
#include "agent/outcome.h"
#include "cli/help.h"
#include "cli/manual/completions.h"
#include "cli/manual/man.h"
#include "cli/manual/tables.h"
#include "cli/manual/topics.h"
#include "config/keys.h"
#include "tests/support/skip.h"
#include "tests/unit/cli/command_support.h"
#include "tools/sandbox/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string page(std::string_view name) {
  const auto source = cli::man_page(name);
  REQUIRE(source);
  return *source;
}

std::string in_mdoc(std::string_view option) {
  std::string name;
  for (const char byte : option.substr(1)) {
    name += byte == '-' ? "\\-" : std::string(1, byte);
  }
  return "Fl " + name;
}

std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

void check_width(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(columns(line) <= 80);
    CHECK_FALSE(line.ends_with(' '));
  }
}

struct Shell {
  int status = -1;
  std::string out;
};

Shell shell(const std::string& command) {
  Shell result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) {
    result.out += static_cast<char>(byte);
  }
  result.status = ::pclose(pipe);
  return result;
}

void skip_without(const std::string& program) {
  if (shell("command -v " + program).status != 0) {
    tests::skip(program + " is not installed");
  }
}

// What bash offers for the last word, in a folder with a few files.
std::vector<std::string> bash_offers(const std::vector<std::string>& words) {
  Folder folder;
  folder.write("errand.bash", cli::bash_completions());
  std::filesystem::create_directory(folder.path / "work");
  folder.write("work/one agent.yaml", "");
  folder.write("work/two.md", "");
  folder.write("work/three.txt", "");
  std::filesystem::create_directory(folder.path / "work" / "folder");
  std::string array;
  for (const std::string& word : words) {
    array += fmt::format(" '{}'", word);
  }
  folder.write("ask.bash",
               fmt::format("source ../errand.bash\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_errand\n"
                           "printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                           array,
                           words.size() - 1));
  const Shell asked = shell(fmt::format("cd '{}/work' && bash ../ask.bash", folder.path.string()));
  REQUIRE(asked.status == 0);
  std::vector<std::string> offers;
  std::istringstream lines(asked.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) {
      offers.push_back(line);
    }
  }
  std::ranges::sort(offers);
  return offers;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("documents: every option stands in help, man page and completions", "[cli]") {
  const std::string man = page("errand.1");
  const std::string bash = cli::bash_completions();
  const std::string zsh = cli::zsh_completions();
  const std::string fish = cli::fish_completions();
  for (const cli::Command& command : cli::commands()) {
    if (command.hidden) {
      continue;
    }
    const std::string help = cli::help(command);
    for (const cli::Option& option : command.options) {
      INFO(command.name << " " << option.name);
      const std::string name(option.name);
      CHECK(contains(help, name));
      CHECK(contains(help, option.help.substr(0, option.help.find(' '))));
      CHECK(contains(man, in_mdoc(name)));
      const auto bash_part = bash.find(fmt::format("    '{}')", command.name));
      REQUIRE(bash_part != std::string::npos);
      CHECK(contains(bash.substr(bash_part, bash.find(";;\n    ", bash_part) - bash_part), name));
      const auto zsh_part = zsh.find(fmt::format("    '{}')", command.name));
      REQUIRE(zsh_part != std::string::npos);
      CHECK(contains(zsh.substr(zsh_part, zsh.find("      ;;", zsh_part) - zsh_part), name));
      const std::string fish_line = fmt::format(
          "-n '__errand_using {}'{} -l {}",
          command.name,
          option.short_name.empty() ? "" : fmt::format(" -s {}", option.short_name.substr(1)),
          name.substr(2));
      CHECK(contains(fish, fish_line));
      if (!option.short_name.empty()) {
        CHECK(contains(help, fmt::format("{}, {}", option.short_name, name)));
        CHECK(contains(man, in_mdoc(option.short_name)));
      }
      if (!option.environment.empty()) {
        CHECK(contains(help, option.environment));
        CHECK(contains(man, fmt::format(".It Ev {}", option.environment)));
      }
    }
  }
}

TEST_CASE("documents: every command stands in help, man page and completions", "[cli]") {
  for (const cli::Command& command : cli::commands()) {
    if (!command.hidden) {
      CHECK(contains(cli::help(), command.name));
      CHECK(contains(cli::help(command), fmt::format("Usage: errand {}", command.name)));
      CHECK(contains(cli::bash_completions(), fmt::format("    '{}')", command.name)));
    }
  }
  CHECK_FALSE(contains(cli::help(), "errand.1"));
}

// What nothing can be left of: macros, escapes and places.
void check_is_plain(const std::string& text) {
  for (const std::string_view trace :
       {"\n.", "\\-", "\\(", "\\&", "\\e", "@AGENT_KEYS@", "\x1b", "\u00a0"}) {
    INFO(trace);
    CHECK_FALSE(contains(text, trace));
  }
}

TEST_CASE("documents: every topic is text to read, in help and completions", "[cli]") {
  const std::string bash = cli::bash_completions();
  for (const cli::Topic& topic : cli::help_topics()) {
    INFO(topic.name);
    CHECK(contains(cli::help(), fmt::format("  {} ", topic.name)));
    CHECK(contains(bash, fmt::format(" {}", topic.name)));
    CHECK(cli::find_topic(topic.name) == &topic);
    const auto text = cli::topic_text(topic, false);
    REQUIRE(text);
    CHECK(text->size() > 200);
    CHECK(text->starts_with(topic.sections.empty() ? "NAME\n" : topic.sections.front()));
    check_is_plain(*text);
    for (const std::string_view section : topic.sections) {
      CHECK(contains(*text, fmt::format("{}\n    ", section)));
    }
    CHECK(contains(cli::topic_text(topic, true).value(), "\x1b[1m"));
  }
  CHECK(cli::find_topic("errand-hooks") == cli::find_topic("hooks"));
  CHECK(cli::find_topic("nothing") == nullptr);
}

TEST_CASE("documents: help fits 80 columns and begins with examples", "[cli]") {
  check_width(cli::help());
  for (const cli::Command& command : cli::commands()) {
    check_width(cli::help(command));
    CHECK((command.hidden || cli::help(command).starts_with("Examples:")));
  }
}

// config/ may not look into tools/, whose table it is.
TEST_CASE("documents: the layers of the key `sandbox.required` are those of the sandbox", "[cli]") {
  const auto key = std::ranges::find(config::keys(), "sandbox.required[]", &config::Key::path);
  REQUIRE(key != config::keys().end());
  std::vector<std::string_view> layers;
  for (const tools::sandbox::LayerRow& row : tools::sandbox::k_layers) {
    layers.push_back(row.name);
  }
  CHECK(key->words() == layers);
}

TEST_CASE("documents: the man pages hold the tables", "[cli]") {
  const std::string errand = page("errand.1");
  const std::string codes = page("errand-exit-codes.7");
  for (const agent::ExitRow& row : agent::exit_table()) {
    CHECK(contains(errand, fmt::format(".It {}\n{}:", row.exit_code, row.name)));
    CHECK(contains(codes, fmt::format(".It {} {}\n", row.exit_code, row.name)));
  }
  for (const agent::CodeRow& row : agent::error_table()) {
    CHECK(contains(codes, fmt::format(".It {}\n", row.name)));
  }
  const std::string agent = page("errand-agent.5");
  for (const config::Key& key : config::keys()) {
    INFO(key.path);
    CHECK(contains(agent, fmt::format(".It Ic \"{}\"", key.path)));
  }
}

TEST_CASE("documents: each place of the pages has its table, and each table its place", "[cli]") {
  std::string texts;
  for (const cli::ManPage& one : cli::man_pages()) {
    INFO(one.name);
    CHECK(cli::man_page(one.name).has_value());
    CHECK((read_file(std::filesystem::path(ERRAND_SOURCE_DIR) / "man" /
                     (std::string(one.name) + ".in")) == one.text));
    texts += one.text;
  }
  for (const cli::ManTable& table : cli::man_tables()) {
    INFO(table.name);
    CHECK(contains(texts, fmt::format("@{}@", table.name)));
    CHECK_FALSE(table.text().empty());
  }
}

TEST_CASE("documents: a place without a table is no text of a page", "[cli]") {
  CHECK(cli::with_tables("version @CONTRACT@ of @shot.png, @ and a@B").value() ==
        fmt::format("version {} of @shot.png, @ and a@B", agent::k_exit_code_contract));
  const auto unknown = cli::with_tables("one\n@KEYS_OF_NOBODY@\ntwo\n");
  REQUIRE_FALSE(unknown);
  CHECK(contains(unknown.error().message, "@KEYS_OF_NOBODY@"));
  CHECK_FALSE(cli::man_page("errand.8"));
}

TEST_CASE("documents: mandoc finds nothing wrong with the man pages", "[cli]") {
  skip_without("mandoc");
  for (const cli::ManPage& one : cli::man_pages()) {
    Folder folder;
    folder.write(std::string(one.name), page(one.name));
    const Shell lint = shell(fmt::format("mandoc -T lint -W warning '{}'",
                                         (folder.path / std::string(one.name)).string()));
    INFO(lint.out);
    CHECK(lint.status == 0);
  }
}

TEST_CASE("documents: what is checked in is what the program prints", "[cli]") {
  const std::filesystem::path source(ERRAND_SOURCE_DIR);
  for (const cli::ManPage& one : cli::man_pages()) {
    INFO("errand man " << one.name << " >man/" << one.name);
    CHECK((read_file(source / "man" / std::string(one.name)) == page(one.name)));
  }
  INFO("errand completions SHELL");
  CHECK((read_file(source / "completions/errand.bash") == cli::bash_completions()));
  CHECK((read_file(source / "completions/_errand") == cli::zsh_completions()));
  CHECK((read_file(source / "completions/errand.fish") == cli::fish_completions()));
}

TEST_CASE("documents: bash completes", "[cli]") {
  CHECK(bash_offers({"errand", "ch"}) == Words{"check"});
  CHECK(bash_offers({"errand", "to"}) == Words{"tools"});
  CHECK(bash_offers({"errand", "tools", ""}) == Words{"call", "list"});
  CHECK(bash_offers({"errand", "tools", "call", "read_f"}) == Words{"read_file"});
  CHECK(bash_offers({"errand", "run", "--output-"}) == Words{"--output-file"});
  CHECK(bash_offers({"errand", "run", "-o", "js"}) == Words{"json", "jsonl"});
  CHECK(bash_offers({"errand", "run", "--output", "=", "js"}) == Words{"json", "jsonl"});
  CHECK(bash_offers({"errand", "run", "--output", "="}) == Words{"json", "jsonl", "text"});
  CHECK(bash_offers({"errand", "check", "-o", "js"}) == Words{"json"});
  CHECK(bash_offers({"errand", "run", ""}) == Words{"folder", "one agent.yaml", "two.md"});
  CHECK(bash_offers({"errand", "run", "-q", "o"}) == Words{"one agent.yaml"});
  CHECK(bash_offers({"errand", "run", "-C", ""}) == Words{"folder"});
  CHECK(bash_offers({"errand", "run", "-f", "th"}) == Words{"three.txt"});
  CHECK(bash_offers({"errand", "run", "a.yaml", "o"}).empty());
  CHECK(bash_offers({"errand", "run", "--", "--out"}).empty());
  CHECK(bash_offers({"errand", "exit-codes", "max_"}) == Words{"max_turns"});
  CHECK(bash_offers({"errand", "schema", ""}) == Words{"agent", "events", "result"});
  CHECK(bash_offers({"errand", "completions", "f"}) == Words{"fish"});
  CHECK(bash_offers({"errand", "help", "ru"}) == Words{"run", "runs"});
  CHECK(bash_offers({"errand", "help", "test"}) == Words{"test"});
  CHECK(bash_offers({"errand", "help", "p"}) ==
        Words{"permissions", "policy", "prices", "providers"});
}

TEST_CASE("documents: zsh accepts its completions", "[cli]") {
  skip_without("zsh");
  const Folder folder;
  folder.write("_errand", cli::zsh_completions());
  const Shell zsh = shell(fmt::format("zsh -n '{}/_errand'", folder.path.string()));
  INFO(zsh.out);
  CHECK(zsh.status == 0);
}

TEST_CASE("documents: fish accepts its completions", "[cli]") {
  skip_without("fish");
  const Folder folder;
  folder.write("errand.fish", cli::fish_completions());
  folder.write("agent.yaml", "");
  const auto offers = [&](std::string_view line) {
    return shell(fmt::format("cd '{0}' && HOME='{0}' fish --no-config -c 'source errand.fish; "
                             "complete -C \"{1}\"'",
                             folder.path.string(),
                             line))
        .out;
  };
  CHECK(contains(offers("errand ru"), "run\t"));
  CHECK(contains(offers("errand run --output-f"), "--output-file\t"));
  CHECK(contains(offers("errand run -o "), "jsonl"));
  CHECK_FALSE(contains(offers("errand check -o "), "jsonl"));
  CHECK_FALSE(contains(offers("errand check -o "), "errand.fish"));
  CHECK(contains(offers("errand run -f "), "errand.fish"));
  CHECK(contains(offers("errand run "), "agent.yaml"));
  CHECK_FALSE(contains(offers("errand run "), "errand.fish"));
  CHECK(contains(offers("errand tools c"), "call\t"));
  CHECK(contains(offers("errand tools call read"), "read_file"));
  CHECK(contains(offers("errand help perm"), "permissions"));
}
