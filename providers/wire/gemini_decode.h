// Answers of Google's generateContent, streamed or not, from AI Studio and from Vertex.
#pragma once
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

std::unique_ptr<Decoder> make_gemini_decoder();

}  // namespace providers
