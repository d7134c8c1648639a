#include "config/prompt.h"

#include "config/template.h"

#include "load_support.h"
#include <catch2/catch.hpp>

#include <filesystem>

using namespace config_test;

namespace {

using Parameters = std::map<std::string, std::string>;

agent::AgentSpec load(const std::string& text, const agent::Environment& environment = {}) {
  auto report = parse(k_head + text, environment);
  INFO((report.errors.empty() ? "" : line_of(report.errors[0])));
  REQUIRE(report.agent);
  return *std::move(report.agent);
}

const std::string k_two = R"(instructions: "Be {{ tone }}."
prompt: "Review {{target}}, {{ depth }} deep"
parameters:
  target: {required: true, description: a git range}
  depth: {type: integer, default: 3}
  tone: {enum: [kind, strict], default: kind}
)";

}  // namespace

TEST_CASE("prompt: parameters and defaults are put in", "[config]") {
  const auto rendered = config::render(load(k_two), {{"target", "HEAD~1"}}, {}, {});
  REQUIRE(rendered);
  CHECK(rendered->instructions == "Be kind.");
  CHECK(rendered->prompt == "Review HEAD~1, 3 deep");
}

TEST_CASE("prompt: what parameters bring is bounded", "[config]") {
  const auto agent = load("prompt: \"{{ p }}{{ p }}\"\nparameters: {p: {type: string}}\n");
  const auto rendered = [&](std::size_t size) {
    return config::render(agent, {{"p", std::string(size, 'x')}}, {}, {});
  };
  constexpr std::size_t k_half = 16u << 20;
  REQUIRE(rendered(k_half));
  CHECK(rendered(k_half)->prompt.size() == 2 * k_half);
  const auto refused = rendered(k_half + 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "with its parameters, `prompt` is more than 32 MiB");
}

TEST_CASE("prompt: what variables bring is bounded", "[config]") {
  const std::string text = "instructions: ${env:A}${env:A}\nprompt: ${env:B}\n";
  constexpr std::size_t k_most = 4u << 20;
  const agent::Environment fits{{"A", std::string(k_most / 2 - 1, 'a')}, {"B", "bb"}};
  CHECK(load(text, fits).prompt == "bb");
  const auto report = parse(k_head + text, {{"A", std::string(k_most / 2 - 1, 'a')}, {"B", "bbb"}});
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].message ==
        "the variables of the file bring more than 4194304 bytes of text");
}

TEST_CASE("prompt: what was put in is not read again", "[config]") {
  const auto rendered = config::render(load(k_two), {{"target", "{{ depth }} ${env:X}"}}, {}, {});
  REQUIRE(rendered);
  CHECK(rendered->prompt == "Review {{ depth }} ${env:X}, 3 deep");
}

TEST_CASE("prompt: one from outside is no template, and needs no parameters", "[config]") {
  const auto rendered = config::render(load(k_two), {}, "Say {{ hello }}", {});
  REQUIRE(rendered);
  CHECK(rendered->prompt == "Say {{ hello }}");
  CHECK(rendered->instructions == "Be kind.");
}

TEST_CASE("prompt: a required parameter of the instructions is needed always", "[config]") {
  const auto spec = load("instructions: 'For {{ who }}'\nparameters: {who: {required: true}}\n");
  const auto rendered = config::render(spec, {}, "hi", {});
  REQUIRE_FALSE(rendered);
  CHECK(rendered.error().message == "the parameter `who` is missing");
}

TEST_CASE("prompt: wrong parameters are errors of usage", "[config]") {
  struct Row {
    Parameters given;
    std::string message;
    std::string help;
  };
  const auto row = GENERATE(values<Row>({
      {{}, "the parameter `target` is missing", "`--param target=VALUE`: a git range"},
      {{{"target", "x"}, {"dept", "1"}},
       "the agent has no parameter `dept`",
       "did you mean `--param depth=VALUE`?"},
      {{{"target", "x"}, {"zzz", "1"}},
       "the agent has no parameter `zzz`",
       "`--param NAME=VALUE`, where NAME is one of: target, depth, tone"},
      {{{"target", "x"}, {"depth", "deep"}},
       "the parameter `depth` must be of type integer, not `deep`",
       "`--param depth=VALUE`, where VALUE is a whole number"},
      {{{"target", "x"}, {"depth", "1.5"}},
       "the parameter `depth` must be of type integer, not `1.5`",
       "`--param depth=VALUE`, where VALUE is a whole number"},
      {{{"target", "x"}, {"tone", "rude"}},
       "the parameter `tone` cannot be `rude`",
       "`--param tone=VALUE`, where VALUE is one of: kind, strict"},
  }));
  const auto rendered = config::render(load(k_two), row.given, {}, {});
  REQUIRE_FALSE(rendered);
  CHECK(rendered.error().code == agent::Code::cli_usage);
  CHECK(rendered.error().message == row.message);
  CHECK(rendered.error().help == row.help);
}

