#include "providers/registry.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using agent::Code;
using agent::Environment;
using agent::ModelSpec;
using providers::resolve;
using providers::Resolved;

const Environment k_keys{{"ANTHROPIC_API_KEY", "sk-ant-1"}, {"OPENAI_API_KEY", "sk-oai-1"}};

ModelSpec named(std::string name) {
  return {.name = std::move(name)};
}

ModelSpec at(std::string name, std::string protocol, std::string base_url) {
  return {
      .name = std::move(name), .protocol = std::move(protocol), .base_url = std::move(base_url)};
}

Resolved must(const agent::Result<Resolved>& result) {
  INFO((result ? std::string{} : result.error().message));
  REQUIRE(result);
  return *result;
}

agent::Error must_fail(const agent::Result<Resolved>& result) {
  REQUIRE_FALSE(result);
  return result.error();
}

bool contains(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

// Time stands still and waits are over at once.
class FakeClock final : public agent::Clock {
 public:
  Steady now() const override { return {}; }
  Wall wall() const override { return {}; }
  bool sleep_for(std::chrono::milliseconds, std::stop_token) override { return true; }
};

struct SentRequest {
  std::string url;
  agent::Headers headers;
  std::string body;
};

class FakeHttp final : public agent::Http {
 public:
  agent::Result<agent::HttpResponse> send(const agent::HttpRequest& request,
                                          const agent::OnData& on_data,
                                          std::stop_token) override {
    sent.push_back({request.url, request.headers, std::string(request.body)});
    if (answers.empty()) {
      return agent::fail(Code::internal, "one request too many");
    }
    auto answer = std::move(answers.front());
    answers.pop_front();
    if (answer.status / 100 == 2 && on_data) {
      on_data(std::exchange(answer.body, {}));
    }
    return answer;
  }
  std::deque<agent::HttpResponse> answers;
  std::vector<SentRequest> sent;
};

agent::Result<std::unique_ptr<agent::Provider>> make(const ModelSpec& spec,
                                                     agent::Http& http,
                                                     agent::Clock& clock,
                                                     const Environment& environment = k_keys) {
  const auto load = [](const std::string& path) -> agent::Result<agent::ReplayScript> {
    if (path != "demo/hello.replay.yaml") {
      return agent::fail(Code::config_invalid, "no such script: " + path);
    }
    return agent::ReplayScript{.file = path, .steps = {{.reply = {.text = "hello"}}}};
  };
  static providers::ModelStates k_models;
  return providers::make({.resolved = must(resolve(spec, environment)), .spec = spec},
                         {},
                         {.http = http, .clock = clock, .models = k_models, .load_script = load});
}

agent::Result<agent::Reply> ask(agent::Provider& provider,
                                std::vector<std::string>* types = nullptr) {
  const agent::Conversation conversation{.messages = {agent::UserMessage{"hi"}}};
  return provider.complete({.conversation = conversation},
                           [&](const agent::EventBody& event) {
                             if (types != nullptr) {
                               types->emplace_back(agent::type_name(event));
                             }
                           },
                           {});
}

}  // namespace

TEST_CASE("registry: a preset gives protocol, address and key", "[providers]") {
  const auto resolved = must(resolve(named("anthropic/claude-sonnet-4-5"), k_keys));
  CHECK(resolved.provider == "anthropic");
  CHECK(resolved.model == "claude-sonnet-4-5");
  CHECK(resolved.protocol == "anthropic_messages");
  CHECK(resolved.base_url == "https://api.anthropic.com");
  CHECK(resolved.api_key_env == "ANTHROPIC_API_KEY");
  CHECK(resolved.api_key == "sk-ant-1");
  CHECK_FALSE(resolved.picked);
}

TEST_CASE("registry: only the first slash splits the name", "[providers]") {
  CHECK(must(resolve(named("ollama/hf.co/org/model:q4"), {})).model == "hf.co/org/model:q4");
}

TEST_CASE("registry: ollama needs no key", "[providers]") {
  const auto resolved = must(resolve(named("ollama/llama3"), {}));
  CHECK(resolved.protocol == "ollama");
  CHECK(resolved.base_url == "http://127.0.0.1:11434");
  CHECK(resolved.api_key_env.empty());
  CHECK(resolved.api_key.empty());
}

