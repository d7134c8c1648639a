// A run as a Markdown document, for people who are sent one.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"

#include <span>
#include <string>

namespace cli {

std::string run_document(std::span<const agent::Event> events, const agent::Redactor& redactor);

}  // namespace cli
