#include "tools/web/html_text.h"

#include "agent/text.h"
#include "tools/web/html_bounds.h"
#include "tools/web/html_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace tools {
namespace {

constexpr auto k_left_out = std::to_array<GumboTag>({
    GUMBO_TAG_SCRIPT,
    GUMBO_TAG_STYLE,
    GUMBO_TAG_TEMPLATE,
    GUMBO_TAG_SVG,
    GUMBO_TAG_IFRAME,
    GUMBO_TAG_OBJECT,
    GUMBO_TAG_CANVAS,
    GUMBO_TAG_AUDIO,
    GUMBO_TAG_VIDEO,
    GUMBO_TAG_SELECT,
    GUMBO_TAG_EMBED,
    GUMBO_TAG_APPLET,
    GUMBO_TAG_INPUT,
    GUMBO_TAG_BUTTON,
    GUMBO_TAG_MATH,
});
// With an empty line around them, and with a new line.
constexpr auto k_paragraphs = std::to_array<GumboTag>({
    GUMBO_TAG_P,
    GUMBO_TAG_TITLE,
    GUMBO_TAG_BLOCKQUOTE,
    GUMBO_TAG_TABLE,
    GUMBO_TAG_DL,
    GUMBO_TAG_FIGURE,
    GUMBO_TAG_HR,
    GUMBO_TAG_PRE,
    GUMBO_TAG_ARTICLE,
    GUMBO_TAG_SECTION,
    GUMBO_TAG_H1,
    GUMBO_TAG_H2,
    GUMBO_TAG_H3,
    GUMBO_TAG_H4,
    GUMBO_TAG_H5,
    GUMBO_TAG_H6,
});
constexpr auto k_lines = std::to_array<GumboTag>({
    GUMBO_TAG_DIV,     GUMBO_TAG_MAIN,    GUMBO_TAG_HEADER,  GUMBO_TAG_FOOTER,     GUMBO_TAG_NAV,
    GUMBO_TAG_ASIDE,   GUMBO_TAG_ADDRESS, GUMBO_TAG_DETAILS, GUMBO_TAG_SUMMARY,    GUMBO_TAG_FORM,
    GUMBO_TAG_CAPTION, GUMBO_TAG_DT,      GUMBO_TAG_DD,      GUMBO_TAG_FIGCAPTION, GUMBO_TAG_LI,
    GUMBO_TAG_TR,      GUMBO_TAG_UL,      GUMBO_TAG_OL,      GUMBO_TAG_FIELDSET,   GUMBO_TAG_LEGEND,
});

bool is_one_of(std::span<const GumboTag> tags, GumboTag tag) {
  return std::ranges::find(tags, tag) != tags.end();
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

std::string_view attribute(const GumboElement& element, const char* name) {
  const GumboAttribute* const found = gumbo_get_attribute(&element.attributes, name);
  return found == nullptr ? std::string_view{} : found->value;
}

// What readers do not see is for machines: often for ours.
bool is_hidden(const GumboElement& element) {
  std::string style = agent::to_lower(attribute(element, "style"));
  std::erase_if(style, is_space);
  return gumbo_get_attribute(&element.attributes, "hidden") != nullptr ||
         agent::to_lower(attribute(element, "aria-hidden")) == "true" ||
         style.contains("display:none") || style.contains("visibility:hidden");
}

// Puts words, gaps and marks one after the other.
class Writer {
 public:
  // Text of the page: white space is one space.
  void words(std::string_view text) {
    for (const char c : text) {
      if (is_space(c)) {
        has_gap_ = true;
        continue;
      }
      if (at_line_begin() || lines_ > 0) {
        has_gap_ = false;
      }
      flush();
      text_ += c;
    }
  }
  // White space in front of the next text.
  void gap() { has_gap_ = true; }
  // As it is.
  void verbatim(std::string_view text) {
    if (!text.empty()) {
      flush();
      text_ += text;
    }
  }
  // The next text begins on a new line, with that many line ends in front.
  void new_line(int lines) {
    lines_ = text_.empty() ? 0 : std::max(lines_, lines);
    has_gap_ = false;
  }
  // Comes in front of the next text.
  void announce(std::string_view mark) { mark_ += mark; }
  std::size_t announced() const { return mark_.size(); }
  // What was announced since, where no text came.
  void forget(std::size_t announced) { mark_.resize(std::min(announced, mark_.size())); }

  std::size_t size() const { return text_.size(); }
  std::string take() {
    while (!text_.empty() && is_space(text_.back())) {
      text_.pop_back();
    }
    return std::move(text_);
  }

 private:
  bool at_line_begin() const { return text_.empty() || text_.back() == '\n'; }
  void flush() {
    if (lines_ > 0) {
      while (!text_.empty() && text_.back() == ' ') {
        text_.pop_back();
      }
      int there = 0;
      while (there < lines_ && text_.size() > static_cast<std::size_t>(there) &&
             text_[text_.size() - 1 - static_cast<std::size_t>(there)] == '\n') {
        ++there;
      }
      text_.append(static_cast<std::size_t>(lines_ - there), '\n');
    } else if (has_gap_ && !text_.ends_with(' ')) {
      text_ += ' ';
    }
    lines_ = 0;
    has_gap_ = false;
    text_ += std::exchange(mark_, {});
  }

  std::string text_;
  std::string mark_;
  int lines_ = 0;
  bool has_gap_ = false;
};

class Reader {
 public:
  Reader(const Url& base, const std::stop_token& stop) : base_(base), stop_(stop) {}

  // False: stopped.
  bool read(const GumboNode& root) {
    open_nodes_.push_back({.node = &root});
    while (!open_nodes_.empty()) {
      if (++steps_ % 4'096 == 0 && stop_.stop_requested()) {
        return false;
      }
      const GumboElement& element = open_nodes_.back().node->v.element;
      if (const unsigned at = open_nodes_.back().next++; at < element.children.length) {
        visit(*static_cast<const GumboNode*>(element.children.data[at]));
      } else {
        close(open_nodes_.back());
        open_nodes_.pop_back();
      }
    }
    return true;
  }
  std::string take() { return writer_.take(); }

 private:
  struct Open {
    const GumboNode* node;
    unsigned next = 0;
    std::size_t begin = 0;      // of its text
    std::size_t announced = 0;  // before it
  };
  struct List {
    bool is_ordered;
    int next = 1;
  };

  void visit(const GumboNode& node) {
    if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE ||
        node.type == GUMBO_NODE_CDATA) {
      if (preformatted_ > 0) {
        writer_.verbatim(node.v.text.text);
      } else {
        writer_.words(node.v.text.text);
      }
    } else if (node.type == GUMBO_NODE_ELEMENT && !is_one_of(k_left_out, node.v.element.tag) &&
               !is_hidden(node.v.element)) {
      const std::size_t announced = writer_.announced();
      open(node.v.element);
      open_nodes_.push_back({.node = &node, .begin = writer_.size(), .announced = announced});
    }
  }

  void open(const GumboElement& element) {
    begin_block(element.tag);
    switch (static_cast<int>(element.tag)) {
      case GUMBO_TAG_H1:
      case GUMBO_TAG_H2:
      case GUMBO_TAG_H3:
      case GUMBO_TAG_H4:
      case GUMBO_TAG_H5:
      case GUMBO_TAG_H6:
        writer_.announce(
            std::string(static_cast<std::size_t>(element.tag - GUMBO_TAG_H1 + 1), '#') + " ");
        break;
      case GUMBO_TAG_TITLE:
        writer_.announce("Title: ");
        break;
      case GUMBO_TAG_UL:
      case GUMBO_TAG_OL:
        lists_.push_back({.is_ordered = element.tag == GUMBO_TAG_OL});
        break;
      case GUMBO_TAG_LI:
        writer_.announce(item_mark());
        break;
      case GUMBO_TAG_TD:
      case GUMBO_TAG_TH:
        writer_.verbatim("| ");
        break;
      case GUMBO_TAG_A:
        if (!link_of(element).empty()) {
          writer_.announce("[");
        }
        break;
      case GUMBO_TAG_IMG:
        if (const auto words = attribute(element, "alt"); !words.empty()) {
          writer_.words(fmt::format("[image: {}]", words));
        }
        break;
      case GUMBO_TAG_HR:
        writer_.verbatim("---");
        break;
      case GUMBO_TAG_BR:
        writer_.new_line(1);
        break;
      case GUMBO_TAG_PRE:
        ++preformatted_;
        writer_.verbatim("```\n");
        break;
      case GUMBO_TAG_CODE:
        writer_.announce(preformatted_ > 0 ? "" : "`");
        break;
      default:
        break;
    }
  }

  void close(const Open& opened) {
    const GumboElement& element = opened.node->v.element;
    const bool has_text = writer_.size() > opened.begin;
    switch (static_cast<int>(element.tag)) {
      case GUMBO_TAG_UL:
      case GUMBO_TAG_OL:
        lists_.pop_back();
        break;
      case GUMBO_TAG_TD:
      case GUMBO_TAG_TH:
        writer_.gap();
        break;
      case GUMBO_TAG_TR:
        writer_.verbatim("|");
        break;
      case GUMBO_TAG_A:
        if (const auto link = link_of(element); !link.empty() && has_text) {
          writer_.verbatim(fmt::format("]({})", link));
        }
        break;
      case GUMBO_TAG_PRE:
        --preformatted_;
        writer_.new_line(1);
        writer_.verbatim("```");
        break;
      case GUMBO_TAG_CODE:
        if (has_text && preformatted_ == 0) {
          writer_.verbatim("`");
        }
        break;
      default:
        break;
    }
    if (!has_text) {
      writer_.forget(opened.announced);
    }
    begin_block(element.tag);
  }

  void begin_block(GumboTag tag) {
    const bool is_outer_list = (tag == GUMBO_TAG_UL || tag == GUMBO_TAG_OL) && lists_.empty();
    if (is_one_of(k_paragraphs, tag) || is_outer_list) {
      writer_.new_line(2);
    } else if (is_one_of(k_lines, tag)) {
      writer_.new_line(1);
    }
  }

  std::string item_mark() {
    if (lists_.empty()) {
      return "- ";
    }
    const std::string indent((std::min<std::size_t>(lists_.size(), 20) - 1) * 2, ' ');
    return lists_.back().is_ordered ? fmt::format("{}{}. ", indent, lists_.back().next++)
                                    : indent + "- ";
  }

  // Empty where it leads to no page.
  std::string link_of(const GumboElement& element) const {
    const std::string_view link = attribute(element, "href");
    if (link.empty() || link.starts_with('#')) {
      return {};
    }
    const auto url = resolve_url(base_, link);
    return url ? url->text() : std::string();
  }

  const Url& base_;
  const std::stop_token& stop_;
  Writer writer_;
  std::vector<Open> open_nodes_;
  std::vector<List> lists_;
  int preformatted_ = 0;
  unsigned steps_ = 0;
};

}  // namespace

agent::Result<std::string> html_to_text(std::string_view page,
                                        const Url& base,
                                        const std::stop_token& stop) {
  BoundedPage bounded = bounded_page(page);
  const std::string note =
      bounded.tags_left_out == 0
          ? std::string()
          : fmt::format(
                "[{} tag{} of the page left out: nested too deeply; the text is all here]\n",
                bounded.tags_left_out,
                bounded.tags_left_out == 1 ? "" : "s");
  TRY_ASSIGN(const HtmlTree tree, HtmlTree::parse(std::move(bounded.page), stop));
  Reader reader(base, stop);
  if (!reader.read(tree.root())) {
    return agent::fail(agent::Code::tool_cancelled, "stopped while reading the page");
  }
  return note + reader.take();
}

}  // namespace tools
