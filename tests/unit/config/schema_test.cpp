// The JSON Schema and the loader, held against each other in both directions.
#include "agent/schema/json_schema.h"
#include "config/keys.h"
#include "config/yaml/problems.h"
#include "config/yaml/yaml.h"

#include "load_support.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <set>

using namespace config_test;

namespace {

agent::Json as_json(const std::string& text) {
  const auto source = config::Source::create(text, "");
  REQUIRE(source);
  config::Problems problems(*source);
  const auto root = config::parse_yaml(*source, {0, source->text().size()}, {}, problems);
  REQUIRE(root);
  return config::to_json(*root);
}

const agent::JsonSchema& schema() {
  static const auto k_schema = agent::JsonSchema::compile(config::agent_schema());
  INFO((k_schema ? "" : k_schema.error().message));
  REQUIRE(k_schema);
  return *k_schema;
}

bool schema_accepts(const std::string& text) {
  return schema().check(as_json(text)).empty();
}

bool loader_accepts(const std::string& text) {
  return parse(text, {{"PATH", "/bin"}}).errors.empty();
}

// What the examples of a step name.
constexpr std::string_view k_steps_before =
    "{name: plan, agent: x}, {name: docs, run: x}, {name: test, run: x}, {name: fix, run: x}, ";

// An agent in which the value at `path` of the table is `value`, in one line of flow YAML.
std::string agent_with(std::string_view path, const std::string& value) {
  std::string text = value;
  std::string rest(path);
  while (!rest.empty()) {
    if (rest.ends_with("[]")) {
      rest.resize(rest.size() - 2);
      const bool is_step = rest == "steps" && path != "steps[].name" && path != "steps[]";
      text = "[" + std::string(is_step ? k_steps_before : "") + text + "]";
      continue;
    }
    const std::size_t dot = rest.rfind('.');
    std::string name = dot == std::string::npos ? rest : rest.substr(dot + 1);
    rest = dot == std::string::npos ? "" : rest.substr(0, dot);
    std::string beside;
    if (name == "*") {
      const bool is_of_the_web = path.starts_with("tools[].*.allow_hosts");
      name = rest != "tools[]" ? "some_name" : is_of_the_web ? "web_fetch" : "shell";
    } else if (rest == "mcp_servers.*.oauth") {
      const bool has_own = name == "client_secret" || name == "private_key";
      beside += name == "client_id" ? "" : ", client_id: c";
      beside += has_own ? "" : ", client_secret: s";
      beside += name == "issuer" ? "" : ", issuer: 'https://i'";
    } else if (rest == "tools[]") {
      for (const std::string_view required : {"name: t", "description: d", "command: [x]"}) {
        beside += required.starts_with(name + ":") ? "" : ", " + std::string(required);
      }
    } else if (rest == "fallback" && name != "models") {
      beside = ", models: [a/b]";
    } else if (rest == "output" && name != "schema") {
      beside = ", schema: {type: object}";
    } else if (rest == "checks" && name != "run") {
      beside = ", run: [x]";
    } else if (rest == "checks.run[]" && name != "run") {
      beside = ", run: x";
    } else if (rest == "model" && name != "name") {
      beside = ", name: a/b";
    } else if (rest == "model.cost") {
      beside = name == "input"    ? ", output: 2"
               : name == "output" ? ", input: 1"
                                  : ", input: 1, output: 2";
      // A tier changes prices that are there.
      for (const std::string_view rate :
           {"cache_read", "cache_write", "cache_write_1h", "reasoning"}) {
        beside += name == "tiers" ? ", " + std::string(rate) + ": 1" : "";
      }
    } else if (rest == "model.cost.tiers[]") {
      beside = name == "input" ? ", above_input_tokens: 1" : ", input: 1";
      beside += name == "above_input_tokens" || name == "input" ? "" : ", above_input_tokens: 1";
    } else if (rest == "hooks.pre_tool_use[]" || rest == "mcp_servers.*") {
      const bool has_url =
          name == "headers" || name == "oauth" || (name == "type" && value != "stdio");
      beside = name == "command" || name == "url" ? ""
               : has_url                          ? ", url: 'https://h'"
                                                  : ", command: x";
    } else if (rest == "guardrails.tool_result[]") {
      const bool is_kind =
          name == "pattern" || name == "find" || name == "command" || name == "judge";
      beside = is_kind || name == "no_such_key"                          ? ""
               : name == "timeout" || name == "sandbox" || name == "env" ? ", command: x"
               : name == "model"                                         ? ", judge: x"
                                                                         : ", find: pii";
    } else if (rest == "steps[]") {
      const bool is_agents = name == "prompt" || name == "parameters";
      beside = name == "name" ? "" : ", name: last";
      beside += name == "agent" || name == "run" ? "" : is_agents ? ", agent: x" : ", run: x";
      beside += is_agents || name == "max_parallel" ? ", for_each: plan.output.files" : "";
    } else if (rest == "steps[].repeat") {
      beside = name == "with" ? ", max: 1" : ", with: fix";
    } else if (name == "flow") {
      beside =
          ", version: 1, name: a, steps: [" + std::string(k_steps_before) + "{name: note, run: x}]";
      beside.replace(beside.find("{name: test, run: x}, "), 22, "");
    } else if (rest == "retry" && name == "initial_delay") {
      beside = ", max_delay: 9d";
    } else if (rest.empty()) {
      beside = name == "version" ? ", name: a"
               : name == "name"  ? ", version: 1"
                                 : ", version: 1, name: a";
    }
    text = "{" + name + ": " + text + beside + "}";
  }
  return text;
}

bool is_available(const config::Key& key) {
  return key.status == config::Status::available;
}

// The forms that a type has, and what is none of them.
struct Forms {
  std::vector<std::string> valid;
  std::vector<std::string> invalid;
};

Forms forms_of(const config::Key& key) {
  using config::Type;
  Forms forms{{std::string(key.example)}, {"~"}};
  const auto add_invalid = [&](std::initializer_list<std::string> values) {
    forms.invalid.insert(forms.invalid.end(), values);
  };
  const std::string words(key.choices.substr(0, key.choices.find('|')));
  switch (key.type) {
    case Type::text:
      add_invalid({"5", "true", "[x]", "{a: b}"});
      break;
    case Type::integer:
      add_invalid({"x", "1.5", "-1", "101", "true", "[1]"});
      break;
    case Type::number:
      forms.valid.insert(forms.valid.end(), {"0", "2", "1.5"});
      add_invalid({"x", "-0.1", "2.1", "true", "[1]"});
      break;
    case Type::boolean:
      forms.valid.insert(forms.valid.end(), {"true", "false"});
      add_invalid({"yes", "0", "'true'", "[true]"});
      break;
    case Type::boolean_or_map:
      forms.valid.insert(forms.valid.end(), {"true", "false"});
      add_invalid({"yes", "0", "'true'", "[true]"});
      break;
    case Type::count:
      forms.valid.insert(forms.valid.end(), {"2", "500k", "2K", "1G", "1.5M", "'20'"});
      if (!words.empty()) {
        forms.valid.push_back(words);
      }
      add_invalid({"0", "-1", "1.5", "1.5x", "many", "true", "[1]", "'0'"});
      break;
    case Type::money:
      forms.valid.insert(forms.valid.end(), {"1", "0.25", "1e-3", "'1.50'", ".5"});
      (key.may_be_zero ? forms.valid : forms.invalid).push_back("0");
      add_invalid({"-1", "$1", "'1,5'", "''", "free", "true", "[1]"});
      break;
    case Type::duration:
      forms.valid.insert(forms.valid.end(), {"1ms", "10s", "2m", "1d", "1h30m", "1.5s"});
      add_invalid({"10", "'10'", "10 s", "fast", "''", "1m1h", "1s1s", "-1s", "true", "[1s]", "s"});
      if (!key.may_be_zero) {
        forms.invalid.push_back("0s");
      } else {
        forms.valid.push_back("0s");
      }
      break;
    case Type::choice:
      for (const std::string_view word : key.words()) {
        forms.valid.emplace_back(word);
      }
      add_invalid({"nothing_of_the_kind", "5", "true", "[x]"});
      break;
    case Type::scalar:
      forms.valid.insert(forms.valid.end(), {"text", "'5'"});
      add_invalid({"[x]", "{a: b}"});
      break;
    case Type::texts:
      forms.valid.insert(forms.valid.end(), {"x", "[x, y]"});
      add_invalid({"5", "true", "{a: b}", "[[x]]"});
      break;
    case Type::map_or_path:
      add_invalid({"5", "true", "[x]", "''"});
      break;
    case Type::list:
      add_invalid({"x", "5", "{a: b}"});
      break;
    case Type::map:
      add_invalid({"x", "5", "[x]"});
      break;
    case Type::text_or_map:
      add_invalid({"5", "[x]", "true"});
      break;
    case Type::list_or_map:
      add_invalid({"x", "5", "true"});
      break;
    case Type::json_schema:
      add_invalid({"x", "{type: array}", "{}", "[x]"});
      break;
    case Type::anything_map:
    case Type::anything:
      break;
  }
  return forms;
}

}  // namespace

