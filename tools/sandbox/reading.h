// What may be read, as rules over paths: the deepest rule that covers a path decides, of two as
// deep the one that opens. What no rule covers is open.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tools::sandbox {

// Absolute paths, each with all that is below it. They need not exist, so that what appears later
// is as closed as what is there.
struct ReadingRules {
  std::vector<std::string> closed;  // a `*` at the end stands for any rest of the name
  std::vector<std::string> open;

  bool operator==(const ReadingRules&) const = default;
};

// Of a path without links in it.
bool may_read(const ReadingRules& rules, std::string_view path);

// Those that say anything of the folder, or of what is below it.
ReadingRules rules_around(const ReadingRules& rules, std::string_view folder);

// Whether something below the folder is closed by a rule of its own.
bool has_closed_inside(const ReadingRules& rules, std::string_view folder);

}  // namespace tools::sandbox