TEST_CASE("registry: nothing is paid for servers of one's own, and for scripts", "[providers]") {
  const auto is_free = [](const ModelSpec& spec) {
    return providers::is_free(must(resolve(spec, k_keys)));
  };
  for (const char* name :
       {"ollama/m", "vllm/m", "llamacpp/m", "lmstudio/m", "replay/script.yaml"}) {
    INFO(name);
    CHECK(is_free(named(name)));
  }
  CHECK(is_free({.name = "vllm/m", .base_url = "http://gpu.example.com:8000/v1"}));
  CHECK_FALSE(is_free(named("openai/m")));
  CHECK_FALSE(is_free(at("ollama/m", "openai_chat", "https://api.example.com/v1")));  // a label
  CHECK_FALSE(is_free(at("replay/m", "openai_chat", "https://api.example.com/v1")));
}

TEST_CASE("registry: OLLAMA_HOST in all its forms", "[providers]") {
  const auto [value, wanted] = GENERATE(table<std::string, std::string>({
      {"", "http://127.0.0.1:11434"},
      {"  ", "http://127.0.0.1:11434"},
      {"box", "http://box:11434"},
      {"box:8080", "http://box:8080"},
      {":8080", "http://127.0.0.1:8080"},
      {"0.0.0.0", "http://127.0.0.1:11434"},
      {"0.0.0.0:9", "http://127.0.0.1:9"},
      {"[::]:9", "http://127.0.0.1:9"},
      {"[::1]", "http://[::1]:11434"},
      {"[::1]:9", "http://[::1]:9"},
      {"http://box", "http://box"},
      {"https://box/", "https://box"},
      {"https://box:8443/ollama/", "https://box:8443/ollama"},
  }));
  CAPTURE(value);
  CHECK(must(resolve(named("ollama/m"), {{"OLLAMA_HOST", value}})).base_url == wanted);
}

TEST_CASE("registry: an OLLAMA_HOST that is no address is named", "[providers]") {
  const auto error = must_fail(resolve(named("ollama/m"), {{"OLLAMA_HOST", "ftp://box"}}));
  CHECK(error.code == Code::config_invalid);
  CHECK(contains(error.message, "OLLAMA_HOST"));
}

TEST_CASE("registry: where protocol and base_url are given, the provider is a label only",
          "[providers]") {
  const auto [name, provider, model] = GENERATE(table<std::string, std::string, std::string>({
      {"corp/model-x", "corp", "model-x"},
      {"model-x", "custom", "model-x"},
      {"a/b/c", "a", "b/c"},
      {"/b", "custom", "b"},
      {"openai/gpt", "openai", "gpt"},
      {"replay/x", "replay", "x"},
      {"auto", "custom", "auto"},
  }));
  CAPTURE(name);
  const auto resolved = must(resolve(at(name, "openai_chat", "http://127.0.0.1:8000/v1/"), k_keys));
  CHECK(resolved.provider == provider);
  CHECK(resolved.model == model);
  CHECK(resolved.base_url == "http://127.0.0.1:8000/v1");
  CHECK(resolved.api_key.empty());
  CHECK(resolved.api_key_env.empty());
}

TEST_CASE("registry: a base_url of one's own gets a key only where one is named", "[providers]") {
  auto spec = at("openai/gpt-5", "", "https://gateway.example/v1");
  CHECK(must(resolve(spec, k_keys)).api_key.empty());
  spec.api_key_env = "OPENAI_API_KEY";
  CHECK(must_fail(resolve(spec, k_keys)).code == Code::config_invalid);
  providers::KeyHosts hosts(k_keys);
  hosts.allow("OPENAI_API_KEY", {.text = "https://gateway.example"});
  CHECK(must(resolve(spec, k_keys, providers::strict_check(hosts))).api_key == "sk-oai-1");
}

TEST_CASE("registry: the preset's own address written out is still the preset", "[providers]") {
  const auto spec = at("openai/gpt-5", "", "https://api.openai.com/v1/");
  CHECK(must(resolve(spec, k_keys)).api_key == "sk-oai-1");
}

