// Where Amazon's model service is, and with what its requests are signed, by the environment.
#pragma once
#include "agent/environment.h"
#include "agent/http.h"
#include "agent/result.h"

#include <string>
#include <string_view>

namespace providers {

// Of the region in AWS_REGION or AWS_DEFAULT_REGION. config.invalid where there is none.
agent::Result<std::string> bedrock_address(const agent::Environment& environment);

// From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the region is the address's
// own, or the environment's. Errors: provider.auth (no keys), config.invalid (no region).
agent::Result<agent::AwsSigner> bedrock_signer(std::string_view base_url,
                                               const agent::Environment& environment);

}  // namespace providers
