// Answers of Ollama's own chat protocol.
#pragma once
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

std::unique_ptr<Decoder> make_ollama_decoder();

}  // namespace providers
