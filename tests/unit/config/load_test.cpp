#include "config/load.h"

#include "agent/fallback.h"
#include "config/keys.h"
#include "config/unknown_key.h"

#include "load_support.h"
#include <catch2/catch.hpp>

#include <chrono>

using namespace config_test;
using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

namespace {

const std::string k_everything = R"(version: 1
name: pr-reviewer
description: Reviews a diff.
model:
  name: openai/gpt-5-mini
  protocol: openai_chat
  base_url: http://localhost:11434/v1
  api_key_env: MY_KEY
  stream: false
  headers: {X-Team: tools, x-request-source: "${env:SOURCE}"}
  temperature: 0.5
  max_output_tokens: 8k
  reasoning: low
  timeouts: {connect: 5s, first_byte: 1m, idle: 30s, request: 1m30s}
  cost: {input: 0.1, output: "0.2", cache_read: 0, cache_write: 1e-1, reasoning: 3, tiers: [{above_input_tokens: 200k, input: 0.3}, {above_input_tokens: 1000000, input: 0.9, output: 1, reasoning: 4}]}
instructions: |
  You are careful.
prompt: "Review {{ target }}"
parameters:
  target: {type: string, required: true, description: A git range, enum: [a, b]}
  depth: {type: integer, default: 3}
context: [AGENTS.md, docs/style.md?]
tools:
  - read_file
  - shell: {timeout: 2m, idle_timeout: 30s, on_error: fatal, repeatable: true, untrusted: true, env: [SOURCE]}
  - name: run_tests
    description: Run the unit tests
    command: [make, test, 5]
    parameters: {type: object, properties: {path: {type: string}}}
    timeout: 5m
    idle_timeout: 10s
    on_error: fatal
    parallel: true
    untrusted: true
    repeatable: true
    idempotent: true
    env: {STAGE: "${env:SOURCE}-1", DEBUG: true, RETRIES: 3, x-note: no}
  - web_fetch: {allow_hosts: [intranet.example, "127.0.0.1:8080", "[::1]:80"]}
limits: {max_turns: 40, max_tool_calls: 200, max_total_tokens: 500k, max_cost_usd: 1.50, timeout: 20m, max_repeat_calls: unlimited}
retry: {max_attempts: 6, initial_delay: 1s, max_delay: 1m, max_elapsed: 5m}
session: {store: runs.db, durability: full}
x-owner: {team: tools, key: [1, 2]}
)";

}  // namespace

