#include "providers/preset_address.h"

#include "agent/text.h"
#include "providers/http/url.h"
#include "providers/wire/aws.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Environment;

std::unexpected<agent::Error> wrong_address(std::string message, std::string help) {
  return agent::fail(Code::config_invalid, std::move(message), std::move(help));
}

// OLLAMA_HOST may be a host, host:port, :port, a URL, or the address that the server binds.
std::string ollama_url(std::string host) {
  std::string scheme = "http://";
  std::string default_port = ":11434";
  if (const auto end = host.find("://"); end != std::string::npos) {
    scheme = host.substr(0, end + 3);
    host.erase(0, end + 3);
    default_port.clear();  // the scheme's own
  }
  const auto slash = std::min(host.find('/'), host.size());
  auto path = host.substr(slash);
  host.resize(slash);
  const auto bracket = host.rfind(']');
  const auto colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  auto port = colon == std::string::npos ? default_port : host.substr(colon);
  auto name = host.substr(0, colon);
  if (name.empty() || name == "0.0.0.0" || name == "[::]") {
    name = "127.0.0.1";
  }
  while (path.ends_with('/')) {
    path.pop_back();
  }
  return scheme + name + port + path;
}

// AZURE_OPENAI_ENDPOINT is the resource's address, or that of its API.
std::string azure_url(std::string endpoint) {
  while (endpoint.ends_with('/')) {
    endpoint.pop_back();
  }
  const auto scheme = endpoint.find("://");
  const bool has_path =
      endpoint.find('/', scheme == std::string::npos ? 0 : scheme + 3) != std::string::npos;
  return has_path ? endpoint : endpoint + "/openai/v1";
}

}  // namespace

agent::Result<std::string> checked_base_url(std::string url, std::string_view source) {
  while (url.ends_with('/')) {
    url.pop_back();
  }
  auto parts = parse_url(url, Code::config_invalid);
  if (!parts) {
    auto error = std::move(parts).error();
    error.message = fmt::format("`{}`: {}", source, error.message);
    return agent::fail(std::move(error));
  }
  if (parts->has_credentials) {
    return wrong_address(fmt::format("`{}` contains a user name or a password", source),
                         "Leave them out; a key is named by `model.api_key_env`.");
  }
  if (parts->has_query) {
    return wrong_address(fmt::format("`{}` contains a query or a fragment", source),
                         "Give the address only, up to the part before the protocol's own path.");
  }
  return url;
}

agent::Result<std::string> preset_base_url(const Preset& preset, const Environment& environment) {
  auto value = preset.base_url_variable.empty()
                   ? std::string{}
                   : agent::trimmed_value_of(environment, preset.base_url_variable);
  if (value.empty() && preset.name == "bedrock") {
    return bedrock_address(environment);
  }
  if (value.empty()) {
    if (preset.base_url.empty() && !preset.base_url_variable.empty()) {
      return wrong_address(
          fmt::format("{} is not set, the address of {}", preset.base_url_variable, preset.name),
          fmt::format("Set it: export {}=https://…, or name the server in `model.base_url`.",
                      preset.base_url_variable));
    }
    return std::string(preset.base_url);
  }
  value = preset.name == "ollama"  ? ollama_url(std::move(value))
          : preset.name == "azure" ? azure_url(std::move(value))
                                   : std::move(value);
  return checked_base_url(std::move(value), preset.base_url_variable);
}

}  // namespace providers