TEST_CASE("schema: loader and schema accept every form of every key", "[config]") {
  for (const config::Key& key : config::keys()) {
    if (!is_available(key) || key.path == "context" || key.path == "context[]") {
      continue;  // the loader also wants the files to exist
    }
    for (const std::string& value : forms_of(key).valid) {
      if (key.path == "parameters.*.default" && value == "5") {
        continue;
      }
      const std::string text = agent_with(key.path, value);
      INFO(text);
      const auto report = parse(text, {{"PATH", "/bin"}});
      INFO((report.errors.empty() ? "" : line_of(report.errors[0])));
      CHECK(report.errors.empty());
      CHECK(schema_accepts(text));
    }
  }
}

TEST_CASE("schema: loader and schema refuse every wrong value of every key", "[config]") {
  for (const config::Key& key : config::keys()) {
    if (!is_available(key)) {
      continue;
    }
    for (const std::string& value : forms_of(key).invalid) {
      const std::string text = agent_with(key.path, value);
      INFO(text);
      CHECK_FALSE(loader_accepts(text));
      CHECK_FALSE(schema_accepts(text));
    }
  }
}

TEST_CASE("schema: loader and schema refuse unknown and later keys in every map", "[config]") {
  std::set<std::string> maps;
  for (const config::Key& key : config::keys()) {
    const std::size_t dot = key.path.rfind('.');
    const std::string map(dot == std::string_view::npos ? "" : key.path.substr(0, dot));
    if (map != "parameters" && map != "steps[].parameters" && map != "model.headers" &&
        !map.ends_with(".env")) {  // free names
      maps.insert(map.empty() ? "no_such_key" : map + ".no_such_key");
    }
    if (!is_available(key)) {
      maps.emplace(key.path);
    }
  }
  CHECK(maps.size() > 20);
  for (const std::string& path : maps) {
    const std::string text = agent_with(path, "5");
    INFO(text);
    CHECK_FALSE(loader_accepts(text));
    CHECK_FALSE(schema_accepts(text));
  }
}

