#include "tools/process/harmless_variables.h"

#include <catch2/catch.hpp>

TEST_CASE("harmless variables: what is in the table passes, whatever else the shell has does not",
          "[tools]") {
  const agent::Environment harmless{{"PATH", "/usr/bin"},
                                    {"HOME", "/home/ada"},
                                    {"LC_ALL", "C.UTF-8"},
                                    {"LC_NUMERIC", "C"},
                                    {"CARGO_HOME", "/c"},
                                    {"GOPATH", "/g"},
                                    {"JAVA_HOME", "/j"},
                                    {"VIRTUAL_ENV", "/v"},
                                    {"CC", "gcc"},
                                    {"CFLAGS", "-O2"},
                                    {"PKG_CONFIG_PATH", "/p"},
                                    {"SSL_CERT_FILE", "/s"},
                                    {"https_proxy", "http://proxy.example:3128"}};
  agent::Environment all = harmless;
  for (const char* name : {"GITHUB_TOKEN",
                           "GH_TOKEN",
                           "AWS_SECRET_ACCESS_KEY",
                           "AWS_PROFILE",
                           "SSH_AUTH_SOCK",
                           "DBUS_SESSION_BUS_ADDRESS",
                           "PATHX",
                           "path",
                           "LC",
                           "MAKEFLAGS",
                           "JAVA_TOOL_OPTIONS",
                           "GIT_CONFIG_PARAMETERS",
                           "OPENAI_API_KEY",
                           "DATABASE_URL",
                           "GITHUB_ENV",
                           "npm_config_//registry.npmjs.org/:_authToken"}) {
    all.emplace(name, "c0f1d5");
  }
  all.emplace("HTTPS_PROXY", "http://ada:c0f1d5@proxy.example:3128");
  all.emplace("PIP_INDEX_URL", "https://token@pypi.example/simple");
  CHECK(tools::harmless_variables(all) == harmless);
}
