// Answers of the Responses protocol, as OpenAI and its imitators send them.
#pragma once
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

std::unique_ptr<Decoder> make_openai_responses_decoder();

}  // namespace providers
