// What `errand help TOPIC` shows: the pages of the manual and their sections.
#pragma once
#include "agent/result.h"

#include <span>
#include <string>
#include <string_view>

namespace cli {

struct Topic {
  std::string_view name;  // "sandbox"
  std::string_view summary;
  std::string_view page;                       // "errand-agent.5"
  std::span<const std::string_view> sections;  // in this order; empty: the whole page
};
std::span<const Topic> help_topics();

// nullptr where there is none. A page's name without its section is one, too: "errand-agent".
const Topic* find_topic(std::string_view name);

// As text to read; `internal` where the page has no such section.
agent::Result<std::string> topic_text(const Topic& topic, bool bold);

}  // namespace cli
