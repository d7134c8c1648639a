#include "providers/key_hosts.h"

#include "providers/registry.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

namespace {

using agent::Environment;
using providers::KeyHosts;
using providers::KeyRequest;
using Place = KeyRequest::Place;

providers::Origin origin(const std::string& url) {
  const auto found = providers::origin_of(url, agent::Code::config_invalid);
  REQUIRE(found);
  return *found;
}

bool allows(const KeyHosts& hosts,
            const std::string& variable,
            const std::string& url,
            Place place = Place::key) {
  return hosts.allows({.variable = variable, .origin = origin(url), .place = place});
}

// What resolve() says of a model that sends it there.
std::string refused(const agent::ModelSpec& spec, const Environment& environment) {
  const auto resolved = providers::resolve(spec, environment);
  return resolved ? "" : resolved.error().message;
}

agent::ModelSpec custom(const std::string& url, const std::string& variable) {
  return {.name = "x/y", .protocol = "openai_chat", .base_url = url, .api_key_env = variable};
}

}  // namespace

TEST_CASE("key hosts: a key goes to its provider and to this machine", "[providers]") {
  const KeyHosts hosts(Environment{});
  CHECK(allows(hosts, "OPENAI_API_KEY", "https://api.openai.com/v1"));
  CHECK(allows(hosts, "OPENAI_API_KEY", "https://eu.api.openai.com/v1"));
  CHECK(allows(hosts, "ANTHROPIC_AUTH_TOKEN", "https://api.anthropic.com"));
  CHECK(allows(hosts, "GOOGLE_API_KEY", "https://generativelanguage.googleapis.com"));
  CHECK(allows(hosts, "OPENAI_API_KEY", "http://127.0.0.1:8000"));
  CHECK(allows(hosts, "ANYTHING", "http://localhost:8000"));
  for (const char* url : {"https://evil.example",
                          "http://api.openai.com",
                          "https://api.openai.com:8443",
                          "https://api.openai.com.evil.example",
                          "https://evil-api.openai.com",
                          "https://x.api.openai.com",
                          "https://openai.com",
                          "https://api.anthropic.com",
                          "https://us.api.openai.com.evil.example"}) {
    INFO(url);
    CHECK_FALSE(allows(hosts, "OPENAI_API_KEY", url));
  }
  // A key of no provider may be one of any; what is not a key is nobody's.
  CHECK(allows(hosts, "MY_KEY", "https://api.openai.com"));
  CHECK_FALSE(allows(hosts, "GITHUB_TOKEN", "https://api.openai.com", Place::header));
  CHECK_FALSE(allows(hosts, "GITHUB_TOKEN", "https://api.openai.com", Place::address));
  CHECK_FALSE(allows(hosts, "MY_KEY", "http://api.openai.com"));
  CHECK_FALSE(allows(hosts, "ANTHROPIC_API_KEY", "https://api.openai.com"));
  CHECK_FALSE(allows(hosts, "COHERE_API_KEY", "https://api.openai.com"));
}

TEST_CASE("key hosts: where programs can listen, this machine is as any other", "[providers]") {
  KeyHosts hosts(Environment{{"OPENAI_BASE_URL", "http://127.0.0.1:4000/v1"}});
  hosts.share_loopback();
  hosts.allow("CORP_KEY", origin("http://127.0.0.1:9000"));
  for (const Place place : {Place::key, Place::header, Place::address, Place::text, Place::told}) {
    INFO(static_cast<int>(place));
    CHECK_FALSE(allows(hosts, "ANYTHING", "http://127.0.0.1:8000", place));  // a preset's address
    CHECK_FALSE(allows(hosts, "ANYTHING", "http://localhost:7000", place));
    CHECK_FALSE(allows(hosts, "ANYTHING", "http://127.0.0.1:9000", place));
    CHECK_FALSE(allows(hosts, "CORP_KEY", "http://127.0.0.1:9001", place));
    CHECK(allows(hosts, "CORP_KEY", "http://127.0.0.1:9000", place));
    CHECK(allows(hosts, "OPENAI_API_KEY", "http://127.0.0.1:4000", place));
  }
  CHECK(allows(hosts, "ANYTHING", "https://api.openai.com"));
}

