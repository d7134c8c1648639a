// Answers of the Anthropic Messages protocol.
#pragma once
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

std::unique_ptr<Decoder> make_anthropic_decoder();

}  // namespace providers
