#include "providers/model_list.h"

#include "agent/json.h"
#include "providers/http/url.h"
#include "providers/key_hosts.h"
#include "providers/presets.h"
#include "providers/wire/classify.h"
#include "providers/wire/wire.h"
#include "providers/wire/wire_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace providers {
namespace {

using agent::Code;
using agent::Json;
using agent::Result;
using Names = std::vector<std::string>;

struct Listing {
  std::string_view protocol;
  std::string_view path;
  std::string_view query;
  std::string_view list;    // the member that holds the models
  std::string_view name;    // of a model
  std::string_view prefix;  // that the name has there and not in a request
  std::string_view next;    // the member that says from where the next page goes on
  std::string_view page;    // the parameter that takes it
};
constexpr auto k_listings = std::to_array<Listing>({
    {"anthropic_messages", "/v1/models", "limit=1000", "data", "id", "", "last_id", "after_id"},
    {"bedrock", "/foundation-models", "", "modelSummaries", "modelId", "", "", ""},
    {"bedrock",
     "/inference-profiles",
     "maxResults=1000",
     "inferenceProfileSummaries",
     "inferenceProfileId",
     "",
     "nextToken",
     "nextToken"},
    {"gemini",
     "/models",
     "pageSize=1000",
     "models",
     "name",
     "models/",
     "nextPageToken",
     "pageToken"},
    {"ollama", "/api/tags", "", "models", "name", "", "", ""},
    {"openai_chat", "/models", "", "data", "id", "", "", ""},
    {"openai_responses", "/models", "", "data", "id", "", "", ""},
});

// Amazon lists Bedrock's models by another host than it runs them by. A host that is not Amazon's
// is never made into another one: the key goes along.
std::string address_of(const Resolved& resolved) {
  std::string base = resolved.base_url;
  constexpr std::string_view k_runtime = "//bedrock-runtime";
  const auto origin = origin_of(base, Code::config_invalid);
  const auto preset = std::ranges::find(presets(), "bedrock", &Preset::name);
  if (const auto at = base.find(k_runtime);
      at != std::string::npos && origin && is_own_origin(*preset, *origin)) {
    base.replace(at, k_runtime.size(), "//bedrock");
  }
  return base;
}

std::string url_of(const Resolved& resolved, const Listing& listing, const std::string& page) {
  std::string_view path = listing.path;
  const std::string base = address_of(resolved);
  if (path.starts_with("/v1/") && base.ends_with("/v1")) {
    path.remove_prefix(3);
  }
  std::string query(listing.query);
  if (!page.empty()) {
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", listing.page, percent_encoded(page));
  }
  return fmt::format("{}{}{}{}", base, path, query.empty() ? "" : "?", query);
}

// Some servers send the list itself.
const Json* models_in(const Json& answer, const Listing& listing) {
  const Json* models = answer.is_array() ? &answer : agent::find(answer, listing.list);
  return models != nullptr && models->is_array() ? models : nullptr;
}

void add_names(const Json& models, const Listing& listing, Names& names) {
  for (const Json& model : models) {
    std::string_view name = agent::text_at(model, listing.name);
    if (name.starts_with(listing.prefix)) {
      name.remove_prefix(listing.prefix.size());
    }
    if (!name.empty()) {
      names.emplace_back(name);
    }
  }
}

class Lister {
 public:
  Lister(const Resolved& resolved, agent::Http& http, const agent::Clock& clock)
      : resolved_(resolved), http_(http), clock_(clock), wire_(make_wire(resolved, spec())) {}

  Result<void> add(const Listing& listing, Names& names, const std::stop_token& stop) {
    constexpr int k_most_pages = 100;
    std::string page;
    for (int at = 0; at < k_most_pages; ++at) {
      TRY_ASSIGN(const Json answer, ask(url_of(resolved_, listing, page), stop));
      const Json* models = models_in(answer, listing);
      if (models == nullptr) {
        return agent::fail(Code::provider_bad_response,
                           "the answer is not a list of models: " + excerpt(agent::dump(answer)));
      }
      add_names(*models, listing, names);
      const Json* has_more = agent::find(answer, "has_more");
      const std::string next(agent::text_at(answer, listing.next));
      if (next.empty() || next == page || (has_more != nullptr && *has_more == false)) {
        return {};
      }
      page = next;
    }
    return agent::fail(Code::provider_bad_response,
                       fmt::format("the list of models has more than {} pages", k_most_pages));
  }

 private:
  static agent::ModelSpec spec() {
    agent::ModelSpec spec;
    spec.stream = false;
    spec.timeouts.request = std::chrono::seconds(30);
    return spec;
  }

  Result<Json> ask(const std::string& url, const std::stop_token& stop) {
    TRY_ASSIGN(const agent::HttpResponse response,
               http_.send({.method = "GET",
                           .url = url,
                           .headers = wire_->headers(),
                           .body = {},
                           .timeouts = wire_->settings().timeouts,
                           .signer = resolved_.signer ? &*resolved_.signer : nullptr},
                          nullptr,
                          stop));
    if (response.status < 200 || response.status > 299) {
      return agent::fail(
          wire_->classify(response.status, response.headers, response.body, clock_.wall()));
    }
    auto json = agent::parse_json(response.body);
    if (!json) {
      return agent::fail(Code::provider_bad_response,
                         "the answer is not a list of models: " + excerpt(response.body));
    }
    return *std::move(json);
  }

  const Resolved& resolved_;
  agent::Http& http_;
  const agent::Clock& clock_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace

Result<Names> list_models(const Resolved& resolved,
                          agent::Http& http,
                          const agent::Clock& clock,
                          std::stop_token stop) {
  const auto is_ours = [&](const Listing& listing) {
    return listing.protocol == resolved.protocol;
  };
  if (std::ranges::none_of(k_listings, is_ours)) {
    return agent::fail(Code::provider_unsupported,
                       fmt::format("the protocol `{}` has no list of models", resolved.protocol));
  }
  Lister lister(resolved, http, clock);
  Names names;
  for (const Listing& listing : k_listings) {
    if (is_ours(listing)) {
      if (auto added = lister.add(listing, names, stop); !added) {
        agent::Error error = std::move(added).error();
        error.provider = resolved.provider;
        return agent::fail(std::move(error));
      }
    }
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

}  // namespace providers
