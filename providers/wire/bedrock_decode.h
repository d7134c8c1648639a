// Answers of Amazon Bedrock's Converse and ConverseStream.
#pragma once
#include "providers/wire/wire.h"

#include <memory>

namespace providers {

std::unique_ptr<Decoder> make_bedrock_decoder();

}  // namespace providers