TEST_CASE("key hosts: what programs are told goes where they are given it", "[providers]") {
  KeyHosts hosts(Environment{});
  hosts.allow("OTHER", {.text = std::string(providers::k_anywhere)});
  const providers::Origin anywhere{.text = std::string(providers::k_anywhere)};
  CHECK(hosts.allows({.variable = "OTHER", .origin = anywhere, .place = Place::told}));
  CHECK_FALSE(hosts.allows({.variable = "MINE", .origin = anywhere, .place = Place::told}));
  CHECK_FALSE(allows(hosts, "MINE", "https://api.openai.com", Place::told));
}

TEST_CASE("key hosts: of the names that others can have, only the user's own", "[providers]") {
  const KeyHosts nobody(Environment{});
  CHECK_FALSE(allows(nobody, "AZURE_OPENAI_API_KEY", "https://mine.openai.azure.com"));
  const KeyHosts mine(Environment{{"AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/"}});
  CHECK(allows(mine, "AZURE_OPENAI_API_KEY", "https://mine.openai.azure.com"));
  CHECK_FALSE(allows(mine, "AZURE_OPENAI_API_KEY", "https://theirs.openai.azure.com"));
  CHECK_FALSE(allows(mine, "OPENAI_API_KEY", "https://mine.openai.azure.com"));

  constexpr const char* k_token = "AWS_BEARER_TOKEN_BEDROCK";
  for (const char* url : {"https://bedrock-runtime.us-east-1.amazonaws.com",
                          "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
                          "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"}) {
    INFO(url);
    CHECK(allows(nobody, k_token, url));
  }
  for (const char* url : {"https://bedrock-runtime.s3.amazonaws.com",  // a bucket of anybody
                          "https://bedrock-runtime.s3-us-west-2.amazonaws.com",
                          "https://bedrock-runtime.s3.us-west-2.amazonaws.com",
                          "https://abc.execute-api.us-east-1.amazonaws.com",
                          "https://bedrock-runtime.us-east-1.amazonaws.com.evil.example",
                          "https://bedrock-runtime.evil.example",
                          "https://bedrock-runtimexus-east-1.amazonaws.com",
                          "http://bedrock-runtime.us-east-1.amazonaws.com"}) {
    INFO(url);
    CHECK_FALSE(allows(nobody, k_token, url));
  }
}

TEST_CASE("key hosts: the address that the environment gives a provider is its own",
          "[providers]") {
  const KeyHosts hosts(Environment{{"OPENAI_BASE_URL", "https://gateway.example/v1"},
                                   {"OLLAMA_HOST", "box.example:11434"}});
  CHECK(allows(hosts, "OPENAI_API_KEY", "https://gateway.example"));
  CHECK(allows(hosts, "OPENAI_API_KEY", "https://api.openai.com"));
  CHECK_FALSE(allows(hosts, "ANTHROPIC_API_KEY", "https://gateway.example"));
  CHECK(allows(hosts, "BRANCH", "http://box.example:11434", Place::text));
  CHECK_FALSE(allows(hosts, "BRANCH", "http://box.example:11434", Place::header));
}

TEST_CASE("key hosts: what the user allows holds for that origin alone", "[providers]") {
  KeyHosts hosts(Environment{});
  hosts.allow("CORP_KEY", origin("https://llm.corp.example"));
  hosts.allow("LAN_KEY", origin("http://10.0.0.5:8000"));
  CHECK(allows(hosts, "CORP_KEY", "https://llm.corp.example:443/v1"));
  CHECK_FALSE(allows(hosts, "CORP_KEY", "http://llm.corp.example"));
  CHECK_FALSE(allows(hosts, "CORP_KEY", "https://llm.corp.example:8443"));
  CHECK_FALSE(allows(hosts, "OTHER_KEY", "https://llm.corp.example"));
  CHECK(allows(hosts, "LAN_KEY", "http://10.0.0.5:8000"));
  CHECK_FALSE(allows(hosts, "LAN_KEY", "https://10.0.0.5:8000"));
  // A text goes where the user knows the server.
  CHECK(allows(hosts, "BRANCH", "https://llm.corp.example", Place::text));
  CHECK(allows(hosts, "BRANCH", "https://api.anthropic.com", Place::text));
  CHECK_FALSE(allows(hosts, "BRANCH", "https://evil.example", Place::text));
}