TEST_CASE("load: every key reaches the spec", "[config]") {
  const Folder folder;
  const auto file = folder.write("agent.yaml", k_everything);
  folder.write("AGENTS.md", "be kind\n");
  const auto report = config::load_agent(file, {{"SOURCE", "ci"}}, known());
  REQUIRE(lines_of(report.errors) == Lines{});
  CHECK(lines_of(report.warnings) == Lines{"21:3 no template names the parameter `depth`"});
  const agent::AgentSpec& spec = *report.agent;
  CHECK(spec.file == file.string());
  CHECK(spec.directory == folder.path().string());
  CHECK(spec.name == "pr-reviewer");
  CHECK(spec.description == "Reviews a diff.");
  CHECK(spec.model.name == "openai/gpt-5-mini");
  CHECK(spec.model.protocol == "openai_chat");
  CHECK(spec.model.base_url == "http://localhost:11434/v1");
  CHECK(spec.model.api_key_env == "MY_KEY");
  CHECK_FALSE(spec.model.stream);
  CHECK(spec.model.headers == std::vector<std::pair<std::string, std::string>>{
                                  {"X-Team", "tools"}, {"x-request-source", "ci"}});
  CHECK(spec.model.temperature == 0.5);
  CHECK(spec.model.max_output_tokens == 8'000);
  CHECK(spec.model.reasoning == "low");
  CHECK(spec.model.timeouts == agent::Timeouts{5s, 1min, 30s, 90s});
  CHECK(spec.instructions == "You are careful.\n");
  CHECK(spec.prompt == "Review {{ target }}");
  REQUIRE(spec.parameters.size() == 2);
  CHECK(spec.parameters[0].required);
  CHECK(spec.parameters[0].description == "A git range");
  CHECK(spec.parameters[0].options == Lines{"a", "b"});
  CHECK(spec.parameters[1].type == "integer");
  CHECK(spec.parameters[1].fallback == "3");
  REQUIRE(spec.context.size() == 2);
  CHECK(spec.context[1].path == "docs/style.md");
  CHECK(spec.context[1].optional);
  REQUIRE(spec.tools.size() == 4);
  CHECK(spec.tools[0].name == "read_file");
  CHECK(spec.tools[1].timeout == 2min);
  CHECK(spec.tools[1].on_error == agent::ToolSpec::OnError::fatal);
  CHECK(spec.tools[1].repeatable);
  CHECK(spec.tools[2].kind == agent::ToolSpec::Kind::command);
  CHECK(spec.tools[2].command == Lines{"make", "test", "5"});
  CHECK(spec.tools[2].parameters == R"({"type":"object","properties":{"path":{"type":"string"}}})");
  CHECK(spec.tools[2].idle_timeout == 10s);
  CHECK(spec.tools[2].parallel);
  CHECK(spec.tools[2].idempotent);
  CHECK_FALSE(spec.tools[0].untrusted);
  CHECK(spec.tools[1].untrusted);
  CHECK(spec.tools[2].untrusted);
  CHECK(spec.tools[3].allow_hosts == Lines{"intranet.example", "127.0.0.1:8080", "[::1]:80"});
  CHECK(spec.tools[1].env == agent::Environment{{"SOURCE", "ci"}});
  CHECK(spec.tools[2].env ==
        agent::Environment{{"STAGE", "ci-1"}, {"DEBUG", "true"}, {"RETRIES", "3"}});
  CHECK(spec.limits.max_turns == 40);
  CHECK(spec.limits.max_total_tokens == 500'000);
  CHECK(spec.limits.max_cost_usd == agent::Money::parse("1.5"));
  CHECK(spec.limits.max_cost_where);
  const auto rate = [](const char* text) {
    return agent::Rate{.base = *agent::Money::parse(text)};
  };
  using Tiers = std::vector<agent::Tier>;
  const auto usd = [](const char* text) { return *agent::Money::parse(text); };
  CHECK(spec.model.cost ==
        agent::Price{.input = {usd("0.1"), Tiers{{200'000, usd("0.3")}, {1'000'000, usd("0.9")}}},
                     .output = {usd("0.2"), Tiers{{1'000'000, usd("1")}}},
                     .cache_read = rate("0"),
                     .cache_write = rate("0.1"),
                     .reasoning = agent::Rate{usd("3"), Tiers{{1'000'000, usd("4")}}}});
  CHECK(spec.limits.timeout == 20min);
  CHECK(spec.limits.max_repeat_calls == std::nullopt);
  CHECK(spec.retry.max_attempts == 6);
  CHECK(spec.retry.max_elapsed == 5min);
  CHECK(spec.session.store == "runs.db");
  CHECK(spec.session.durability == agent::SessionSpec::Durability::full);
}

TEST_CASE("load: a program with a slash is looked for from the agent file", "[config]") {
  const auto [written, meant] = GENERATE(table<std::string, std::string>({
      {"./tool.sh", "/nonexistent/tool.sh"},
      {"../bin/tool", "/bin/tool"},
      {"bin/tool", "/nonexistent/bin/tool"},
      {"/bin/tool", "/bin/tool"},
      {"tool", "tool"},
  }));
  const auto report =
      parse("version: 1\nname: a\ntools:\n  - {name: t, description: d, command: [" + written +
            ", ./x]}\n");
  REQUIRE(report.agent);
  CHECK(report.agent->tools[0].command == Lines{meant, "./x"});
}

TEST_CASE("load: the smallest agent has the defaults", "[config]") {
  const auto report = parse("version: 1\nname: a\n");
  REQUIRE(report.agent);
  CHECK(report.agent->model.name == "auto");
  CHECK(report.agent->limits.max_turns == std::nullopt);
  CHECK(report.agent->limits.max_repeat_calls == 5);
  CHECK(report.agent->retry.max_attempts == 4);
  CHECK(report.agent->session.store == "auto");
  CHECK(report.warnings.empty());
}

TEST_CASE("load: scalars follow the core schema of YAML 1.2", "[config]") {
  const auto text =
      GENERATE(as<std::string>{}, "no", "yes", "on", "off", "y", "'5'", "0o8", "1_000");
  INFO(text);
  const auto report = parse(k_head + "description: " + text + "\n");
  CHECK(lines_of(report.errors) == Lines{});
  const auto turns = [](const std::string& number) {
    return parse(k_head + "limits: {max_turns: " + number + "}").agent->limits.max_turns;
  };
  CHECK(turns("017") == 17);
  CHECK(turns("0o17") == 15);
  CHECK(turns("0x1F") == 31);
  CHECK(turns("+3") == 3);
  CHECK(parse(k_head + "model: {name: a/b, stream: FALSE}").agent->model.stream == false);
}

TEST_CASE("load: a byte order mark and CRLF change no position", "[config]") {
  const auto report =
      parse("\xEF\xBB\xBFversion: 1\r\nname: a\r\nfoo: 1\r\nprompt: |\r\n  x {{ y }}\r\n");
  CHECK(lines_of(report.errors) == Lines{"3:1 unknown key `foo` at the top",
                                         "5:5 the template names `y`, which is not a parameter"});
  CHECK(report.errors.at(0).where->excerpt == "foo: 1");
}

TEST_CASE("load: one mistake, its place and its words", "[config]") {
  struct Row {
    std::string text;  // below `version: 1` and `name: a`
    std::string line;
    std::string mark;
  };
  const auto row = GENERATE(values<Row>({
      {"instructons: x", "3:1 unknown key `instructons` at the top", "instructons"},
      {"model: gpt-5", "3:8 `model` must be PROVIDER/NAME, or `auto`", "gpt-5"},
      {"model: [a/b]", "3:8 `model` must be text or map, not a list", "["},
      {"model: {name: a/b, temperature: hot}",
       "3:33 `model.temperature` must be a number, not text",
       "hot"},
      {"model: {name: a/b, temperature: 2.5}",
       "3:33 `model.temperature` must be from 0 to 2",
       "2.5"},
      {"model: {name: a/b, temperature: .nan}",
       "3:33 `model.temperature` must be from 0 to 2",
       ".nan"},
      {"model: {name: a/b, stream: yes}",
       "3:28 `model.stream` must be true or false, not text",
       "yes"},
      {"model: {name: a/b, reasoning: hi}", "3:31 `model.reasoning` cannot be `hi`", "hi"},
      {"model: {name: a/b, protocol: openai_chta}",
       "3:30 there is no protocol `openai_chta`",
       "openai_chta"},
      {"model: {name: a/b, base_url: localhost}",
       "3:30 `model.base_url` must be an address that begins with http:// or https://, then a host "
       "(and a port up to "
       "65535)",
       "localhost"},
      {"model: {name: a/b, headers: {a b: c}}",
       "3:30 the name `a b` must be the name of an HTTP header",
       "a b"},
      {"model: {name: auto, base_url: http://h}",
       "3:21 `model.base_url` does not go with the model `auto`",
       "base_url"},
      {"model: {stream: true}", "3:8 `model.name` is missing", "{"},
      {"model: {name: a/b, timeouts: {idle: 10}}", "3:37 `model.timeouts.idle` needs a unit", "10"},
      {"description: 5", "3:14 `description` must be text, not a whole number", "5"},
      {"description:", "3:1 `description` has no value", "description"},
      {"description: ~", "3:1 `description` has no value", "description"},
      {"prompt: [a]", "3:9 `prompt` must be text, not a list", "["},
      {"prompt: {{ x }}", "3:10 a key must be a word, not a list or a map", "{"},
      {"prompt: 'é {{ x }}'", "3:12 the template names `x`, which is not a parameter", "{{ x }}"},
      {"prompt: \"\\u00e9\\t{{ x }}\"",
       "3:18 the template names `x`, which is not a parameter",
       "{{ x }}"},
      {"prompt: '{{ x'", "3:10 a template tag is not closed", "{{"},
      {"prompt: '{{ a b }}'", "3:10 a template tag that holds no plain name", "{{ a b }}"},
      {"prompt: '{{}}'", "3:10 a template tag without a name", "{{}}"},
      {"prompt: '{{ ${env:HOME} }}'",
       "3:10 a template tag that holds no plain name",
       "{{ ${env:HOME} }}"},
      {"instructions: |\n  Ü\n    as {{ x }}",
       "5:8 the template names `x`, which is not a parameter",
       "{{ x }}"},
      {"instructions: >-\n  a\n  b {{ x }}",
       "5:5 the template names `x`, which is not a parameter",
       "{{ x }}"},
      {"instructions: a\n  b {{ x }}",
       "4:5 the template names `x`, which is not a parameter",
       "{{ x }}"},
      {"description: 'it''s ${env:NOPE}'",
       "3:21 the environment variable `NOPE` is not set",
       "${env:NOPE}"},
      {"description: x ${env:NOPE", "3:16 the reference to a variable is not closed", "${env:"},
      {"description: ${env:1}", "3:14 `1` is not a variable name", "${env:1}"},
      {"parameters: {1x: {}}",
       "3:14 the name `1x` must be at most 64 letters, digits and `_`, and not begin with a digit",
       "1x"},
      {"parameters: {x: {type: int}}", "3:24 `parameters.x.type` cannot be `int`", "int"},
      {"parameters: {x: {type: integer, default: y}}",
       "3:42 `parameters.x.default` is not of type integer",
       "y"},
      {"parameters: {x: {enum: [a], default: b}}",
       "3:38 `parameters.x.default` is not in `enum`",
       "b"},
      {"parameters: {x: {required: true, default: b}}",
       "3:34 the required parameter `x` has a default",
       "default"},
      {"context: AGENTS.md", "3:10 `context` must be a list, not text", "AGENTS.md"},
      {"context: [a.md?, b.md]", "3:18 there is no file `b.md`", "b.md"},
      {"tools: [read_fiel]", "3:9 there is no built-in tool `read_fiel`", "read_fiel"},
      {"tools: [shel: {timeout: 1s}]", "3:9 there is no built-in tool `shel`", "shel"},
      {"tools:\n  - shell:", "4:5 there are no settings under `shell`", "shell"},
      {"tools:\n  - shell:\n    timeout: 2m", "4:5 there are no settings under `shell`", "shell"},
      {"tools: [shell: {parallel: true}]",
       "3:17 unknown key `parallel` in `tools[].shell`",
       "parallel"},
      {"tools: [grep: {idle_timeout: 5s}]",
       "3:16 the tool `grep` has no `idle_timeout`: it runs no program",
       "idle_timeout"},
      {"tools: [web_fetch: {allow_hosts: []}]",
       "3:34 `tools[].web_fetch.allow_hosts` is empty",
       "["},
      {"tools: [web_fetch: {allow_hosts: ['http://a']}]",
       "3:35 `tools[].web_fetch.allow_hosts[]` must be a host, or a host and a port: "
       "intranet.example, "
       "127.0.0.1:8080",
       "'http://a'"},
      {"tools: [web_fetch: {allow_hosts: ['a:080']}]",
       "3:35 `tools[].web_fetch.allow_hosts[]` must be a host, or a host and a port: "
       "intranet.example, "
       "127.0.0.1:8080",
       "'a:080'"},
      {"tools: [web_fetch: {untrusted: false}]",
       "3:32 what `web_fetch` brings always comes from outside",
       "false"},
      {"tools: [grep: {allow_hosts: [a]}]",
       "3:16 the tool `grep` has no `allow_hosts`: it does not fetch",
       "allow_hosts"},
      {"tools: [shell, {shell: {}}]", "3:17 the tool `shell` appears twice", "shell"},
      {"tools: [{name: t, description: d, command: make test}]",
       "3:44 `tools[].command` must be a list, not text",
       "make test"},
      {"tools: [{name: t, description: d, command: []}]", "3:44 `tools[].command` is empty", "["},
      {"tools: [{name: t, description: d, command: ['']}]",
       "3:45 the program of a command tool is empty",
       "''"},
      {"tools: [{name: t, command: [x]}]", "3:9 `tools[].description` is missing", "{"},
      {"tools: [{name: shell, description: d, command: [x]}]",
       "3:16 `shell` is the name of a built-in tool",
       "shell"},
      {"tools: [{name: a b, description: d, command: [x]}]",
       "3:16 `tools[].name` must be at most 64 letters, digits, `-` and `_`",
       "a b"},
      {"tools: [{name: t, description: d, command: [x], parameters: {type: array}}]",
       "3:68 the parameters of a tool must be a JSON Schema of type object",
       "array"},
      {"limits: {max_turns: 0}", "3:21 `limits.max_turns` cannot be 0", "0"},
      {"limits: {max_turns: -1}", "3:21 `limits.max_turns` must be at least 1", "-1"},
      {"limits: {max_turns: 1.5}", "3:21 `limits.max_turns` must be a count, not `1.5`", "1.5"},
      {"limits: {max_turns: 99999999999999999999}",
       "3:21 `limits.max_turns` must be a count, not `99999999999999999999`",
       "99999999999999999999"},
      {"limits: {max_repeat_calls: 1}",
       "3:28 `limits.max_repeat_calls` must be at least 2, or `unlimited`",
       "1"},
      {"limits: {timeout: '10'}", "3:19 `limits.timeout` needs a unit", "'10'"},
      {"limits: {timeout: 10 parsecs}",
       "3:19 `limits.timeout` must be a duration, not `10 parsecs`",
       "10 parsecs"},
      {"limits: {timeout: 0s}", "3:19 `limits.timeout` cannot be 0", "0s"},
      {"limits: {max_cost_usd: 0.00}", "3:24 `limits.max_cost_usd` cannot be 0", "0.00"},
      {"limits: {max_cost_usd: -1}",
       "3:24 `limits.max_cost_usd` must be an amount in US dollars, not `-1`",
       "-1"},
      {"limits: {max_cost_usd: 0.0000000000001}",
       "3:24 `limits.max_cost_usd` must be an amount in US dollars, not `0.0000000000001`",
       "0.0000000000001"},
      {"model: {name: a/b, cost: {input: 1}}", "3:26 `model.cost.output` is missing", "{"},
      {"model: {name: a/b, cost: {input: 1, output: 2, tiers: []}}",
       "3:55 `model.cost.tiers` is empty",
       "["},
      {"model: {name: a/b, cost: {input: 1, output: 2, tiers: [{input: 2}]}}",
       "3:56 `model.cost.tiers[].above_input_tokens` is missing",
       "{"},
      {"model: {name: a/b, cost: {input: 1, output: 2, tiers: [{above_input_tokens: 1k}]}}",
       "3:56 the tier has no price",
       "{"},
      {"model: {name: a/b, cost: {input: 1, output: 2, tiers: [{above_input_tokens: 1k, "
       "cache_read: 2}]}}",
       "3:81 `cache_read` has a price in a tier, and none below it",
       "cache_read"},
      {"model: {name: a/b, cost: {input: 1, output: 2, tiers: [{above_input_tokens: 1k, "
       "input: 2}, {above_input_tokens: 1000, output: 2}]}}",
       "3:113 there are two tiers above 1000 input tokens",
       "1000"},
      {"tools: [shell: {env: [E2E_NOT_SET]}]",
       "3:23 the environment variable `E2E_NOT_SET` is not set",
       "E2E_NOT_SET"},
      {"tools: [shell: {env: {A: \"${env:E2E_NOT_SET}\"}}]",
       "3:27 the environment variable `E2E_NOT_SET` is not set",
       "${env:E2E_NOT_SET}"},
      {"tools: [shell: {env: [A=b]}]",
       "3:23 `tools[].shell.env[]` must be the name of an environment variable, or how several "
       "begin: GH_TOKEN, GH_*",
       "A=b"},
      {"tools: [shell: {env: [\"*\"]}]",
       "3:23 `tools[].shell.env[]` must be the name of an environment variable, or how several "
       "begin: GH_TOKEN, GH_*",
       "\"*\""},
      {"tools: [shell: {env: {A-b: c}}]",
       "3:23 the name `A-b` must be the name of an environment variable: letters, digits and `_`",
       "A-b"},
      {"tools: [shell: {env: A}]", "3:22 `tools[].shell.env` must be a list or map, not text", "A"},
      {"tools: [shell: {env: {A: [b]}}]",
       "3:26 `tools[].shell.env.A` must be text, number or boolean, not a list",
       "["},
      {"tools: [shell: {env: {DB_PASSWORD: abcdefgh1}}]",
       "3:36 this looks like a secret key",
       "*********"},
      {"tools: [read_file: {env: {A: b}}]",
       "3:21 the tool `read_file` has no `env`: it runs no program",
       "env"},
      {"limits: [1]", "3:9 `limits` must be a map, not a list", "["},
      {"retry: {max_attempts: 0}", "3:23 `retry.max_attempts` must be from 1 to 100", "0"},
      {"retry: {initial_delay: 2m}",
       "3:24 `retry.initial_delay` (2m) is longer than `retry.max_delay` (30s)",
       "2m"},
      {"session: {durability: ful}", "3:23 `session.durability` cannot be `ful`", "ful"},
      {"x: 1", "3:1 unknown key `x` at the top", "x"},
      {"<<: {}", "3:1 merge keys (`<<`) are not supported", "<<"},
      {"description: !!str 5", "3:14 the tag `!!str` is not allowed", "!!str"},
      {"name: b", "3:1 the key `name` appears twice", "name"},
      {"x-a: {b: 1, b: 2}", "3:13 the key `b` appears twice", "b"},
      {"? [a]\n: b", "3:3 a key must be a word, not a list or a map", "["},
      {"x-a: *b", "3:6 the alias names no anchor above it", "*"},
      {"x-a: &b [*b]", "3:10 the alias stands inside the value that it names", "*b"},
      {"---\nversion: 1", "3:1 a second document begins here", "---"},
      {"description: a: b", "3:15 a colon where no value can begin", ":"},
      {"tools\nprompt: x", "3:1 this line has no colon", "tools"},
      {"tools: [a, b\nprompt: x", "3:8 a `[` is not closed", "["},
      {"prompt: \"x\\0y\"", "3:9 a NUL character in the text", "\"x\\0y\""},
      {"prompt: \"x", "3:9 a quote is not closed", "\""},
      {"limits:\n\tmax_turns: 1", "4:1 a tab in the indentation", "\t"},
      {"prompt: @x", "3:9 this character cannot begin a value", "@"},
      {"prompt: \"a\" b", "3:13 this line does not fit the keys above it", "b"},
  }));
  INFO(row.text);
  const auto report = parse(k_head + row.text + "\n", {{"HOME", "/"}});
  CHECK(lines_of(report.errors) == Lines{row.line});
  CHECK_FALSE(report.agent);
  REQUIRE(report.errors.size() == 1);
  CHECK(marked(report.errors[0]) == row.mark);
  CHECK_FALSE(report.errors[0].help.empty());
  CHECK(report.errors[0].where->file == "agent.yaml");
}

TEST_CASE("load: several mistakes are reported at once, in file order", "[config]") {
  const auto report = parse(R"(name: Bad Name
verzion: 1
limits: {max_turns: none, timeout: 5}
agents: {}
tools: [reed_file]
prompt: "{{ who }} ${env:NOPE}"
)");
  CHECK(lines_of(report.errors) ==
        Lines{"1:1 `version` is missing",
              "1:7 `name` must be at most 64 lower-case letters, digits, `-` and `_`, and begin "
              "with a letter or digit",
              "2:1 unknown key `verzion` at the top",
              "3:21 `limits.max_turns` must be a count, not `none`",
              "3:36 `limits.timeout` needs a unit",
              "4:1 `agents` is not supported yet",
              "5:9 there is no built-in tool `reed_file`",
              "6:10 the template names `who`, which is not a parameter",
              "6:20 the environment variable `NOPE` is not set"});
}

TEST_CASE("load: many mistakes are counted, not lost", "[config]") {
  std::string text = k_head;
  for (int index = 0; index < 150; ++index) {
    text += "k" + std::to_string(index) + ": 1\n";
  }
  const auto report = parse(text);
  REQUIRE(report.errors.size() == 101);
  CHECK(report.errors.back().message == "50 more mistakes are not shown");
}

TEST_CASE("load: a name that another tool uses gets the right key named", "[config]") {
  struct Row {
    std::string text;
    std::string help;
  };
  const auto row = GENERATE(values<Row>({
      {"instruction: x", "did you mean `instructions`?"},
      {"system_prompt: x", "did you mean `instructions`?"},
      {"systemPrompt: x", "did you mean `instructions`?"},
      {"max_iterations: 5", "write `max_turns` under `limits:`"},
      {"maxTurns: 5", "write `max_turns` under `limits:`"},
      {"max-turns: 5", "write `max_turns` under `limits:`"},
      {"budget: {}", "did you mean `limits`?"},
      {"toolsets: []", "did you mean `tools`?"},
      {"extensions: []", "did you mean `tools`?"},
      {"mcps: []", "did you mean `mcp_servers`?"},
      {"response: {}", "did you mean `output`?"},
      {"output_schema: {}", "did you mean `output`?"},
      {"temperature: 1", "write `temperature` under `model:`"},
      {"max_tokens: 1",
       "write `max_output_tokens` under `model:` for one answer, or `max_total_tokens` under "
       "`limits:` for the whole run"},
      {"limits: {maxTurns: 5}", "did you mean `max_turns`?"},
      {"limits: {max-turns: 5}", "did you mean `max_turns`?"},
      {"limits: {max_tokens: 5}", "did you mean `max_total_tokens`?"},
      {"model: {name: a/b, max_tokens: 5}", "did you mean `max_output_tokens`?"},
      {"model: {name: a/b, baseURL: 'http://h'}", "did you mean `base_url`?"},
      {"model: {name: a/b, api_base: 'http://h'}", "did you mean `base_url`?"},
      {"parameters: {p: {options: [a]}}", "did you mean `enum`?"},
      {"retry: {max_retries: 3}", "did you mean `max_attempts`?"},
  }));
  INFO(row.text);
  const auto report = parse(k_head + row.text);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].help == row.help);
}

TEST_CASE("load: keys of later versions are refused, never ignored", "[config]") {
  const std::string key = "agents";
  const auto report = parse(k_head + key + ": {a: 1}\n");
  CHECK(lines_of(report.errors) == Lines{"3:1 `" + key + "` is not supported yet"});
}

TEST_CASE("load: checks as a list, and with what is protected", "[config]") {
  const auto list = parse(k_head + "checks: [make test, {run: ls, name: files, timeout: 5s}]\n");
  REQUIRE(list.errors.empty());
  const agent::ChecksSpec& checks = list.agent->checks;
  REQUIRE(checks.commands.size() == 2);
  CHECK(checks.commands[0].name == "make test");
  CHECK(checks.commands[0].run == "make test");
  CHECK(checks.commands[0].timeout == std::chrono::minutes(5));
  CHECK(checks.commands[1].name == "files");
  CHECK(checks.commands[1].timeout == std::chrono::seconds(5));
  CHECK(checks.protect.empty());
  CHECK(checks.attempts == 3);
  const auto map = parse(k_head + "checks: {run: [make], protect: [tests]}\nattempts: 1\n");
  REQUIRE(map.errors.empty());
  CHECK(map.agent->checks.commands.size() == 1);
  CHECK(map.agent->checks.protect == std::vector<std::string>{"tests"});
  CHECK(map.agent->checks.attempts == 1);
}

TEST_CASE("load: how often an answer may be corrected", "[config]") {
  const auto attempts = [](const std::string& more) {
    return parse(k_head + "output: {schema: {type: object}" + more + "}\n")
        .agent->output.repair_attempts;
  };
  CHECK(attempts("") == 3);
  CHECK(attempts(", repair_attempts: 0") == 0);
  CHECK(attempts(", repair_attempts: 7") == 7);
}

TEST_CASE("load: MCP servers, also as they are pasted", "[config]") {
  const auto key = GENERATE(as<std::string>{}, "mcp_servers", "mcpServers");
  const auto report = parse(k_head + key +
                            ": {docs: {command: npx, args: [-y, docs, 7], env: {A: b}, tools: "
                            "['get_*', '!get_x'], required: false, resources: false, load: search, "
                            "timeouts: {start: 1m}}, "
                            "files: {type: stdio, command: ./f, sandbox: {network: allow}}}\n");
  REQUIRE(report.errors.empty());
  const auto& servers = report.agent->mcp_servers;
  REQUIRE(servers.size() == 2);
  CHECK(servers[0].name == "docs");
  CHECK(servers[0].command == Lines{"npx", "-y", "docs", "7"});
  CHECK(servers[0].env.at("A") == "b");
  CHECK(servers[0].tools == Lines{"get_*", "!get_x"});
  CHECK_FALSE(servers[0].is_required);
  CHECK_FALSE(servers[0].offers_resources);
  CHECK(servers[1].offers_resources);
  CHECK(servers[0].start == std::chrono::minutes(1));
  CHECK(servers[0].sandbox.is_off);
  CHECK_FALSE(servers[1].sandbox.is_off);
  CHECK(servers[1].sandbox.network == true);
  CHECK(servers[1].is_required);
  CHECK(servers[0].load == agent::McpServerSpec::Load::search);
  CHECK(servers[1].load == agent::McpServerSpec::Load::automatic);
}

TEST_CASE("load: MCP servers with mistakes in them", "[config]") {
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {command: x, url: 'https://h'}}").errors) ==
        Lines{"3:15 the MCP server `a` has both `command` and `url`"});
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {required: true}}").errors) ==
        Lines{"3:15 the MCP server `a` has neither `command` nor `url`"});
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {url: 'https://u:p@h/x'}}").errors) ==
        Lines{"3:24 an address holds no user name and no password"});
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {url: 'https://h', type: stdio}}").errors) ==
        Lines{"3:43 a server with `url` is not of the type `stdio`"});
  CHECK(
      lines_of(
          parse(k_head + "mcp_servers: {a: {url: 'https://h', headers: {mCp-Name: x}}}").errors) ==
      Lines{"3:47 the header `mCp-Name` cannot be set: it is the protocol's"});
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {args: [x]}}").errors).size() == 1);
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {command: x, load: some}}").errors).size() == 1);
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {command: x, sandbox: yes}}").errors).size() ==
        1);
  CHECK(lines_of(parse(k_head + "mcp_servers: {a: {command: x}}\nmcpServers: {}").errors) ==
        Lines{"4:1 the MCP servers are given twice: as `mcpServers` and as `mcp_servers`"});
}

