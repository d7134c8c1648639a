#include "config/build/flow_order.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace config {
namespace {

constexpr int k_deepest = 32;

using Names = std::vector<std::string>;

// What a part of the text begins and ends with.
struct Ends {
  Names first;
  Names last;
};

class OrderReader {
 public:
  explicit OrderReader(std::string_view text) : text_(text) {}

  std::expected<std::map<std::string, Names>, OrderMistake> read() {
    if (auto whole = sequence(0); !whole) {
      return std::unexpected(std::move(whole).error());
    }
    if (!is_at_end()) {
      return std::unexpected(
          mistake("the order does not go on like this: `>>` or `|` is expected"));
    }
    return std::move(before_);
  }

 private:
  using Read = std::expected<Ends, OrderMistake>;

  OrderMistake mistake(std::string message, std::size_t length = 1) const {
    return {.offset = at_, .length = length, .message = std::move(message)};
  }

  bool is_at_end() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) {
      ++at_;
    }
    return at_ == text_.size();
  }

  bool take(std::string_view sign) {
    if (is_at_end() || !text_.substr(at_).starts_with(sign)) {
      return false;
    }
    at_ += sign.size();
    return true;
  }

  Read sequence(int depth) {
    Read whole = side_by_side(depth);
    while (whole && take(">>")) {
      Read next = side_by_side(depth);
      if (!next) {
        return next;
      }
      for (const std::string& name : next->first) {
        Names& before = before_[name];
        before.insert(before.end(), whole->last.begin(), whole->last.end());
      }
      whole->last = std::move(next->last);
    }
    return whole;
  }

  Read side_by_side(int depth) {
    Read whole = part(depth);
    while (whole && take("|")) {
      Read next = part(depth);
      if (!next) {
        return next;
      }
      std::ranges::move(next->first, std::back_inserter(whole->first));
      std::ranges::move(next->last, std::back_inserter(whole->last));
    }
    return whole;
  }

  Read part(int depth) {
    if (depth > k_deepest) {
      return std::unexpected(mistake("the order nests too deeply"));
    }
    if (take("(")) {
      Read inner = sequence(depth + 1);
      if (inner && !take(")")) {
        return std::unexpected(mistake("a parenthesis is not closed"));
      }
      return inner;
    }
    return name();
  }

  Read name() {
    is_at_end();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n>|()", at_), text_.size());
    const std::string name(text_.substr(at_, end - at_));
    if (name.empty()) {
      return std::unexpected(mistake("here the name of a step is expected"));
    }
    if (!before_.try_emplace(name).second) {
      return std::unexpected(mistake(
          fmt::format("the step `{}` stands here twice", agent::one_line(name, 60)), name.size()));
    }
    at_ = end;
    return Ends{.first = {name}, .last = {name}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::map<std::string, Names> before_;
};

}  // namespace

std::expected<std::map<std::string, std::vector<std::string>>, OrderMistake> read_flow_order(
    std::string_view text) {
  return OrderReader(text).read();
}

}  // namespace config