TEST_CASE("schema: loader and schema refuse wrong shapes", "[config]") {
  struct Row {
    std::string path;
    std::string value;
  };
  const auto row = GENERATE(values<Row>({
      {"name", "Big"},
      {"name", "''"},
      {"name", std::string(65, 'a')},
      {"version", "2"},
      {"model", "gpt-5"},
      {"model", "'a b/c'"},
      {"model", "a/"},
      {"model.name", "gpt"},
      {"model.base_url", "localhost"},
      {"model.base_url", "'http://'"},
      {"model.api_key_env", "sk-1"},
      {"model.headers", "{a b: c}"},
      {"model.reasoning", "High"},
      {"parameters", "{1a: {}}"},
      {"context[]", "''"},
      {"tools[]", "a b"},
      {"tools[].name", "a/b"},
      {"tools[].description", "''"},
      {"tools[].command", "[]"},
      {"session.store", "' '"},
      {"limits.max_repeat_calls", "1"},
  }));
  const std::string text = agent_with(row.path, row.value);
  INFO(text);
  CHECK_FALSE(loader_accepts(text));
  CHECK_FALSE(schema_accepts(text));
}

TEST_CASE("schema: x- keys are free in every map but headers", "[config]") {
  const auto path = GENERATE(as<std::string>{},
                             "x-a",
                             "limits.x-a",
                             "model.x-a",
                             "parameters.x-a",
                             "parameters.*.x-a",
                             "tools[].x-a",
                             "retry.x-a");
  const std::string text = agent_with(path, "[1, {b: c}]");
  INFO(text);
  CHECK(loader_accepts(text));
  CHECK(schema_accepts(text));
}

