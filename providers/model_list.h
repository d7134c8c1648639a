// The models that an endpoint offers, asked of the endpoint itself.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/result.h"
#include "providers/registry.h"

#include <stop_token>
#include <string>
#include <vector>

namespace providers {

// Their names as a request would say them, sorted. Errors: provider.* as of any request;
// provider.unsupported where the protocol has no list; provider.bad_response where the answer is
// none.
agent::Result<std::vector<std::string>> list_models(const Resolved& resolved,
                                                    agent::Http& http,
                                                    const agent::Clock& clock,
                                                    std::stop_token stop);

}  // namespace providers