TEST_CASE("load: another version is the only thing that is reported", "[config]") {
  const auto report = parse("version: 2\nname: B\nnew_key: 1\n");
  CHECK(lines_of(report.errors) == Lines{"1:10 version 2 of the agent file is not supported"});
  CHECK(report.errors[0].help == "this program reads version 1 alone: write `version: 1`");
  CHECK(lines_of(parse("version: '1'\nname: a").errors) ==
        Lines{"1:10 `version` must be a whole number, not text"});
}

TEST_CASE("load: a wrong schema is marked inside the file", "[config]") {
  const auto report = parse(k_head + R"(tools:
  - name: t
    description: d
    command: [x]
    parameters:
      type: object
      properties:
        a: {type: strin}
)");
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].where->line == 10);
  CHECK(marked(report.errors[0]) == "strin");
}

TEST_CASE("load: a duplicate tool has a code of its own", "[config]") {
  const auto report = parse(k_head + "tools: [grep, grep]");
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].code == agent::Code::registry_duplicate);
  CHECK(report.errors[0].help == "it first appears in line 3; keep one");
}

TEST_CASE("load: aliases stand for their values, and are bounded", "[config]") {
  const auto report =
      parse(k_head + "x-wait: &wait 5s\nlimits: {timeout: *wait}\nretry: {max_delay: *wait}\n");
  REQUIRE(report.agent);
  CHECK(report.agent->limits.timeout == 5s);
  CHECK(report.agent->retry.max_delay == 5s);
}