TEST_CASE("prompt: types of parameters", "[config]") {
  struct Row {
    std::string type;
    std::string value;
    bool is_valid;
  };
  const auto row = GENERATE(values<Row>({{"boolean", "true", true},
                                         {"boolean", "yes", false},
                                         {"boolean", "", false},
                                         {"number", "1.5", true},
                                         {"number", "-3e2", true},
                                         {"number", "1,5", false},
                                         {"integer", "-12", true},
                                         {"integer", "99999999999999999999", true},
                                         {"integer", "3.0", true},
                                         {"integer", "1e400", false},
                                         {"integer", "1.5", false},
                                         {"string", "", true},
                                         {"string", "12", true}}));
  INFO(row.type << " " << row.value);
  const auto spec = load("prompt: 'x {{ p }}'\nparameters: {p: {type: " + row.type + "}}\n");
  CHECK(config::render(spec, {{"p", row.value}}, {}, {}).has_value() == row.is_valid);
}

TEST_CASE("prompt: an optional parameter without a default is empty", "[config]") {
  const auto spec = load("prompt: '<{{ p }}>'\nparameters: {p: {}}\n");
  CHECK(config::render(spec, {}, {}, {})->prompt == "<>");
}

TEST_CASE("prompt: braces", "[config]") {
  struct Row {
    std::string prompt;
    std::string rendered;
  };
  const auto row = GENERATE(values<Row>({
      {"{{ p }}", "P"},
      {"{{p}}{{ p }}", "PP"},
      {"{{{ p }}}", "{P}"},
      {"{{{{ p }}}}", "{{P}}"},
      {"{ p } }} {", "{ p } }} {"},
      {R"({{ "{{" }} p }} {{ p }})", "{{ p }} P"},
      {R"({{ '{{ p }}' }}{{ p }})", "{{ p }}P"},
      {"{{\np\n}}", "P"},
      {R"({"a": {"b": "{{ p }}"}})", R"({"a": {"b": "P"}})"},
  }));
  INFO(row.prompt);
  std::string block = row.prompt;
  for (std::size_t at = block.find('\n'); at != std::string::npos; at = block.find('\n', at + 3)) {
    block.replace(at, 1, "\n  ");
  }
  const auto spec = load("prompt: |-\n  " + block + "\nparameters: {p: {}}\n");
  CHECK(config::render(spec, {{"p", "P"}}, {}, {})->prompt == row.rendered);
}

TEST_CASE("prompt: a variable's braces are no template", "[config]") {
  const auto value =
      GENERATE(as<std::string>{}, "{{ p }}", "{", "{{", "}}", "{{ nope", "{ \"a\": {} }");
  const auto spec =
      load("prompt: 'a {${env:V}{{ p }} ${env:V}}} ${env:NO:-{x}'\nparameters: {p: {}}\n",
           {{"V", value}});
  CHECK(config::render(spec, {{"p", "P"}}, {}, {})->prompt ==
        "a {" + value + "P " + value + "}} {x");
}

TEST_CASE("prompt: context files follow the instructions", "[config]") {
  const Folder folder;
  folder.write("AGENTS.md", "Be kind. {{ not }} ${env:NOR}\n\n");
  folder.write("docs/style.md", "Write short.");
  const auto file = folder.write(
      "a.yaml", k_head + "instructions: You are.\ncontext: [AGENTS.md, none.md?, docs/style.md]\n");
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.agent);
  const auto rendered = config::render(*report.agent, {}, "go", {});
  REQUIRE(rendered);
  CHECK(rendered->instructions ==
        "You are.\n\n# AGENTS.md\n\nBe kind. {{ not }} ${env:NOR}\n\n# docs/style.md\n\nWrite "
        "short.");
}

TEST_CASE("prompt: a context file that is no text is an error", "[config]") {
  const Folder folder;
  folder.write("logo.ico", std::string("\x00\x00\x01\x00\x1A", 5));
  const auto file = folder.write("a.yaml", k_head + "context: [logo.ico]\n");
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.agent);
  const auto rendered = config::render(*report.agent, {}, "go", {});
  REQUIRE_FALSE(rendered);
  CHECK(rendered.error().code == agent::Code::config_invalid);
  CHECK(rendered.error().message == "`" + (folder.path() / "logo.ico").string() + "` is not text");
}

