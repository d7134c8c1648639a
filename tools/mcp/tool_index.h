// Tools found by words: of their names, of their parameters and of what is said of them. The same
// words find the same tools in the same order.
#pragma once
#include "agent/toolbox.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tools::mcp {

class ToolIndex {
 public:
  void add(const agent::ToolInfo& tool);

  struct Found {
    std::vector<const agent::ToolInfo*> tools;  // of this index, the best first, at most `limit`
    std::size_t all = 0;                        // as many as fit
  };
  // First what fits the most words of the query, then what fits them best: the name counts most,
  // a whole word more than the beginning of one. A tool's very name finds it first.
  Found find(std::string_view query, std::size_t limit) const;

  std::size_t size() const { return tools_.size(); }

 private:
  struct Place {
    std::size_t tool;  // its number
    int weight;
  };
  void add_words(std::string_view text, int weight);

  std::vector<agent::ToolInfo> tools_;
  std::map<std::string, std::vector<Place>, std::less<>> places_;  // by word; a tool once in each
};

}  // namespace tools::mcp
