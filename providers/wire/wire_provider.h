// A wire protocol over HTTP as a Provider: one request, one answer, no second try.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/provider.h"
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

// `http` and `clock` are borrowed and outlive the provider. Errors carry provider, model, HTTP
// status and request id where there is one. The encoded messages are kept from call to call, as
// long as it is the same Conversation object at the same revision.
std::unique_ptr<agent::Provider> make_wire_provider(std::unique_ptr<Wire> wire,
                                                    agent::Http& http,
                                                    const agent::Clock& clock);

}  // namespace providers