TEST_CASE("prompt: a context file that went away is an error, not a shorter prompt", "[config]") {
  const Folder folder;
  const auto notes = folder.write("notes.md", "x");
  const auto file = folder.write("a.yaml", k_head + "context: [notes.md]\n");
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.agent);
  std::filesystem::remove(notes);
  const auto rendered = config::render(*report.agent, {}, "go", {});
  REQUIRE_FALSE(rendered);
  CHECK(rendered.error().context ==
        std::vector<std::string>{"reading the context file `notes.md`"});
}

TEST_CASE("prompt: pictures of the agent start at its folder, those of a value where it was given",
          "[config]") {
  const std::string png = "\x89PNG\r\n\x1A\n";
  const Folder folder;
  const auto logo = folder.write("logo.png", png + "logo");
  const auto shot = folder.write("shot.png", png + "shot");
  folder.write("context.png", png);
  const auto file = folder.write("a.yaml",
                                 k_head +
                                     "prompt: 'Compare @logo.png with @{{ shot }} {{ note }}'\n"
                                     "context: [context.png, gone.png?]\n"
                                     "parameters: {shot: {required: true}, note: {}}\n");
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.agent);
  const auto names = [&](const Parameters& given) {
    const auto rendered = config::render(*report.agent, given, {}, {});
    INFO((rendered ? "" : rendered.error().message));
    REQUIRE(rendered);
    std::string all;
    for (const agent::Attachment& one : rendered->attachments) {
      all += one.name + " ";
    }
    return all;
  };
  CHECK(names({{"shot", shot}}) == "context.png logo.png shot.png ");
  // A value is no template, and no place for an `@` of its own.
  CHECK(names({{"shot", "none"}, {"note", "@/gone.png"}}) == "context.png logo.png ");

  const auto missing = config::render(*report.agent, {{"shot", "/gone.png"}}, {}, {});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == agent::Code::cli_no_input);
  std::filesystem::remove(logo);
  const auto broken = config::render(*report.agent, {{"shot", "none"}}, {}, {});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == agent::Code::config_invalid);
  const auto checked = config::load_agent(file, {}, known());
  REQUIRE(checked.errors.size() == 1);
  CHECK(checked.errors[0].message == "there is no file `logo.png`");
}

TEST_CASE("prompt: a path is the person's word where all of it was given", "[config]") {
  const std::string png = "\x89PNG\r\n\x1A\n";
  const Folder folder;
  const Folder home;
  const auto mine = home.write("mine.png", png + "mine");
  const auto file = folder.write("a.yaml",
                                 k_head +
                                     "prompt: 'Look at @{{ start }}{{ rest }}'\n"
                                     "parameters: {start: {default: " +
                                     mine.string() + "}, rest: {}}\n");
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.agent);
  const config::ReadingPolicy closes_home =
      [&](const std::filesystem::path&,
          const std::filesystem::path& real) -> agent::Result<config::Reading> {
    const bool is_mine =
        real.string().starts_with(std::filesystem::canonical(home.path()).string());
    return is_mine ? config::Reading::closed : config::Reading::open;
  };
  const auto renders = [&](const Parameters& given) {
    return config::render(*report.agent, given, {}, closes_home).has_value();
  };
  CHECK(renders({{"start", mine.string()}}));
  CHECK_FALSE(renders({}));  // the agent's own default
  CHECK_FALSE(config::render(
      *report.agent, {{"start", mine.string()}}, {}, closes_home, {"start"}));  // out of a file
  CHECK_FALSE(renders({{"start", (home.path() / "mine").string()}, {"rest", ".png"}}));
}
