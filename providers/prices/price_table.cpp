#include "providers/prices/price_table.h"

#include "agent/duration.h"
#include "providers/prices/price_text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace providers {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// A line's id, match and what stands behind the colon.
struct Entry {
  std::string_view id;
  std::string_view match;
  std::string_view value;
};

std::optional<Entry> parse_entry(std::string_view line) {
  constexpr std::string_view k_colon = " : ";
  const std::size_t colon = line.find(k_colon);
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view match = line.substr(0, colon);
  take_word(match);  // what the line is
  const std::string_view id = take_word(match);
  return id.empty() ? std::nullopt
                    : std::optional(Entry{
                          .id = id,
                          .match = match,
                          .value = line.substr(colon + k_colon.size()),
                      });
}

// Where a class of characters ends that begins there; npos: it is none of the simplest.
std::size_t end_of_class(std::string_view pattern, std::size_t at) {
  at += pattern.substr(at).starts_with("[^") ? 2 : 1;
  const std::size_t end = pattern.find_first_of(R"([]\)", at);
  return end != at && end < pattern.size() && pattern[end] == ']' ? end : std::string_view::npos;
}

// Whether there may be a `|` outside of all groups.
bool may_have_other_start(std::string_view pattern) {
  int groups = 0;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '|' && groups == 0) {
      return true;
    }
    groups += c == '(' ? 1 : c == ')' ? -1 : 0;
    at += c == '\\' ? 1 : 0;
    if (c == '[' && (at = end_of_class(pattern, at)) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// What all that fits the pattern begins with, as far as that is plain to see.
std::string plain_start(std::string_view pattern) {
  constexpr std::string_view k_special = R"(\^$.|()[]{}*+?)";
  constexpr std::string_view k_may_be_missing = "*?{";
  std::string start;
  if (may_have_other_start(pattern)) {
    return start;
  }
  while (!pattern.empty()) {
    const char c = pattern.front();
    const bool is_dot = pattern.starts_with(R"(\.)");
    if (!is_dot && (k_special.contains(c) || c < 0)) {
      if (k_may_be_missing.contains(c) && !start.empty()) {
        start.pop_back();
      }
      return start;
    }
    start += is_dot ? '.' : c;
    pattern.remove_prefix(is_dot ? 2 : 1);
  }
  return start;
}

// The address need only begin as the pattern says. To compile them all costs a run more than to
// read its agent file, and nearly all are told from the address without.
std::optional<bool> is_address_of(const std::string& pattern, std::string_view base_url) {
  if (!base_url.starts_with(plain_start(pattern))) {
    return false;
  }
  const RE2 expression(pattern, RE2::Quiet);
  if (!expression.ok()) {
    return std::nullopt;
  }
  const re2::StringPiece address(base_url.data(), base_url.size());
  return expression.Match(address, 0, address.size(), RE2::ANCHOR_START, nullptr, 0);
}

}  // namespace

agent::Result<PriceTable> PriceTable::open(std::string_view text, std::string file) {
  std::string_view rest = text;
  std::string_view head = take_line(rest);
  if (head.starts_with(k_price_format)) {
    head.remove_prefix(k_price_format.size());
    if (const auto date = agent::parse_day(take_word(head))) {
      return PriceTable(rest, std::move(file), *date);
    }
  }
  agent::Error error{.code = agent::Code::config_invalid,
                     .message = "this is not a price table that this version reads",
                     .help = "import the prices again: `errand prices import FILE`"};
  error.where = agent::Where{.file = std::move(file)};
  return agent::fail(std::move(error));
}

PriceTable::Size PriceTable::size() const {
  Size size;
  for (std::string_view rest = text_; !rest.empty();) {
    const auto line = take_line(rest);
    size.providers += line.starts_with("provider ") ? 1 : 0;
    size.models += line.starts_with("model ") ? 1 : 0;
  }
  return size;
}

std::unexpected<agent::Error> PriceTable::broken(std::string_view line) const {
  const auto before = std::string_view(text_.data(), line.data());
  agent::Error error{.code = agent::Code::config_invalid,
                     .message = "this line of the table of prices is broken",
                     .help = "import the prices again: `errand prices import FILE`"};
  error.where = agent::Where{.file = file_,
                             .line = 2 + static_cast<int>(std::ranges::count(before, '\n')),
                             .column = 1,
                             .excerpt = std::string(line)};
  return agent::fail(std::move(error));
}

agent::Result<bool> PriceTable::is_provider(std::string_view line, const PriceQuery& query) const {
  const auto entry = parse_entry(line);
  if (!entry) {
    return broken(line);
  }
  if (query.provider == entry->id) {
    return true;
  }
  const auto fits = query.provider.empty()
                        ? is_address_of(unescape_word(entry->value), query.base_url)
                        : holds(entry->match, query.provider);
  return fits ? agent::Result<bool>(*fits) : broken(line);
}

agent::Result<std::string_view> PriceTable::find_provider(const PriceQuery& query) const {
  for (std::string_view rest = text_; !rest.empty();) {
    const auto here = rest;
    const auto line = take_line(rest);
    if (line.starts_with("provider ")) {
      TRY_ASSIGN(const bool found, is_provider(line, query));
      if (found) {
        return here;
      }
    }
  }
  return std::string_view{};
}

agent::Result<std::optional<FoundPrice>> PriceTable::find_model(std::string_view lines,
                                                                std::string_view model) const {
  auto provider = take_line(lines);
  take_word(provider);
  const auto provider_id = take_word(provider);
  while (!lines.empty() && !lines.starts_with("provider ")) {
    const auto line = take_line(lines);
    if (!line.starts_with("model ")) {
      continue;
    }
    const auto entry = parse_entry(line);
    const auto fits = !entry                 ? std::nullopt
                      : entry->match.empty() ? holds(fmt::format("={}", entry->id), model)
                                             : holds(entry->match, model);
    if (!fits) {
      return broken(line);
    }
    if (*fits) {
      std::string_view value = entry->value;
      const std::int64_t window = take_window(value);
      auto tariff = parse_tariff(value);
      if (!tariff) {
        return broken(line);
      }
      return FoundPrice{.tariff = std::move(*tariff),
                        .provider = unescape_word(provider_id),
                        .model = unescape_word(entry->id),
                        .match = std::string(entry->match),
                        .window = window};
    }
  }
  return std::optional<FoundPrice>{};
}

agent::Result<std::optional<FoundPrice>> PriceTable::find(const PriceQuery& query) const {
  if (query.provider.empty() && query.base_url.empty()) {
    return std::optional<FoundPrice>{};
  }
  TRY_ASSIGN(std::string_view lines, find_provider(query));
  TRY_ASSIGN(auto found, find_model(lines, query.model));
  take_line(lines);
  std::string_view fallbacks = take_line(lines);
  if (!found && take_word(fallbacks) == "fallback") {
    for (auto id = take_word(fallbacks); !id.empty() && !found; id = take_word(fallbacks)) {
      TRY_ASSIGN(const auto others,
                 find_provider({.provider = id, .base_url = {}, .model = query.model}));
      TRY_ASSIGN(found, find_model(others, query.model));
    }
  }
  return found;
}

}  // namespace providers
