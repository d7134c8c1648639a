#include "providers/wire/aws.h"

#include "agent/text.h"
#include "providers/http/url.h"

#include <fmt/format.h>

namespace providers {
namespace {

using agent::Code;

agent::Result<std::string> region_of(const agent::Environment& environment) {
  for (const std::string_view name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = agent::trimmed_value_of(environment, name); !region.empty()) {
      return region;
    }
  }
  return agent::fail(
      Code::config_invalid,
      "neither AWS_REGION nor AWS_DEFAULT_REGION says where Bedrock is",
      "Set it: export AWS_REGION=us-east-1, or name the server in `model.base_url`.");
}

bool is_of_amazon(std::string_view base_url) {
  const auto host = host_of(base_url);
  return base_url.starts_with("https://") &&
         (host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn"));
}

// "us-east-1" of bedrock-runtime.us-east-1.amazonaws.com; empty for other hosts.
std::string_view region_in(std::string_view base_url) {
  constexpr std::string_view k_service = "bedrock-runtime";
  const auto service = base_url.find(k_service);
  if (!is_of_amazon(base_url) || service == std::string_view::npos) {
    return {};
  }
  const auto dot = base_url.find('.', service);  // behind "-fips", too
  const auto rest = dot == std::string_view::npos ? std::string_view() : base_url.substr(dot + 1);
  return rest.substr(0, rest.find('.'));
}

}  // namespace

agent::Result<std::string> bedrock_address(const agent::Environment& environment) {
  TRY_ASSIGN(const auto region, region_of(environment));
  return fmt::format(
      "https://bedrock-runtime.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

agent::Result<agent::AwsSigner> bedrock_signer(std::string_view base_url,
                                               const agent::Environment& environment) {
  agent::AwsSigner signer{
      .region = std::string(region_in(base_url)),
      .service = "bedrock",
      .access_key = agent::trimmed_value_of(environment, "AWS_ACCESS_KEY_ID"),
      .secret_key = agent::trimmed_value_of(environment, "AWS_SECRET_ACCESS_KEY"),
      .session_token = agent::trimmed_value_of(environment, "AWS_SESSION_TOKEN")};
  if (signer.access_key.empty() || signer.secret_key.empty()) {
    return agent::fail(
        Code::provider_auth,
        "no key for Bedrock: AWS_BEARER_TOKEN_BEDROCK is not set, nor are AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY both",
        "Set one or the other; `aws configure export-credentials --format env` prints the keys of "
        "a "
        "profile.");
  }
  if (signer.region.empty()) {
    TRY_ASSIGN(signer.region, region_of(environment));
  }
  return signer;
}

}  // namespace providers
