#include "tools/mcp/resource_list.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace tools::mcp {
namespace {

using agent::Json;

constexpr std::size_t k_most_shown = 200;
constexpr std::size_t k_longest_uri = 2'000;  // bytes
constexpr std::size_t k_named_in_list = 100;
constexpr std::size_t k_described_in_list = 200;

std::string_view uri_of(const Json& item, ResourceKind kind) {
  return agent::text_at(item, kind == ResourceKind::resource ? "uri" : "uriTemplate");
}

// A model has to be able to say it again, as it is.
bool can_be_said(std::string_view uri) {
  return !uri.empty() && uri.size() <= k_longest_uri && !has_blanks(uri);
}

bool has(const Json& item, ResourceKind kind, std::string_view wanted) {
  const auto fits = [&](std::string_view text) { return agent::to_lower(text).contains(wanted); };
  constexpr auto k_words = std::to_array<std::string_view>({"name", "title", "description"});
  return fits(uri_of(item, kind)) || std::ranges::any_of(k_words, [&](std::string_view key) {
           return fits(agent::text_at(item, key));
         });
}

std::string line_of(const Json& item, ResourceKind kind) {
  const std::string_view title = agent::text_at(item, "title");
  std::string about =
      agent::one_line(title.empty() ? agent::text_at(item, "name") : title, k_named_in_list);
  const auto add = [&](const std::string& more) {
    about += (about.empty() || more.empty() ? "" : ", ") + more;
  };
  add(agent::one_line(agent::text_at(item, "mimeType"), k_named_in_list));
  if (const Json* const size = agent::find(item, "size");
      size != nullptr && agent::is_number(*size)) {
    add(agent::numeral(*size) + " bytes");
  }
  const std::string description =
      agent::one_line(agent::text_at(item, "description"), k_described_in_list);
  return fmt::format("{}{}{}\n",
                     uri_of(item, kind),
                     about.empty() ? "" : fmt::format(" ({})", about),
                     description.empty() ? "" : " " + description);
}

std::string_view plural(ResourceKind kind) {
  return kind == ResourceKind::resource ? "resources" : "templates";
}

bool is_blank_or_control(char one) {
  const auto byte = static_cast<unsigned char>(one);
  return byte <= ' ' || byte == 0x7f;
}

}  // namespace

std::string resource_list(const ItemList& list, ResourceKind kind, std::string_view contains) {
  const std::string wanted = agent::to_lower(contains);
  std::string text;
  std::size_t shown = 0;
  std::size_t more = 0;
  std::size_t unsayable = 0;
  for (const Json& item : list.items) {
    if (!wanted.empty() && !has(item, kind, wanted)) {
      continue;
    }
    if (!can_be_said(uri_of(item, kind))) {
      ++unsayable;
    } else if (shown == k_most_shown) {
      ++more;
    } else {
      ++shown;
      text += line_of(item, kind);
    }
  }
  if (shown == 0 && unsayable == 0) {
    text = wanted.empty() ? fmt::format("The server has no {}.\n", plural(kind))
                          : fmt::format("None of its {}{} {} has this text.\n",
                                        list.goes_on ? "first " : "",
                                        list.items.size(),
                                        plural(kind));
  }
  if (more > 0) {
    text += fmt::format("{} more: `contains` shows those that have a text.\n", more);
  }
  if (unsayable > 0) {
    text += fmt::format("{} left out: too long, or no URI.\n", unsayable);
  }
  if (list.goes_on) {
    text += fmt::format("The server has more {} than the {} that were looked at.\n",
                        plural(kind),
                        list.items.size());
  }
  return text;
}

bool has_blanks(std::string_view uri) {
  return std::ranges::any_of(uri, [](char one) { return is_blank_or_control(one); }) ||
         agent::one_line(uri, uri.size()) != uri;
}

bool climbs(std::string_view uri) {
  std::string part;
  bool has_scheme = false;
  for (const char one : agent::percent_decoded(uri) + "/") {
    if (is_blank_or_control(one)) {
      continue;  // parsers drop these
    }
    if (one == ':' && !has_scheme) {  // `note:../x` has a path, too
      has_scheme = true;
      part.clear();
    } else if (one != '/' && one != '\\' && one != '?' && one != '#') {
      part += one;
    } else if (part == "..") {
      return true;
    } else {
      part.clear();
    }
  }
  return false;
}

}  // namespace tools::mcp