TEST_CASE("load: a wrong aliased value is reported once, where it stands", "[config]") {
  const auto report =
      parse(k_head + "x-a: &a 10\nmodel: {name: a/b, timeouts: {idle: *a, connect: *a}}\n");
  REQUIRE(report.errors.size() == 2);
  CHECK(line_of(report.errors[0]) == "3:9 `model.timeouts.idle` needs a unit");
}

TEST_CASE("load: variables expand in texts, once", "[config]") {
  const agent::Environment environment{
      {"A", "{{ target }} ${env:B}"}, {"B", "b"}, {"EMPTY", ""}, {"OPEN", "{"}};
  const auto spec = [&](const std::string& text) {
    const auto report = parse(k_head + text, environment);
    INFO((report.errors.empty() ? "" : line_of(report.errors[0])));
    REQUIRE(report.agent);
    return *report.agent;
  };
  CHECK(spec("description: '${env:B}-${env:B}'").description == "b-b");
  CHECK(spec("description: ${env:A}").description == "{{ target }} ${env:B}");
  CHECK(spec("description: ${env:NOPE:-x y}").description == "x y");
  CHECK(spec("description: 'x${env:EMPTY:-d}${env:EMPTY}'").description == "xd");
  CHECK(spec("description: $${env:B} ${B} $B").description == "${env:B} ${B} $B");
  CHECK(spec("limits: {max_turns: '${env:NOPE:-7}'}").limits.max_turns == 7);
  CHECK(spec("x-free: ${env:NOPE}").name == "a");
  CHECK(spec("tools: [{name: t, description: d, command: [echo, '${env:B}']}]").tools[0].command ==
        Lines{"echo", "b"});
}

