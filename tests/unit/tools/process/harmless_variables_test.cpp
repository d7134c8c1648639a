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
                                    {"NODE_OPTIONS", "--import file:///n/@scope/x.js"},
                                    {"NODE_PATH", "/opt/python@3.11/bin:/opt/node@20/bin"},
                                    {"GIT_AUTHOR_EMAIL", "ada@example.org"},
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
  all.emplace("NIX_PATH", "nixpkgs=https://u17:p17@h/x.tar.gz");
  all.emplace("GOSUMDB", "sum.golang.org+key https://u15:p15@h");
  all.emplace("CXXFLAGS", "-DURL=\"https://u9:p9@h\"");
  all.emplace("JULIA_DEPOT_PATH", "ssh://u19@h");
  all.emplace("GOFLAGS", "-x=ada:c0f1d5@proxy.example");
  all.emplace("LC_PAPER", "http://a:b/c@h");
  all.emplace("HTTPS_PROXY", "http://ada:c0f1d5@proxy.example:3128");
  all.emplace("PIP_INDEX_URL", "https://token@pypi.example/simple");
  CHECK(tools::harmless_variables(all) == harmless);
}
