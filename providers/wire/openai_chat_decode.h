// Answers of the Chat Completions protocol, as OpenAI and its many imitators send them.
#pragma once
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

std::unique_ptr<Decoder> make_openai_chat_decoder(const Quirks& quirks);

}  // namespace providers