TEST_CASE("load: a key in the file is refused, and starred out of the excerpt", "[config]") {
  struct Row {
    std::string text;
    std::string line;
  };
  const auto row = GENERATE(values<Row>({
      {"model: {name: a/b, headers: {X-K: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123}}",
       "3:35 this looks like a secret key"},
      {"instructions: |\n  use ghp_0123456789abcdefghijABCDEFGHIJ012345 for that",
       "4:7 this looks like a secret key"},
      {"# sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123", "3:3 this looks like a secret key"},
      {"model: {name: a/b, headers: {X-Auth: Bearer 0123456789abcdefghij}}",
       "3:45 this looks like a secret key"},
      {"model: {name: a/b, headers: {api-key: 0123456789abcdef}}",
       "3:39 this looks like a secret key"},
      {"x-note: -----BEGIN RSA PRIVATE KEY-----", "3:9 this looks like a secret key"},
  }));
  INFO(row.text);
  const auto report = parse(k_head + row.text + "\n");
  REQUIRE(lines_of(report.errors) == Lines{row.line});
  CHECK(marked(report.errors[0]).find_first_not_of('*') == std::string::npos);
  CHECK(report.errors[0].help.find("api_key_env") != std::string::npos);
}

TEST_CASE("load: what names a value in other programs' files is no key", "[config]") {
  const auto report = parse(k_head +
                            "mcp_servers: {s: {command: /bin/s, env: {API_TOKEN: '${API_TOKEN}'}},"
                            " t: {url: 'https://a.b', headers: {Authorization: 'Bearer "
                            "${input:token}'}},"
                            " u: {command: /bin/s, env: {API_TOKEN: '${TOKEN:-0123456789abcdef}'}}}"
                            "\n");
  CHECK(lines_of(report.errors) ==
        Lines{"3:53 `${API_TOKEN}` would be sent as it stands",
              "3:120 `${input:token}` would be sent as it stands",
              "3:185 this looks like a secret key",
              "3:185 `${TOKEN:-0123456789abcdef}` would be sent as it stands"});
}