TEST_CASE("key hosts: a program takes a value where it is named, and nowhere else", "[providers]") {
  const auto anywhere = [](const KeyHosts& hosts, const std::string& variable) {
    return hosts.allows({.variable = variable,
                         .origin = {.text = std::string(providers::k_anywhere)},
                         .place = Place::program});
  };
  KeyHosts hosts(Environment{});
  CHECK_FALSE(anywhere(hosts, "GH_TOKEN"));
  CHECK_FALSE(anywhere(hosts, "OPENAI_API_KEY"));
  CHECK_FALSE(allows(hosts, "GH_TOKEN", "https://api.openai.com", Place::program));
  CHECK(allows(hosts, "OPENAI_API_KEY", "https://api.openai.com", Place::program));
  CHECK(allows(hosts, "GH_TOKEN", "http://localhost:8080", Place::program));
  hosts.allow("GH_TOKEN", {.text = std::string(providers::k_anywhere)});
  CHECK(anywhere(hosts, "GH_TOKEN"));
  CHECK(allows(hosts, "GH_TOKEN", "https://api.github.com", Place::program));
  CHECK(allows(hosts, "GH_TOKEN", "http://evil.example", Place::key));
  CHECK_FALSE(anywhere(hosts, "OTHER"));
}

TEST_CASE("key hosts: a model is not resolved before its key may go there", "[providers]") {
  const Environment keys = {{"OPENAI_API_KEY", "sk-1"}, {"GITHUB_TOKEN", "gh-1"}};
  CHECK(refused(custom("https://evil.example/v1", "OPENAI_API_KEY"), keys) ==
        "`api_key_env` would send the key OPENAI_API_KEY to https://evil.example, and no setting "
        "of yours allows it");
  // It is said where the key is not even there.
  CHECK(refused(custom("https://evil.example/v1", "OPENAI_API_KEY"), {}).starts_with("`api_key"));
  CHECK(refused(custom("https://api.openai.com/v1", "OPENAI_API_KEY"), keys).empty());
  CHECK(refused(custom("https://evil.example/v1", ""), keys).empty());

  auto header = custom("https://evil.example/v1", "");
  header.in_headers = {{.name = "GITHUB_TOKEN", .where = {}}};
  CHECK(refused(header, keys).starts_with("a header would send the value of GITHUB_TOKEN"));
  agent::ModelSpec picked{.name = "auto"};
  picked.in_headers = header.in_headers;
  CHECK(refused(picked, keys).starts_with("a header would send the value of GITHUB_TOKEN"));
  agent::ModelSpec preset{.name = "groq/m", .api_key_env = "OPENAI_API_KEY"};
  CHECK(refused(preset, keys).starts_with("`api_key_env` would send the key OPENAI_API_KEY"));
}

TEST_CASE("key hosts: an address of the environment says by itself where it goes", "[providers]") {
  const Environment environment = {
      {"LLM_URL", "https://llm.corp.example/base"}, {"KEY", "k-1"}, {"GITHUB_TOKEN", "gh-1"}};
  const auto with_address = [](std::string url, std::string variable, std::string key = {}) {
    auto spec = custom(url, key);
    spec.in_base_url = {{.name = std::move(variable), .where = {}}};
    return spec;
  };
  CHECK(refused(with_address("https://llm.corp.example/base/v1", "LLM_URL"), environment).empty());
  // What the file puts behind it can be another server.
  CHECK_FALSE(refused(with_address("https://llm.corp.example.evil.example", "LLM_URL"), environment)
                  .empty());
  CHECK_FALSE(
      refused(with_address("https://evil.example/gh-1", "GITHUB_TOKEN"), environment).empty());
  CHECK_FALSE(
      refused(with_address("https://gh-1.evil.example", "GITHUB_TOKEN"), environment).empty());
  // That the key belongs there is still the file's word.
  CHECK_FALSE(refused(with_address("https://llm.corp.example/base", "LLM_URL", "KEY"), environment)
                  .empty());
}
