#include "tools/web/html_bounds.h"

#include "agent/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tools {
namespace {

using Names = std::span<const std::string_view>;

constexpr auto k_void = std::to_array<std::string_view>({"area",
                                                         "base",
                                                         "basefont",
                                                         "bgsound",
                                                         "br",
                                                         "col",
                                                         "embed",
                                                         "frame",
                                                         "hr",
                                                         "img",
                                                         "input",
                                                         "keygen",
                                                         "link",
                                                         "meta",
                                                         "param",
                                                         "source",
                                                         "track",
                                                         "wbr"});
constexpr auto k_formatting = std::to_array<std::string_view>(
    {"b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"});
constexpr auto k_raw = std::to_array<std::string_view>(
    {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"});
constexpr auto k_end_paragraphs = std::to_array<std::string_view>(
    {"address", "article", "aside",   "blockquote", "center",   "dd",         "details", "dialog",
     "dir",     "div",     "dl",      "dt",         "fieldset", "figcaption", "figure",  "footer",
     "form",    "h1",      "h2",      "h3",         "h4",       "h5",         "h6",      "header",
     "hgroup",  "hr",      "li",      "main",       "menu",     "nav",        "ol",      "p",
     "pre",     "section", "summary", "table",      "ul"});
// Formatting that was open before them is open again behind them.
constexpr auto k_own_formatting = std::to_array<std::string_view>(
    {"td", "th", "caption", "button", "object", "marquee", "applet"});

constexpr auto k_around_paragraphs = std::to_array<std::string_view>(
    {"table", "td", "th", "caption", "button", "object", "li", "dd", "dt"});
constexpr auto k_around_items =
    std::to_array<std::string_view>({"ul", "ol", "menu", "select", "table", "td"});
constexpr auto k_around_terms = std::to_array<std::string_view>({"dl", "table", "td"});

// What ends with the element, at the latest.
constexpr unsigned k_holds_paragraphs = 1;
constexpr unsigned k_holds_items = 2;
constexpr unsigned k_holds_terms = 4;
constexpr unsigned k_holds_cells = 8;

bool is_among(std::string_view name, Names names) {
  return std::ranges::find(names, name) != names.end();
}

unsigned what_holds(std::string_view name) {
  return (is_among(name, k_around_paragraphs) ? k_holds_paragraphs : 0U) |
         (is_among(name, k_around_items) ? k_holds_items : 0U) |
         (is_among(name, k_around_terms) ? k_holds_terms : 0U) |
         (name == "table" ? k_holds_cells : 0U);
}

bool begins_tag_name(char c) {
  const char low = agent::to_lower(c);
  return low >= 'a' && low <= 'z';
}

bool is_blank_in_tag(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

class Bounder {
 public:
  explicit Bounder(std::string_view page) : page_(page), lower_(agent::to_lower(page)) {
    out_.page.reserve(page.size());
  }

  BoundedPage run() {
    while (at_ < page_.size()) {
      const std::size_t next = std::min(page_.find('<', at_), page_.size());
      keep(next);
      if (next < page_.size()) {
        markup();
      }
    }
    return std::move(out_);
  }

 private:
  struct Open {
    std::uint32_t name;
    std::size_t formatting;  // that was open before it
    bool is_formatting_own = false;
    bool is_foreign = false;
  };
  struct Tag {
    std::string_view name;  // in small letters
    std::size_t kept_end;   // behind the last attribute that is kept
    std::size_t end;        // behind the '>'
    bool is_closed_in_itself = false;
  };

  char at(std::size_t index) const { return index < page_.size() ? page_[index] : '\0'; }

  void keep(std::size_t end) {
    out_.page += page_.substr(at_, end - at_);
    at_ = end;
  }
  void keep_behind(std::string_view mark, std::size_t from) {
    const std::size_t found = lower_.find(mark, from);
    keep(found == std::string::npos ? page_.size() : found + mark.size());
  }

  void markup() {
    const char next = at(at_ + 1);
    if (begins_tag_name(next)) {
      start_tag(read_tag(at_ + 1));
    } else if (next == '/' && begins_tag_name(at(at_ + 2))) {
      end_tag(read_tag(at_ + 2));
    } else if (page_.substr(at_, 4) == "<!--") {
      const bool is_empty = at(at_ + 4) == '>' || page_.substr(at_ + 4, 2) == "->";
      keep_behind(is_empty ? ">" : "-->", at_ + 4);
    } else if (next == '!' || next == '?' || next == '/') {
      keep_behind(">", at_);
    } else {
      keep(at_ + 1);
    }
  }

  Tag read_tag(std::size_t begin) const {
    std::size_t end = begin;
    const auto ends_name = [&](char c) { return is_blank_in_tag(c) || c == '/' || c == '>'; };
    while (end < page_.size() && !ends_name(page_[end])) {
      ++end;
    }
    Tag tag{
        .name = std::string_view(lower_).substr(begin, end - begin), .kept_end = end, .end = end};
    std::size_t attributes = 0;
    while (end < page_.size() && page_[end] != '>') {
      if (ends_name(page_[end])) {
        tag.is_closed_in_itself = page_[end] == '/';
        ++end;
        continue;
      }
      tag.is_closed_in_itself = false;
      end = behind_attribute(end);
      if (++attributes <= k_most_attributes) {
        tag.kept_end = end;
      }
    }
    tag.end = std::min(end + 1, page_.size());
    return tag;
  }

  std::size_t behind_attribute(std::size_t index) const {
    ++index;  // a name may begin with an equals sign
    while (index < page_.size() && page_[index] != '=' && page_[index] != '/' &&
           page_[index] != '>' && !is_blank_in_tag(page_[index])) {
      ++index;
    }
    std::size_t equals = index;
    while (is_blank_in_tag(at(equals))) {
      ++equals;
    }
    if (at(equals) != '=') {
      return index;
    }
    index = equals + 1;
    while (is_blank_in_tag(at(index))) {
      ++index;
    }
    if (const char quote = at(index); quote == '"' || quote == '\'') {
      return std::min(page_.find(quote, index + 1), page_.size() - 1) + 1;
    }
    while (index < page_.size() && page_[index] != '>' && !is_blank_in_tag(page_[index])) {
      ++index;
    }
    return index;
  }

  void start_tag(const Tag& tag) {
    if (tag.name == "frameset") {
      at_ = tag.end;
      return;
    }
    end_what_it_ends(tag.name);
    const bool is_formatting = is_among(tag.name, k_formatting);
    const bool is_alone = is_among(tag.name, k_void) || (tag.is_closed_in_itself && foreign_ > 0);
    const std::uint32_t number = number_of(tag.name);
    if (!is_alone && (open_.size() >= k_most_open_elements ||
                      (is_formatting && formatting_ >= k_most_open_formatting))) {
      at_ = tag.end;
      ++out_.tags_left_out;
      ++left_out_[number];
      return;
    }
    keep(tag.kept_end);
    if (tag.kept_end + 1 < tag.end) {
      out_.page += tag.is_closed_in_itself ? "/>" : ">";
      at_ = tag.end;
    }
    keep(tag.end);
    if (is_alone) {
      return;
    }
    if (is_among(tag.name, k_raw) && foreign_ == 0) {
      raw_text(tag.name);
      return;
    }
    const bool is_foreign = tag.name == "svg" || tag.name == "math";
    open_.push_back({.name = number,
                     .formatting = formatting_,
                     .is_formatting_own = is_among(tag.name, k_own_formatting),
                     .is_foreign = is_foreign});
    foreign_ += is_foreign ? 1 : 0;
    formatting_ += is_formatting ? 1 : 0;
  }

  void end_tag(const Tag& tag) {
    const std::uint32_t number = number_of(tag.name);
    if (const auto left = left_out_.find(number); left != left_out_.end() && left->second > 0) {
      --left->second;
      at_ = tag.end;
      return;
    }
    keep(tag.kept_end);
    out_.page += tag.kept_end < tag.end ? ">" : "";
    at_ = tag.end;
    if (is_among(tag.name, k_formatting) && formatting_ > 0) {
      --formatting_;
    }
    close_to(number, 0);
  }

  // Up to the end tag, which the next round reads; a text without one goes to the end of the page.
  void raw_text(std::string_view name) {
    const std::string mark = "</" + std::string(name);
    std::size_t found = lower_.find(mark, at_);
    while (found != std::string::npos && found + mark.size() < page_.size() &&
           !is_blank_in_tag(page_[found + mark.size()]) && page_[found + mark.size()] != '/' &&
           page_[found + mark.size()] != '>') {
      found = lower_.find(mark, found + 1);
    }
    keep(std::min(found, page_.size()));
  }

  // Elements whose end is where the next one begins.
  void end_what_it_ends(std::string_view name) {
    constexpr auto k_cells = std::to_array<std::string_view>({"td", "th"});
    constexpr auto k_groups = std::to_array<std::string_view>({"thead", "tbody", "tfoot"});
    constexpr auto k_terms = std::to_array<std::string_view>({"dt", "dd"});
    if (is_among(name, k_end_paragraphs)) {
      close_to(number_of("p"), k_holds_paragraphs);
    }
    if (name == "a") {  // what is in it stays open
      std::erase_if(open_, [a = number_of(name)](const Open& open) { return open.name == a; });
    }
    if (name == "li" || name == "option" || name == "tr") {
      close_to(number_of(name), name == "tr" ? k_holds_cells : k_holds_items);
    }
    for (const auto& [group, outside] : {std::pair<Names, unsigned>{k_cells, k_holds_cells},
                                         {k_groups, k_holds_cells},
                                         {k_terms, k_holds_terms}}) {
      for (const std::string_view other : is_among(name, group) ? group : Names()) {
        close_to(number_of(other), outside);
      }
    }
  }

  // Nothing where there is none, or where one that is `outside` stands before it.
  void close_to(std::uint32_t number, unsigned outside) {
    std::size_t index = open_.size();
    while (index > 0 && open_[index - 1].name != number) {
      if ((holds_[open_[index - 1].name] & outside) != 0) {
        return;
      }
      --index;
    }
    if (index == 0) {
      return;
    }
    for (; open_.size() >= index; open_.pop_back()) {
      const Open& last = open_.back();
      foreign_ -= last.is_foreign ? 1 : 0;
      formatting_ = last.is_formatting_own ? last.formatting : formatting_;
    }
  }

  std::uint32_t number_of(std::string_view name) {
    const auto [found, is_new] =
        numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(holds_.size()));
    if (is_new) {
      holds_.push_back(what_holds(name));
    }
    return found->second;
  }

  std::string_view page_;
  std::string lower_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::size_t formatting_ = 0;
  std::size_t foreign_ = 0;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<unsigned> holds_;  // by the number of the name
  std::unordered_map<std::uint32_t, std::size_t> left_out_;
  BoundedPage out_;
};

}  // namespace

BoundedPage bounded_page(std::string_view page) {
  return Bounder(page).run();
}

}  // namespace tools