TEST_CASE("load: the syntax of a file does not show its keys either", "[config]") {
  const auto report = parse("a: b: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123\n");
  REQUIRE(report.errors.size() == 2);
  for (const agent::Error& error : report.errors) {
    CHECK(error.where->excerpt.find("abcdefghijkl") == std::string::npos);
  }
}

TEST_CASE("load: `api_key` is answered with the way to do it", "[config]") {
  const auto report = parse(k_head + "model:\n  name: a/b\n  apiKey: 0123456789\n");
  CHECK(lines_of(report.errors) ==
        Lines{"5:3 an API key does not belong in the file: unknown key `apiKey`",
              "5:11 this looks like a secret key"});
  CHECK(report.errors[0].help.find("api_key_env") != std::string::npos);
  CHECK(report.errors[0].where->excerpt == "  apiKey: **********");
}

TEST_CASE("load: a header may take its key from the environment", "[config]") {
  const auto report =
      parse(k_head + "model: {name: a/b, headers: {Authorization: 'Bearer ${env:DOCS_TOKEN}'}}\n",
            {{"DOCS_TOKEN", "0123456789abcdef0123"}});
  REQUIRE(lines_of(report.errors) == Lines{});
  CHECK(report.agent->model.headers[0].second == "Bearer 0123456789abcdef0123");
}

