#include "tools/mcp/tool_index.h"

#include "agent/json.h"
#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <compare>
#include <set>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Json;

constexpr int k_name_weight = 8;
constexpr int k_parameter_weight = 2;
constexpr int k_description_weight = 1;
constexpr std::size_t k_shortest_beginning = 3;  // bytes of a word that stands for longer ones
constexpr std::size_t k_most_words = 20;         // of a query
constexpr std::size_t k_longest_word = 60;       // bytes

bool is_upper(char one) {
  return one >= 'A' && one <= 'Z';
}

bool is_in_word(char one) {
  const char lower = agent::to_lower(one);
  return agent::is_digit(one) || (lower >= 'a' && lower <= 'z') || (one & 0x80) != 0;
}

// In lower case; `listOpenIssues` has three.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  bool goes_on = false;
  char before = ' ';
  for (const char one : text) {
    const bool is_next_hump = is_upper(one) && !is_upper(before);
    if (!is_in_word(one)) {
      goes_on = false;
    } else if (goes_on && !is_next_hump) {
      if (words.back().size() < k_longest_word) {
        words.back() += agent::to_lower(one);
      }
    } else {
      words.emplace_back(1, agent::to_lower(one));
      goes_on = true;
    }
    before = one;
  }
  return words;
}

// How well a tool fits: compared in this order.
struct Fit {
  bool is_named = false;
  int words = 0;
  int weight = 0;

  auto operator<=>(const Fit&) const = default;
};

}  // namespace

void ToolIndex::add_words(std::string_view text, int weight) {
  const std::size_t tool = tools_.size() - 1;
  for (std::string& word : words_in(text)) {
    std::vector<Place>& places = places_[std::move(word)];
    if (places.empty() || places.back().tool != tool) {
      places.push_back({.tool = tool, .weight = weight});
    } else {
      places.back().weight = std::max(places.back().weight, weight);
    }
  }
}

void ToolIndex::add(const agent::ToolInfo& tool) {
  tools_.push_back(tool);
  add_words(tool.name, k_name_weight);
  add_words(tool.description, k_description_weight);
  const auto schema = agent::parse_json(tool.parameters);
  const Json* const parameters = schema ? agent::find(*schema, "properties") : nullptr;
  if (parameters != nullptr && parameters->is_object()) {
    for (const auto& [name, value] : parameters->items()) {
      add_words(name, k_parameter_weight);
      add_words(agent::text_at(value, "description"), k_description_weight);
    }
  }
}

ToolIndex::Found ToolIndex::find(std::string_view query, std::size_t limit) const {
  std::vector<Fit> fits(tools_.size());
  std::set<std::string> asked;
  for (std::string& word : words_in(query)) {
    if (asked.size() == k_most_words || !asked.insert(word).second) {
      continue;
    }
    std::map<std::size_t, int> best;  // of this word, by tool
    const bool may_begin = word.size() >= k_shortest_beginning;
    for (auto at = places_.lower_bound(word); at != places_.end() && at->first.starts_with(word);
         ++at) {
      const bool is_whole = at->first.size() == word.size();
      if (!is_whole && !may_begin) {
        break;
      }
      for (const Place& place : at->second) {
        int& weight = best[place.tool];
        weight = std::max(weight, is_whole ? 2 * place.weight : place.weight);
      }
    }
    for (const auto& [tool, weight] : best) {
      ++fits[tool].words;
      fits[tool].weight += weight;
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t tool = 0; tool < tools_.size(); ++tool) {
    fits[tool].is_named = tools_[tool].name == agent::trimmed(query);
    if (fits[tool].words > 0) {
      order.push_back(tool);
    }
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto compared = fits[b] <=> fits[a];
    return compared != 0 ? compared < 0 : tools_[a].name < tools_[b].name;
  });
  Found found{.tools = {}, .all = order.size()};
  for (std::size_t at = 0; at < std::min(limit, order.size()); ++at) {
    found.tools.push_back(&tools_[order[at]]);
  }
  return found;
}

}  // namespace tools::mcp
