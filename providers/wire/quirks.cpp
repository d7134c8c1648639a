// The servers that are known to differ from their protocol.
#include "providers/http/url.h"
#include "providers/wire/wire.h"

#include <algorithm>
#include <array>

namespace providers {
namespace {

struct Server {
  std::string_view provider;
  std::string_view host;  // itself, and what ends in "." and it
  void (*apply)(Quirks&);
};

void openai(Quirks& quirks) {
  quirks.max_tokens_field = "max_completion_tokens";
  quirks.encrypted_reasoning = true;
}
void azure(Quirks& quirks) {
  quirks.max_tokens_field = "max_completion_tokens";
  quirks.encrypted_reasoning = true;
  quirks.api_key_header = true;
}
void xai(Quirks& quirks) {
  quirks.encrypted_reasoning = true;
}
void openrouter(Quirks& quirks) {
  quirks.send_reasoning_details = true;
  quirks.reasoning_field = Quirks::ReasoningField::object;
}
void sends_reasoning_back(Quirks& quirks) {
  quirks.send_reasoning = true;
}
void deepseek(Quirks& quirks) {
  quirks.send_reasoning = true;
  quirks.json_schema = false;
  quirks.media = false;
}
void mistral(Quirks& quirks) {
  quirks.stream_options = false;  // usage comes without it, unknown fields are refused
}
void nothing(Quirks&) {}
void vertex(Quirks& quirks) {
  quirks.bearer = true;  // an access token
}
void anthropic(Quirks& quirks) {
  quirks.cache_control = true;
}

constexpr std::array k_servers = {
    Server{"openai", "api.openai.com", openai},
    Server{"azure", "openai.azure.com", azure},
    Server{"azure", "services.ai.azure.com", azure},
    Server{"xai", "api.x.ai", xai},
    Server{"openrouter", "openrouter.ai", openrouter},
    Server{"deepseek", "api.deepseek.com", deepseek},
    Server{"moonshot", "api.moonshot.ai", sends_reasoning_back},
    Server{"moonshot", "api.moonshot.cn", sends_reasoning_back},
    Server{"zai", "api.z.ai", sends_reasoning_back},
    Server{"zai", "open.bigmodel.cn", sends_reasoning_back},
    Server{"mistral", "api.mistral.ai", mistral},
    Server{"anthropic", "api.anthropic.com", anthropic},
    Server{"gemini", "generativelanguage.googleapis.com", nothing},
    Server{"vertex", "googleapis.com", vertex},
};

bool is_host(std::string_view host, std::string_view known) {
  if (!host.ends_with(known)) {
    return false;
  }
  host.remove_suffix(known.size());
  return host.empty() || host.ends_with('.');
}

}  // namespace

// A server of one's own is not what its label says: the name counts only where no address is given.
Quirks default_quirks(std::string_view provider, std::string_view base_url) {
  const std::string_view host = host_of(base_url);
  const auto* const found = std::ranges::find_if(k_servers, [&](const Server& server) {
    return host.empty() ? server.provider == provider : is_host(host, server.host);
  });
  Quirks quirks;
  if (found != k_servers.end()) {
    found->apply(quirks);
  }
  return quirks;
}

}  // namespace providers
