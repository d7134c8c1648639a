// gumbo's tree of a page, within bounds: what its author did to make it large takes neither the
// process's memory nor its stack.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <gumbo.h>
#include <memory>
#include <stop_token>
#include <string>

namespace tools {

class HtmlTree {
 public:
  // Of a bounded page (html_bounds.h). tool.result_unusable, tool.cancelled: as html_to_text().
  static agent::Result<HtmlTree> parse(std::string page, const std::stop_token& stop);

  ~HtmlTree();
  HtmlTree(HtmlTree&&) noexcept;
  HtmlTree& operator=(HtmlTree&&) = delete;

  const GumboNode& root() const { return *root_; }

 private:
  class Memory;

  HtmlTree(std::unique_ptr<std::string> page, std::unique_ptr<Memory> memory);

  std::unique_ptr<std::string> page_;  // the nodes point into it
  std::unique_ptr<Memory> memory_;
  const GumboNode* root_ = nullptr;
};

}  // namespace tools