TEST_CASE("markdown: the front matter holds the keys, the text the instructions", "[config]") {
  const auto report = parse(
      "---\r\nversion: 1\r\nname: a\r\n---\r\n\r\n# You\r\n\r\nare careful.\r\n\r\n", {}, true);
  REQUIRE(lines_of(report.errors) == Lines{});
  CHECK(report.agent->instructions == "# You\n\nare careful.");
}

TEST_CASE("markdown: mistakes stand at their place in the whole file", "[config]") {
  struct Row {
    std::string text;
    std::string line;
  };
  const auto row = GENERATE(values<Row>({
      {"---\nversion: 1\nname: A\n---\nx",
       "3:7 `name` must be at most 64 lower-case letters, "
       "digits, `-` and `_`, and begin with a letter or digit"},
      {"---\nversion: 1\nname: a\n---\n\nx\n  é {{ y }}\n",
       "7:5 the template names `y`, which is not a parameter"},
      {"---\nversion: 1\nname: a\n---\n${env:NOPE}",
       "5:1 the environment variable `NOPE` is not set"},
      {"---\nversion: 1\nname: a\ninstructions: x\n---\ny",
       "4:1 the instructions are given twice: here and as the text of the file"},
      {"# Title\n", "1:1 the front matter is missing"},
      {"---\nversion: 1\n", "1:1 the front matter is not closed"},
      {"---\nversion: 1\nname: [\n---\nx", "3:7 a `[` is not closed"},
      {"---\n---\nx", "2:1 the file is empty"},
      {"", "1:1 the front matter is missing"},
  }));
  INFO(row.text);
  CHECK(lines_of(parse(row.text, {}, true).errors) == Lines{row.line});
}

TEST_CASE("markdown: a rule in the text ends nothing", "[config]") {
  const auto report = parse("---\nversion: 1\nname: a\n---\none\n\n---\n\ntwo\n", {}, true);
  REQUIRE(report.agent);
  CHECK(report.agent->instructions == "one\n\n---\n\ntwo");
}

TEST_CASE("markdown: a file is Markdown by its name", "[config]") {
  const Folder folder;
  const auto file = folder.write("agent.md", "---\nversion: 1\nname: a\n---\nBe kind.\n");
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.agent);
  CHECK(report.agent->instructions == "Be kind.");
}