TEST_CASE("registry: the environment's base URL counts where the file gives none", "[providers]") {
  auto environment = k_keys;
  environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9/";
  environment["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1";
  CHECK(must(resolve(named("anthropic/c"), environment)).base_url == "http://127.0.0.1:9");
  CHECK(must(resolve(named("anthropic/c"), environment)).api_key == "sk-ant-1");
  CHECK(must(resolve(named("openai/c"), environment)).base_url == "http://127.0.0.1:9/v1");
  const auto spec = at("openai/c", "", "https://other.example");
  CHECK(must(resolve(spec, environment)).base_url == "https://other.example");
}

TEST_CASE("registry: a key that is unset, empty or broken is an error that names the variable",
          "[providers]") {
  const auto [environment, what] = GENERATE(table<Environment, std::string>({
      {Environment{}, "ANTHROPIC_API_KEY is not set"},
      {Environment{{"ANTHROPIC_API_KEY", ""}}, "ANTHROPIC_API_KEY is empty"},
      {Environment{{"ANTHROPIC_API_KEY", " \n"}}, "ANTHROPIC_API_KEY is empty"},
      {Environment{{"ANTHROPIC_API_KEY", "a\nb"}}, "ANTHROPIC_API_KEY contains characters"},
      {Environment{{"ANTHROPIC_API_KEY", "schl\xC3\xBCssel"}},
       "ANTHROPIC_API_KEY contains characters"},
  }));
  const auto error = must_fail(resolve(named("anthropic/claude"), environment));
  CHECK(error.code == Code::provider_auth);
  CHECK(contains(error.message, what));
  CHECK(contains(error.help, "export ANTHROPIC_API_KEY="));
}

TEST_CASE("registry: a key's surrounding white space is not part of it", "[providers]") {
  const Environment environment{{"ANTHROPIC_API_KEY", " sk-ant-2\r\n"}};
  CHECK(must(resolve(named("anthropic/c"), environment)).api_key == "sk-ant-2");
}

TEST_CASE("registry: the variable that the file names wins over the preset's", "[providers]") {
  auto spec = named("openai/gpt-5");
  spec.api_key_env = "MY_KEY";
  CHECK(contains(must_fail(resolve(spec, k_keys)).message, "MY_KEY is not set"));
  CHECK(must(resolve(spec, {{"MY_KEY", "k"}})).api_key == "k");
}

TEST_CASE("registry: auto picks the first provider that has a key, and says why", "[providers]") {
  const auto both = must(resolve(named("auto"), k_keys));
  CHECK(both.provider == "anthropic");
  CHECK_FALSE(both.model.empty());
  CHECK(both.picked);
  CHECK(both.picked_because == "ANTHROPIC_API_KEY is set");
  const Environment second{{"ANTHROPIC_API_KEY", ""}, {"OPENAI_API_KEY", "k"}};
  CHECK(must(resolve(named("auto"), second)).provider == "openai");
}

TEST_CASE("registry: auto without any key names the variables", "[providers]") {
  const auto error = must_fail(resolve(named("auto"), {}));
  CHECK(error.code == Code::provider_auth);
  CHECK(contains(error.message, "ANTHROPIC_API_KEY, OPENAI_API_KEY"));
}

TEST_CASE("registry: auto beside a server of one's own is a contradiction", "[providers]") {
  CHECK(must_fail(resolve(at("auto", "", "http://127.0.0.1:1"), k_keys)).code ==
        Code::config_invalid);
  CHECK(must_fail(resolve(at("auto", "openai_chat", ""), k_keys)).code == Code::config_invalid);
}

TEST_CASE("registry: names that mean nothing are errors with a way out", "[providers]") {
  const auto [name, message, help] = GENERATE(table<std::string, std::string, std::string>({
      {"antropic/claude", "unknown provider `antropic`", "`anthropic`"},
      {"nobody/model",
       "unknown provider `nobody`",
       "anthropic, openai, gemini, ollama, ollama-cloud, bedrock, azure, openrouter, "},
      {"gpt-5", "write PROVIDER/gpt-5", "Known: "},
      {"", "does not name its provider", "Known: "},
      {"openai/", "names no model", "PROVIDER/MODEL"},
      {"/gpt", "unknown provider ``", "Known: "},
  }));
  CAPTURE(name);
  const auto error = must_fail(resolve(named(name), k_keys));
  CHECK(agent::row(error.code).exit_code == 78);
  CHECK(contains(error.message, message));
  CHECK(contains(error.help, help));
}

TEST_CASE("registry: protocols that are unknown", "[providers]") {
  const auto unknown = must_fail(resolve(at("x/y", "openai_chatt", "http://h"), {}));
  CHECK(unknown.code == Code::config_invalid);
  CHECK(contains(unknown.help,
                 "anthropic_messages, bedrock, gemini, ollama, openai_chat, openai_responses, "
                 "replay"));
}

TEST_CASE("registry: Ollama's own protocol has no /v1", "[providers]") {
  const auto error = must_fail(resolve(at("ollama/m", "", "http://box:11434/v1"), {}));
  CHECK(error.code == Code::config_invalid);
  CHECK(contains(error.help, "openai_chat"));
  CHECK(must(resolve(at("ollama/m", "openai_chat", "http://box:11434/v1"), {})).protocol ==
        "openai_chat");
}

TEST_CASE("registry: Bedrock is where the region says, and takes a token or keys", "[providers]") {
  const agent::Environment token = {{"AWS_BEARER_TOKEN_BEDROCK", "t"}, {"AWS_REGION", "eu-west-3"}};
  const auto by_token = must(resolve(named("bedrock/m:0"), token));
  CHECK(by_token.base_url == "https://bedrock-runtime.eu-west-3.amazonaws.com");
  CHECK(by_token.api_key == "t");
  CHECK_FALSE(by_token.signer);

  const agent::Environment keys = {{"AWS_ACCESS_KEY_ID", "A"},
                                   {"AWS_SECRET_ACCESS_KEY", "S"},
                                   {"AWS_SESSION_TOKEN", "T"},
                                   {"AWS_DEFAULT_REGION", "cn-north-1"}};
  const auto by_keys = must(resolve(named("bedrock/m:0"), keys));
  CHECK(by_keys.base_url == "https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
  CHECK(by_keys.api_key.empty());
  CHECK(by_keys.api_key_env == "AWS_SECRET_ACCESS_KEY");  // what no child may inherit
  REQUIRE(by_keys.signer);
  CHECK(*by_keys.signer == agent::AwsSigner{.region = "cn-north-1",
                                            .service = "bedrock",
                                            .access_key = "A",
                                            .secret_key = "S",
                                            .session_token = "T"});
}

TEST_CASE("registry: Bedrock's region is its address's own", "[providers]") {
  const agent::Environment keys = {
      {"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "S"}, {"AWS_REGION", "us-east-1"}};
  const auto region = [&](std::string url) {
    return must(resolve(at("bedrock/m", "", std::move(url)), keys)).signer->region;
  };
  CHECK(region("https://bedrock-runtime.eu-central-1.amazonaws.com") == "eu-central-1");
  CHECK(region("https://bedrock-runtime-fips.us-west-2.amazonaws.com") == "us-west-2");
  // Keys do not go to whoever has an address.
  const auto elsewhere =
      must(resolve(at("bedrock/m", "", "https://bedrock-runtime.evil.example"), keys));
  CHECK_FALSE(elsewhere.signer);
  CHECK(elsewhere.api_key.empty());
}

TEST_CASE("registry: what Bedrock and Azure lack is named", "[providers]") {
  const auto no_region = must_fail(resolve(named("bedrock/m"), {}));
  CHECK(no_region.code == Code::config_invalid);
  CHECK(contains(no_region.message, "AWS_REGION"));
  const auto no_key = must_fail(resolve(named("bedrock/m"), {{"AWS_REGION", "eu-west-1"}}));
  CHECK(no_key.code == Code::provider_auth);
  CHECK(contains(no_key.message, "AWS_SECRET_ACCESS_KEY"));
  const auto no_address = must_fail(resolve(named("azure/m"), {{"AZURE_OPENAI_API_KEY", "k"}}));
  CHECK(no_address.code == Code::config_invalid);
  CHECK(contains(no_address.message, "AZURE_OPENAI_ENDPOINT"));
}

TEST_CASE("registry: Azure's endpoint is the resource, or its API", "[providers]") {
  const auto url = [](std::string endpoint) {
    return must(resolve(named("azure/m"),
                        {{"AZURE_OPENAI_API_KEY", "k"}, {"AZURE_OPENAI_ENDPOINT", endpoint}}))
        .base_url;
  };
  CHECK(url("https://me.openai.azure.com/") == "https://me.openai.azure.com/openai/v1");
  CHECK(url("https://me.openai.azure.com/openai/v1") == "https://me.openai.azure.com/openai/v1");
}

TEST_CASE("registry: base URLs that cannot be used", "[providers]") {
  const auto [url, message] = GENERATE(table<std::string, std::string>({
      {"127.0.0.1:8000/v1", "no scheme"},
      {"ftp://host/v1", "scheme `ftp`"},
      {"http://", "is not a URL"},
      {"https://me:secret@host/v1", "user name or a password"},
      {"https://host/v1?api-version=1", "query"},
      {"///", "is not a URL"},
  }));
  CAPTURE(url);
  const auto error = must_fail(resolve(at("x/y", "openai_chat", url), {}));
  CHECK(error.code == Code::config_invalid);
  CHECK(contains(error.message, message));
  CHECK(contains(error.message, "model.base_url"));
  CHECK_FALSE(contains(error.message, "secret"));
}

TEST_CASE("registry: replay takes a script and no server", "[providers]") {
  const auto resolved = must(resolve(named("replay/demo/hello.replay.yaml"), {}));
  CHECK(resolved.protocol == "replay");
  CHECK(resolved.model == "demo/hello.replay.yaml");
  CHECK(resolved.base_url.empty());
  CHECK(must_fail(resolve(at("replay/x", "", "http://h"), {})).code == Code::config_invalid);
  CHECK(must_fail(resolve(at("replay/x", "openai_chat", ""), {})).code == Code::config_invalid);
  CHECK(must_fail(resolve(at("openai/x", "replay", ""), k_keys)).code == Code::config_invalid);
}

TEST_CASE("registry: the variables that no child may inherit", "[providers]") {
  const auto names = providers::key_variables({"MY_KEY", ""});
  for (const auto* name :
       {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "MY_KEY"}) {
    CHECK(std::ranges::find(names, name) != names.end());
  }
  CHECK(std::ranges::find(names, "") == names.end());
}

TEST_CASE("registry: every preset is a row that works", "[providers]") {
  const auto hidden = providers::key_variables({});
  for (const auto& preset : providers::presets()) {
    if (preset.protocol == "replay") {
      continue;
    }
    CAPTURE(preset.name);
    const std::string key_variable(preset.key_variable);
    const bool has_address = !preset.base_url.empty();
    agent::Environment environment = {{key_variable, "key-of-mine"}};
    if (!has_address) {
      environment.emplace(preset.base_url_variable, "https://server.example/api");
    }
    const auto resolved = resolve(named(std::string(preset.name) + "/some/model"), environment);
    REQUIRE(resolved);
    CHECK(resolved->model == "some/model");
    CHECK(resolved->base_url == (has_address ? preset.base_url : "https://server.example/api"));
    CHECK(resolved->api_key == (key_variable.empty() ? "" : "key-of-mine"));
    CHECK((key_variable.empty() || std::ranges::find(hidden, key_variable) != hidden.end()));
  }
}

TEST_CASE("registry: every preset speaks a protocol that exists", "[providers]") {
  const auto protocols = providers::protocol_names();
  for (const auto& preset : providers::presets()) {
    CAPTURE(preset.name);
    CHECK(std::ranges::find(protocols, preset.protocol) != protocols.end());
    CHECK_FALSE(preset.description.empty());
  }
}

TEST_CASE("registry: make plays a script under the retry layer", "[providers]") {
  FakeHttp http;
  FakeClock clock;
  auto provider = make(named("replay/demo/hello.replay.yaml"), http, clock);
  REQUIRE(provider);
  CHECK(ask(**provider)->text == "hello");
  const auto exhausted = ask(**provider);
  REQUIRE_FALSE(exhausted);
  CHECK(exhausted.error().code == Code::replay_miss);
  CHECK(exhausted.error().attempts == 1);
}

TEST_CASE("registry: make passes on why a script cannot be loaded", "[providers]") {
  FakeHttp http;
  FakeClock clock;
  const auto provider = make(named("replay/missing.yaml"), http, clock);
  REQUIRE_FALSE(provider);
  CHECK(provider.error().message == "no such script: missing.yaml");
}

TEST_CASE("registry: make puts the retry layer over the wire protocol", "[providers]") {
  FakeHttp http;
  FakeClock clock;
  http.answers = {{.status = 503, .body = R"({"error":{"message":"busy"}})"},
                  {.status = 200,
                   .headers = {{"content-type", "application/json"}},
                   .body = R"({"choices":[{"message":{"role":"assistant","content":"hello"},)"
                           R"("finish_reason":"stop"}]})"}};
  auto spec = named("openai/gpt-5-mini");
  spec.stream = false;
  auto provider = make(spec, http, clock);
  REQUIRE(provider);
  std::vector<std::string> types;
  const auto reply = ask(**provider, &types);
  INFO((reply ? std::string{} : reply.error().message));
  REQUIRE(reply);
  CHECK(reply->text == "hello");
  CHECK(std::ranges::find(types, "model.retrying") != types.end());
  REQUIRE(http.sent.size() == 2);
  CHECK(http.sent[0].url == "https://api.openai.com/v1/chat/completions");
  CHECK(agent::header(http.sent[0].headers, "authorization") == "Bearer sk-oai-1");
  CHECK(http.sent[0].body == http.sent[1].body);
}

TEST_CASE("registry: what one run learns about a model holds for the next one at that address",
          "[providers]") {
  FakeHttp http;
  FakeClock clock;
  providers::ModelStates models;
  const auto ask_new_run = [&](const ModelSpec& spec, providers::ModelStates& known) {
    const auto provider = providers::make({.resolved = must(resolve(spec, k_keys)), .spec = spec},
                                          {.max_attempts = 1},
                                          {.http = http, .clock = clock, .models = known});
    REQUIRE(provider);
    const auto reply = ask(**provider);
    REQUIRE_FALSE(reply);
    return reply.error().code;
  };
  const auto down = [&] { http.answers.push_back({.status = 503, .headers = {}, .body = ""}); };
  const ModelSpec spec = at("label/m", "openai_chat", "http://127.0.0.1:1/v1");
  for (int n = 0; n < providers::Circuit::k_failures; ++n) {
    down();
    CHECK(ask_new_run(spec, models) == Code::provider_unavailable);
  }
  CHECK(ask_new_run(spec, models) == Code::provider_circuit_open);
  down();
  CHECK(ask_new_run(at("label/m", "openai_chat", "http://127.0.0.1:2/v1"), models) ==
        Code::provider_unavailable);
  down();
  CHECK(ask_new_run(at("label/other", "openai_chat", "http://127.0.0.1:1/v1"), models) ==
        Code::provider_unavailable);
  providers::ModelStates none;
  down();
  CHECK(ask_new_run(spec, none) == Code::provider_unavailable);
}

TEST_CASE("registry: each model of a chain keeps its own settings", "[providers]") {
  FakeHttp http;
  http.answers.push_back({.status = 402, .headers = {}, .body = "{}"});
  http.answers.push_back({.status = 402, .headers = {}, .body = "{}"});
  FakeClock clock;
  providers::ModelStates models;
  ModelSpec first = at("one/m-1", "openai_chat", "http://127.0.0.1:1/v1");
  first.temperature = 0.5;
  ModelSpec second = at("two/m-2", "anthropic_messages", "http://127.0.0.1:2");
  second.max_output_tokens = 77;
  const std::vector<providers::Choice> chain = {
      {.resolved = must(resolve(first, k_keys)), .spec = first},
      {.resolved = must(resolve(second, k_keys)), .spec = second}};
  const auto provider =
      providers::make_chain(chain, {}, {}, {.http = http, .clock = clock, .models = models});
  REQUIRE(provider);
  std::vector<std::string> types;
  const auto reply = ask(**provider, &types);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::provider_quota);
  CHECK(reply.error().provider == "two");
  CHECK(types == std::vector<std::string>{"model.fallback"});
  REQUIRE(http.sent.size() == 2);
  CHECK(contains(http.sent[0].body, "\"temperature\":0.5"));
  CHECK_FALSE(contains(http.sent[1].body, "temperature"));
  CHECK(contains(http.sent[1].body, "\"max_tokens\":77"));
}

// What holds for every protocol is tested over these lists: the bytes of a prefix, hostile bytes,
// runs of the whole program.
TEST_CASE("registry: a protocol is in every list of tests over all of them", "[providers]") {
  for (const std::string list :
       {"unit/providers/wire/prefix_test.cpp", "fuzz/targets.cpp", "e2e/cases.py"}) {
    std::ifstream file(std::string(ERRAND_SOURCE_DIR "/tests/") + list);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const std::string& protocol : providers::protocol_names()) {
      INFO(protocol << " in tests/" << list);
      CHECK((protocol == providers::k_replay || text.contains('"' + protocol + '"')));
    }
  }
}