TEST_CASE("schema: a reference to the environment may stand for a text", "[config]") {
  const auto row = GENERATE(table<std::string, std::string>({{"model", "a/b"},
                                                             {"model.base_url", "http://h"},
                                                             {"limits.timeout", "10s"},
                                                             {"limits.max_turns", "12"},
                                                             {"retry.max_delay", "1m"},
                                                             {"model.reasoning", "low"},
                                                             {"tools[].name", "t"}}));
  const std::string text = agent_with(std::get<0>(row), "'${env:NOPE:-" + std::get<1>(row) + "}'");
  INFO(text);
  CHECK(loader_accepts(text));
  CHECK(schema_accepts(text));
}

// What only the loader can see. Whoever adds a check that a schema cannot express adds it here.
TEST_CASE("schema: the exceptions, which the loader alone refuses", "[config]") {
  const auto text = GENERATE(
      as<std::string>{},
      "{version: 1, name: a, model: '${env:NOPE}'}",                           // environment
      "{version: 1, name: a, tools: [no_such_tool]}",                          // built-ins
      "{version: 1, name: a, tools: [shell, shell]}",                          // duplicates
      "{version: 1, name: a, tools: [{name: {timeout: 2m}}]}",                 // tools
      "{version: 1, name: a, model: {name: a/b, protocol: no_such}}",          // protocols
      "{version: 1, name: a, model: {name: auto, base_url: 'http://h'}}",      // cross-field
      "{version: 1, name: a, parameters: {p: {required: true, default: x}}}",  // cross-field
      "{version: 1, name: a, parameters: {p: {type: integer, default: x}}}",   // cross-field
      "{version: 1, name: a, parameters: {p: {enum: [a], default: b}}}",       // cross-field
      "{version: 1, name: a, retry: {initial_delay: 2m, max_delay: 1m}}",      // cross-field
      "{version: 1, name: a, fallback: [{name: auto}]}",                       // cross-field
      "{version: 1, name: a, fallback: [a/b, {name: a/b}]}",                   // duplicates
      "{version: 1, name: a, model: a/b, fallback: {models: [a/b]}}",          // duplicates
      "{version: 1, name: a, prompt: '{{ nope }}'}",                           // templates
      "{version: 1, name: a, context: [missing.md]}",                          // files
      "{version: 1, name: a, limits: {max_repeat_calls: '1'}}",                // numbers in text
      "{version: 1, name: a, limits: {max_turns: '1.55'}}",                    // numbers in text
      "{version: 1, name: a, x-b: sk-ant-api03-0123456789abcdefghijklmnop}");  // secrets
  INFO(text);
  CHECK_FALSE(loader_accepts(text));
  CHECK(schema_accepts(text));
}

TEST_CASE("schema: every key is described, with an example that it accepts", "[config]") {
  for (const config::Key& key : config::keys()) {
    INFO(key.path);
    CHECK(key.help.size() > 10);
    CHECK(key.help.ends_with('.'));
    CHECK((key.example.empty() == !is_available(key)));
    const std::size_t dot = key.path.rfind('.');
    if (dot != std::string_view::npos) {
      const auto parent = key.path.substr(0, dot);
      CHECK(std::ranges::any_of(config::keys(),
                                [&](const config::Key& row) { return row.path == parent; }));
    }
  }
}

TEST_CASE("schema: keys carry description, default and examples", "[config]") {
  const agent::Json schema_json = config::agent_schema();
  CHECK(schema_json.at("$schema") == "http://json-schema.org/draft-07/schema#");
  CHECK(schema_json.at("required") == agent::Json{"version", "name"});
  CHECK(schema_json.at("additionalProperties") == false);
  const agent::Json& retry = schema_json.at("properties").at("retry").at("properties");
  CHECK(retry.at("max_attempts").at("default") == 4);
  CHECK(retry.at("max_attempts").at("maximum") == 100);
  CHECK(retry.at("max_delay").at("examples") == agent::Json{"1m"});
  CHECK_FALSE(schema_json.at("properties").contains("agents"));
  CHECK(schema_json.at("properties").contains("sub_agents"));
}
