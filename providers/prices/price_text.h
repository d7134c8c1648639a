// How a table of prices is written: one line a model, readable in a diff, read a line at a time.
//
//   errand-prices 1 2026-08-21
//   provider anthropic ~anthropic : https://api\.anthropic\.com
//   model claude-3-opus ^claude-3-opus ( ~opus ) : in=15 out=75 read=1.5 write=18.75
//   fallback openai
//
// A match is `=text`, `^begins with`, `$ends with`, `~contains` or `/regular expression`; `( … )`
// holds where one of them does, as does a whole line of them, and `&( … )` where all do. Without a
// match a name must be the id. Prices are dollars per million tokens, `200000:6` behind a comma the
// price above so many input tokens; `;` divides periods, `from=DAY` and `at=TIME-TIME` say when.
#pragma once
#include "agent/price.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace providers {

constexpr std::string_view k_price_format = "errand-prices 1";

// One word of a line, and the rest of the line behind it. Empty at the end.
std::string_view take_word(std::string_view& line);
// Words hold no white space: it is written as %20.
std::string escape_word(std::string_view text);
std::string unescape_word(std::string_view word);

// Whether the words of a match hold for a name; letters count the same in upper and lower case.
// nullopt where they are no match.
std::optional<bool> holds(std::string_view match, std::string_view name);

// Takes how many tokens the model can take from the beginning of what stands behind the colon of
// its line; 0: it is not said.
std::int64_t take_window(std::string_view& text);
std::string write_window(std::int64_t window);  // with a blank behind it; of 0, empty

// What stands there besides. nullopt where it is none.
std::optional<agent::Tariff> parse_tariff(std::string_view text);
std::string write_tariff(const agent::Tariff& tariff);

}  // namespace providers