TEST_CASE("load: a fallback in its short form and in its long one", "[config]") {
  const auto brief = parse(k_head + "model: a/b\nfallback: [c/d, {name: e/f, stream: false}]\n");
  REQUIRE(brief.agent);
  const agent::FallbackSpec& fallback = brief.agent->fallback;
  REQUIRE(fallback.models.size() == 2);
  CHECK(fallback.models[0].name == "c/d");
  CHECK(fallback.models[0].where->line == 4);
  CHECK(fallback.models[1].name == "e/f");
  CHECK_FALSE(fallback.models[1].stream);
  CHECK(fallback.cooldown == 1min);
  CHECK(fallback.on == agent::standard_fallback_reasons());

  const auto full = parse(k_head +
                          "model: {name: a/b, requests_per_minute: 2k, max_in_flight: 3}\n"
                          "fallback:\n"
                          "  models: [c/d]\n"
                          "  cooldown: 0s\n"
                          "  on: [quota, context_overflow]\n");
  REQUIRE(full.agent);
  CHECK(full.agent->model.requests_per_minute == 2'000);
  CHECK(full.agent->model.max_in_flight == 3);
  CHECK(full.agent->fallback.cooldown == 0ms);
  CHECK(full.agent->fallback.on ==
        std::vector{agent::FallbackReason::quota, agent::FallbackReason::context_overflow});
  CHECK(parse(k_head).agent->fallback.models.empty());
}

TEST_CASE("load: a sandbox in its short form and in its long one", "[config]") {
  using Mode = agent::SandboxSpec::Mode;
  const agent::SandboxSpec standard = parse(k_head).agent->sandbox;
  CHECK(standard.mode == Mode::workspace_write);
  CHECK_FALSE(standard.network);
  CHECK(standard.required == Lines{"files", "network"});
  CHECK(parse(k_head + "sandbox: off\n").agent->sandbox.mode == Mode::off);
  CHECK(parse(k_head + "sandbox: {mode: off, x-why: trusted}\n").agent->sandbox.mode == Mode::off);

  const auto full = parse(k_head +
                          "sandbox:\n"
                          "  mode: read_only\n"
                          "  network: allow\n"
                          "  read: [~/.npmrc]\n"
                          "  write: [/var/tmp, out]\n"
                          "  memory: 2G\n"
                          "  processes: 200\n"
                          "  cpu_time: 5m\n"
                          "  required: []\n");
  REQUIRE(full.agent);
  const agent::SandboxSpec& sandbox = full.agent->sandbox;
  CHECK(sandbox.mode == Mode::read_only);
  CHECK(sandbox.network);
  CHECK(sandbox.read == Lines{"~/.npmrc"});
  CHECK(sandbox.write == Lines{"/var/tmp", "out"});
  CHECK(sandbox.memory == 2'000'000'000);
  CHECK(sandbox.processes == 200);
  CHECK(sandbox.cpu_time == 5min);
  CHECK(sandbox.required.empty());

  const auto hosts = parse(k_head + "sandbox: {allow_hosts: [a.b, '*.c.d:8080', '[::1]:80']}");
  REQUIRE(hosts.agent);
  CHECK(hosts.agent->sandbox.allow_hosts == Lines{"a.b", "*.c.d:8080", "[::1]:80"});
  CHECK_FALSE(hosts.agent->sandbox.network);
}

TEST_CASE("load: mistakes in a sandbox are marked where they stand", "[config]") {
  CHECK(lines_of(parse(k_head + "sandbox: {mode: off, network: deny}").errors) ==
        Lines{"3:22 `sandbox.network` does nothing where the sandbox is off"});
  CHECK(lines_of(parse(k_head + "sandbox: {network: allow, allow_hosts: [a.b]}").errors) ==
        Lines{"3:27 `sandbox.allow_hosts` does nothing where `sandbox.network` allows all hosts"});
  CHECK(parse(k_head + "sandbox: {allow_hosts: ['a*.b']}").errors.size() == 1);
  CHECK(parse(k_head + "sandbox: {allow_hosts: []}").errors.size() == 1);
  CHECK(parse(k_head + "sandbox: strict").errors.size() == 1);
  CHECK(parse(k_head + "sandbox: {required: [walls]}").errors.size() == 1);
  CHECK(parse(k_head + "sandbox: {memory: 0}").errors.size() == 1);
}

TEST_CASE("load: what is wrong in a fallback is marked where it stands", "[config]") {
  const auto report = parse(k_head +
                            "model: a/b\n"
                            "fallback:\n"
                            "  models: [auto, gpt, {name: a/b}, {name: c/d, tempertaur: 1}]\n"
                            "  on: [unavailble]\n");
  CHECK(lines_of(report.errors) == Lines{"5:12 `fallback.models[]` must be PROVIDER/NAME",
                                         "5:18 `fallback.models[]` must be PROVIDER/NAME",
                                         "5:30 the model `a/b` appears twice in the chain",
                                         "5:48 unknown key `tempertaur` in `fallback.models[]`",
                                         "6:8 `fallback.on[]` cannot be `unavailble`"});
  CHECK(lines_of(parse(k_head + "fallback: [{name: auto}]\n").errors) ==
        Lines{"3:19 a fallback cannot be `auto`"});
  CHECK(lines_of(parse(k_head + "fallback: c/d\n").errors) ==
        Lines{"3:11 `fallback` must be a list or map, not text"});
  CHECK(lines_of(parse(k_head + "fallback: {cooldown: 1m}\n").errors) ==
        Lines{"3:11 `fallback.models` is missing"});
  CHECK(lines_of(parse(k_head + "fallback: []\n").errors) == Lines{"3:11 `fallback` is empty"});
  const auto key = parse(k_head + "fallback: [{name: a/b, headers: {x-api-key: abcdefgh12}}]\n");
  CHECK(lines_of(key.errors) == Lines{"3:45 this looks like a secret key"});
}

TEST_CASE("load: the words of fallback.on are the table's", "[config]") {
  const auto* const key = config::find_key(config::keys(), "fallback.on[]");
  REQUIRE(key != nullptr);
  std::vector<std::string_view> words;
  for (const agent::FallbackRow& row : agent::fallback_table()) {
    words.push_back(row.word);
  }
  CHECK(key->words() == words);
}

TEST_CASE("load: a model's key goes to a tool that names it, with a warning", "[config]") {
  const std::string env =
      GENERATE("[OPENAI_API_KEY]", "{MINE: \"${env:OPENAI_API_KEY}\"}", "[MY_OWN]");
  const auto report = parse(
      "version: 1\nname: a\nmodel: {name: openai/m, api_key_env: MY_OWN}\n"
      "tools: [shell: {env: " +
          env + "}]\n",
      {{"OPENAI_API_KEY", "value-one"}, {"MY_OWN", "value-two"}});
  REQUIRE(lines_of(report.errors) == Lines{});
  REQUIRE(report.warnings.size() == 1);
  CHECK_THAT(line_of(report.warnings[0]), Catch::Contains("the key of a model"));
  CHECK(report.warnings[0].where->line == 4);
  const std::string value = report.agent->tools[0].env.begin()->second;
  CHECK(value == (env == "[MY_OWN]" ? "value-two" : "value-one"));
}
