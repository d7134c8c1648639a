#include "config/yaml/yaml.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_most_open_brackets = 1'000;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The library ends a plain scalar inside brackets at any `?`, which YAML does not, and begins a
// comment at any `#` behind a bracket, a quote or a comma, which YAML does not either: a space
// stands before it. Those within words are therefore shown to it as bytes that no valid text holds,
// and put back in what it returns.
constexpr char k_question_mark = '\xFF';
constexpr char k_hash = '\xFE';

constexpr std::string_view k_bad_comment = "a comment needs a space before its `#`";

bool is_bad_comment(std::string_view text, std::size_t at) {
  return at > 0 && at < text.size() && text[at] == '#' && !is_blank(text[at - 1]);
}

// The last line ends where the text ends, which the library does not see either.
std::string shown_to_library(std::string_view text) {
  std::string shown(text);
  for (std::size_t at = 1; at < shown.size(); ++at) {
    const char before = text[at - 1];
    if (is_blank(before) || before == '\\') {
      continue;
    }
    if (text[at] == '#') {
      shown[at] = k_hash;
    } else if (text[at] == '?' && before != '[' && before != '{' && before != ',') {
      shown[at] = k_question_mark;
    }
  }
  return shown.ends_with('\n') ? shown : shown + '\n';
}

void put_back(std::string& text) {
  for (char& c : text) {
    c = c == k_question_mark ? '?' : c == k_hash ? '#' : c;
  }
}

// The library writes the escapes \\N and \\_ as one byte each, which is no UTF-8.
void repair_escapes(std::string& text) {
  if (agent::is_valid_utf8(text)) {
    return;
  }
  std::string repaired;
  std::size_t expected = 0;  // bytes that the character still has
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (expected > 0) {
      --expected;
    } else if (byte == 0x85 || byte == 0xA0) {
      repaired += '\xC2';
    } else if (byte >= 0xC0) {
      expected = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    }
    repaired += c;
  }
  text = agent::to_valid_utf8(repaired);
}

// What stands before a node: its anchor and tag.
struct Properties {
  std::size_t content = 0;  // where the node itself begins
  Span tag;                 // length 0: none
};

Properties skip_properties(std::string_view text, std::size_t at) {
  Properties found;
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) {
      ++at;
    }
    if (text[begin] == '!') {
      found.tag = {begin, at - begin};
    }
    while (at < text.size() && is_blank(text[at])) {
      ++at;
    }
  }
  found.content = at;
  return found;
}

std::size_t end_of_line(std::string_view text, std::size_t at) {
  std::size_t end = std::min(text.find('\n', at), text.size());
  while (end > at && is_blank(text[end - 1])) {
    --end;
  }
  return end;
}

// Bytes of a quoted scalar with its quotes; of its first line where it has several.
std::size_t quoted_length(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const auto next_is = [&](std::size_t at, char c) {
    return at + 1 < text.size() && text[at + 1] == c;
  };
  for (std::size_t at = begin + 1; at < text.size() && text[at] != '\n'; ++at) {
    if (quote == '"' && text[at] == '\\') {
      at += next_is(at, '\n') ? 0 : 1;
    } else if (text[at] == quote) {
      if (quote == '\'' && next_is(at, quote)) {
        ++at;
      } else {
        return at + 1 - begin;
      }
    }
  }
  return end_of_line(text, begin) - begin;  // looked for only here: a line may hold many scalars
}

std::size_t plain_length(std::string_view text, std::size_t begin, std::string_view value) {
  if (text.substr(begin).starts_with(value)) {
    return value.size();
  }
  return end_of_line(text, begin) - begin;
}

// The parser gives an empty value the place of whatever comes next; it is the last thing before it.
std::size_t null_offset(std::string_view text, std::size_t at) {
  if (at < text.size() && (text[at] == '~' || text[at] == 'n' || text[at] == 'N')) {
    return at;
  }
  const std::size_t before = text.substr(0, at).find_last_not_of(" \t\r\n");
  return before == std::string_view::npos ? at : before;
}

// Anchored values, counted when they were built.
struct Weight {
  std::size_t values = 0;
  std::size_t bytes = 0;
  int depth = 0;
};

// Builds the tree from the parser's events. It cannot stop the parser: once `failed_`, whatever
// still comes is ignored.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const Source& source,
              std::size_t base,
              std::size_t end,
              const YamlLimits& limits,
              Problems& problems)
      : source_(source), base_(base), end_(end), limits_(limits), problems_(problems) {}

  bool has_failed() const { return failed_; }
  bool has_root() const { return root_.has_value(); }
  Value take_root() { return std::move(*root_); }

  // For syntax errors: the innermost open list or map, and the first quote behind what was read.
  std::optional<Span> innermost() const;
  std::optional<Span> open_quote() const;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!is_first_document_) {
      refuse_more(offset(mark));
    }
    is_first_document_ = false;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value value;
    value.kind = Kind::null;
    scalar(offset(mark), anchor, std::move(value));
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& text) override {
    Value value;
    value.text = text;
    put_back(value.text);
    repair_escapes(value.text);
    value.kind = tag == "?" ? kind_of_plain(value.text) : Kind::text;
    scalar(offset(mark), anchor, std::move(value));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& /*tag*/,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark,
                  const std::string& /*tag*/,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Value value;
    YAML::anchor_t anchor = 0;
    Weight weight_before;
    int depth_below = 0;
    bool awaits_key = true;
    Entry entry;  // maps: the key whose value is awaited
    bool key_is_alias = false;
    std::unordered_map<std::string, std::size_t> keys;
  };
  struct Anchored {
    Value value;
    Weight weight;
  };

  std::size_t offset(const YAML::Mark& mark) const {
    return std::min(base_ + static_cast<std::size_t>(std::max(mark.pos, 0)), end_);
  }
  std::string_view text() const { return source_.text().substr(0, end_); }

  void fail(Span span, std::string message, std::string help) {
    if (!failed_) {
      problems_.add(span, std::move(message), std::move(help));
    }
    failed_ = true;
  }

  void refuse_more(std::size_t at);
  void refuse_tag(const Properties& properties);
  void locate(std::size_t at, Value& value);
  void check_quoted(Value& quoted);
  void check_plain(const Value& plain);
  void check_has_colon(const Frame& map, const Value& value);
  bool is_flow(const Value& collection, char bracket) const;
  bool charge(const Value& value, const Weight& weight, int depth);
  void scalar(std::size_t at, YAML::anchor_t anchor, Value value);
  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor);
  void close();
  void place(Value value);
  void take_key(Frame& frame, Value value);

  const Source& source_;
  std::size_t base_;
  std::size_t end_;
  const YamlLimits& limits_;
  Problems& problems_;
  std::vector<Frame> open_;
  std::optional<Value> root_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  Weight total_;
  std::size_t last_end_ = 0;
  bool failed_ = false;
  bool is_first_document_ = true;
};

std::optional<Span> TreeBuilder::innermost() const {
  return open_.empty() ? std::nullopt : std::optional(open_.back().value.span);
}

std::optional<Span> TreeBuilder::open_quote() const {
  const std::size_t quote = text().find_first_of("\"'", last_end_);
  return quote == std::string_view::npos ? std::nullopt : std::optional(Span{quote, 1});
}

void TreeBuilder::refuse_more(std::size_t at) {
  if (is_bad_comment(text(), at)) {
    fail({at, 1}, std::string(k_bad_comment), "put the space there");
    return;
  }
  // The mark of a document is that of its first node; the separator stands above it.
  const std::size_t separator = source_.text().substr(0, at).rfind("\n---");
  const std::size_t line = source_.line_of(at);
  const bool is_separated =
      separator != std::string_view::npos && separator + 1 >= base_ &&
      source_.text().substr(separator + 4, at - separator - 4).find_first_not_of(" \t\r\n") ==
          std::string_view::npos;
  if (is_separated || source_.line_text(line).starts_with("---")) {
    const std::size_t begin = is_separated ? separator + 1 : source_.line_begin(line);
    fail({begin, 3}, "a second document begins here", "keep one document in a file");
  } else {
    fail({at, 1},
         "this does not belong to the value before it",
         "check the indentation, and the brackets and quotes above");
  }
}

void TreeBuilder::refuse_tag(const Properties& properties) {
  if (properties.tag.length > 0) {
    const auto tag = source_.text().substr(properties.tag.offset, properties.tag.length);
    problems_.add(properties.tag,
                  fmt::format("the tag `{}` is not allowed", tag),
                  "leave it out; put quotes around what must be text");
  }
}

// Style, span and content of a scalar, from the bytes at its mark.
void TreeBuilder::locate(std::size_t at, Value& value) {
  const Properties properties = skip_properties(text(), at);
  refuse_tag(properties);
  const std::size_t begin = properties.content;
  const char first = begin < end_ ? text()[begin] : '\0';
  value.content = begin;
  value.span = {begin, 0};
  if (value.kind == Kind::null) {
    value.span = {null_offset(text(), begin), 1};
    return;
  }
  if (first == '"' || first == '\'') {
    value.style = first == '"' ? Style::double_quoted : Style::single_quoted;
    value.content = begin + 1;
    value.span.length = quoted_length(text(), begin);
    check_quoted(value);
  } else if (first == '|' || first == '>') {
    value.style = Style::block;
    value.content = std::min(text().find('\n', begin), end_);
    value.span.length = 1;
  } else {
    value.span.length = plain_length(text(), begin, value.text);
    check_plain(value);
  }
}

// Of a quoted text that is nothing but white space: a line end is a space, each more a line end.
std::string folded_blanks(std::string_view written) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(written, '\n'));
  return lines == 0 ? std::string(written) : lines == 1 ? " " : std::string(lines - 1, '\n');
}

// What the parser takes without a word: a quoted scalar that the file or the indentation ends, and
// `\'` in double quotes. Of empty lines alone it makes nothing.
void TreeBuilder::check_quoted(Value& quoted) {
  const std::size_t end = offset_of(source_, quoted, quoted.text.size());
  const char quote = quoted.style == Style::double_quoted ? '"' : '\'';
  if (end <= quoted.span.offset || end >= end_ || source_.text()[end] != quote) {
    fail({quoted.span.offset, 1},
         "a quote is not closed",
         "close it, or use a block text: `key: |`");
    return;
  }
  const auto written =
      std::string_view(source_.text()).substr(quoted.content, end - quoted.content);
  if (std::ranges::all_of(written, is_blank)) {
    quoted.text = folded_blanks(written);
  }
  for (std::size_t at = 0; quote == '"' && at + 1 < written.size(); ++at) {
    if (written[at] == '\\' && written[++at] == '\'') {
      fail({quoted.content + at - 1, 2},
           "an unknown escape in double quotes",
           "`'` needs no backslash there");
    }
  }
}

void TreeBuilder::check_plain(const Value& plain) {
  if (plain.text.starts_with('#')) {
    fail(plain.span, std::string(k_bad_comment), "put the space there");
  } else if (plain.text == "-") {
    fail(plain.span, "a dash that begins no item", "put quotes around it where it is text");
  }
}

bool TreeBuilder::is_flow(const Value& collection, char bracket) const {
  return collection.content < end_ && text()[collection.content] == bracket;
}

// In a block the parser takes a word alone for a key; only behind `?` it may be one.
void TreeBuilder::check_has_colon(const Frame& map, const Value& value) {
  const bool is_written = value.kind != Kind::null || !value.text.empty();
  if (is_written || map.key_is_alias || is_flow(map.value, '{')) {
    return;
  }
  const Span key = map.entry.key_span;
  const std::size_t before = text().substr(0, key.offset).find_last_not_of(" \t\r\n");
  const std::size_t behind = text().find_first_not_of(" \t\r\n", key.offset + key.length);
  const bool is_explicit = before != std::string_view::npos && text()[before] == '?';
  if (!is_explicit && (behind == std::string_view::npos || text()[behind] != ':')) {
    fail(key, "this line has no colon", "write `key: value`");
  }
}

bool TreeBuilder::charge(const Value& value, const Weight& weight, int depth) {
  if (failed_) {
    return false;
  }
  total_.values += weight.values;
  total_.bytes += weight.bytes;
  if (total_.values > limits_.values) {
    fail(value.span,
         fmt::format("more than {} values, aliases counted as often as they are used",
                     limits_.values),
         "make the file smaller, or use fewer aliases");
  } else if (total_.bytes > limits_.text_bytes) {
    fail(value.span,
         fmt::format("more than {} bytes of text, aliases counted as often as they are used",
                     limits_.text_bytes),
         "make the file smaller, or use fewer aliases");
  } else if (depth > limits_.depth) {
    fail(value.span,
         fmt::format("lists and maps nest more than {} levels deep", limits_.depth),
         "make the structure flatter, or close the brackets above");
  }
  return !failed_;
}

void TreeBuilder::scalar(std::size_t at, YAML::anchor_t anchor, Value value) {
  if (failed_) {
    return;
  }
  locate(at, value);
  last_end_ = value.span.offset + value.span.length;
  const Weight weight{.values = 1, .bytes = value.text.size()};
  if (!charge(value, weight, static_cast<int>(open_.size()))) {
    return;
  }
  const bool is_written = value.kind != Kind::null || anchor != 0 ||
                          (at < end_ && std::string_view("~nN").contains(text()[at]));
  if (!is_written && !open_.empty() && is_flow(open_.back().value, '[')) {
    fail(value.span, "an item is missing between the commas", "write `null`, or take a comma out");
    return;
  }
  if (anchor != 0) {
    anchors_.insert_or_assign(anchor, Anchored{value, weight});
  }
  place(std::move(value));
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (failed_) {
    return;
  }
  const std::size_t at = offset(mark);
  std::size_t end = at + 1;
  while (end < end_ && !is_blank(text()[end]) &&
         std::string_view(",]}").find(text()[end]) == std::string_view::npos) {
    ++end;
  }
  const Span span{at, end - at};
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    fail(span, "the alias stands inside the value that it names", "write the value out");
    return;
  }
  Value place_of_alias;
  place_of_alias.span = span;
  const Weight& weight = found->second.weight;
  if (charge(place_of_alias, weight, static_cast<int>(open_.size()) + weight.depth)) {
    if (!open_.empty()) {
      open_.back().depth_below = std::max(open_.back().depth_below, weight.depth);
    }
    place(found->second.value);
    if (!open_.empty()) {
      open_.back().key_is_alias = !open_.back().awaits_key;
    }
  }
}

void TreeBuilder::open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (failed_) {
    return;
  }
  Frame frame;
  const Properties properties = skip_properties(text(), offset(mark));
  refuse_tag(properties);
  frame.value.kind = kind;
  frame.value.span = {properties.content, 1};
  frame.value.content = properties.content;
  frame.anchor = anchor;
  frame.weight_before = total_;
  if (!charge(frame.value, {.values = 1}, static_cast<int>(open_.size()) + 1)) {
    return;
  }
  open_.push_back(std::move(frame));
}

void TreeBuilder::close() {
  if (failed_) {
    return;
  }
  Frame frame = std::move(open_.back());
  open_.pop_back();
  const int depth = frame.depth_below + 1;
  if (!open_.empty()) {
    open_.back().depth_below = std::max(open_.back().depth_below, depth);
  }
  if (frame.anchor != 0) {
    const Weight weight{.values = total_.values - frame.weight_before.values,
                        .bytes = total_.bytes - frame.weight_before.bytes,
                        .depth = depth};
    anchors_.insert_or_assign(frame.anchor, Anchored{frame.value, weight});
  }
  place(std::move(frame.value));
}

void TreeBuilder::place(Value value) {
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Frame& frame = open_.back();
  if (frame.value.kind == Kind::list) {
    frame.value.items.push_back(std::move(value));
  } else if (frame.awaits_key) {
    take_key(frame, std::move(value));
  } else {
    check_has_colon(frame, value);
    if (value.kind == Kind::null && value.text.empty()) {
      value.span = frame.entry.key_span;  // the parser's mark is that of whatever comes next
    }
    frame.entry.value = std::move(value);
    frame.value.entries.push_back(std::move(frame.entry));
    frame.entry = {};
    frame.awaits_key = true;
  }
}

void TreeBuilder::take_key(Frame& frame, Value value) {
  frame.awaits_key = false;
  frame.key_is_alias = false;
  if (!value.is_scalar()) {
    fail(value.span,
         "a key must be a word, not a list or a map",
         "write `key: value`, and put quotes around a text that begins with `{` or `[`");
    return;
  }
  if (value.kind == Kind::null) {
    fail(value.span, "a key is missing before the colon", "write `key: value` on one line");
    return;
  }
  if (value.text == "<<" && value.style == Style::plain) {
    problems_.add(value.span,
                  "merge keys (`<<`) are not supported",
                  "write the keys out, or put an alias where a whole value is wanted");
  }
  const auto [first, is_new] = frame.keys.emplace(value.text, value.span.offset);
  if (!is_new) {
    problems_.add(
        value.span,
        fmt::format("the key `{}` appears twice", value.text),
        fmt::format("it first appears in line {}; keep one", source_.line_of(first->second)));
  }
  frame.entry.key = std::move(value.text);
  frame.entry.key_span = value.span;
}

struct Wording {
  std::string_view theirs;  // the beginning of the library's message
  std::string_view message;
  std::string_view help;
};

// The library's own messages speak of tokens; these speak of what to look for.
constexpr auto k_wordings = std::to_array<Wording>({
    {"illegal map value",
     "a colon where no value can begin",
     "put quotes around a text that contains `: `, and give each key a line of its own"},
    {"end of map not found",
     "this line does not fit the keys above it",
     "write `key: value`, indented like the keys beside it"},
    {"end of map flow not found", "a `{` is not closed", "close it with `}`, with commas between"},
    {"end of sequence not found",
     "this line does not fit the list above it",
     "begin each item with `- `, indented like the items beside it"},
    {"end of sequence flow not found",
     "a `[` is not closed",
     "close it with `]`, with commas between the items"},
    {"illegal tab", "a tab in the indentation", "indent with spaces"},
    {"illegal block entry", "a list item where none can begin", "put the list on lines of its own"},
    {"illegal map key", "a key where none can begin", "give each key a line of its own"},
    {"illegal flow end", "a closing bracket without an opening one", "take it out"},
    {"unknown token", "this character cannot begin a value", "put the value in quotes"},
    {"illegal EOF in scalar", "a quote is not closed", "close it, or use a block text: `key: |`"},
    {"illegal document indicator in scalar",
     "a line with `---` or `...` inside a quoted text",
     "close the quote before it"},
    {"illegal character in scalar",
     "a character that does not fit here",
     "put the value in quotes"},
    {"unknown escape character",
     "an unknown escape in double quotes",
     "write \\\\ for a backslash, or use single quotes, where nothing is escaped"},
    {"bad character found while scanning hex number",
     "an escape in double quotes lacks its digits",
     "write \\xHH, \\uHHHH or \\UHHHHHHHH"},
    {"invalid unicode", "an escape that is not a character", "write the character itself"},
    {"alias not found", "an alias without a name", "put quotes around a text that begins with `*`"},
    {"anchor not found",
     "an anchor without a name",
     "put quotes around a text that begins with `&`"},
    {"illegal character found while scanning alias",
     "an alias with a character that is not allowed",
     "put quotes around a text that begins with `*`"},
    {"illegal character found while scanning anchor",
     "an anchor with a character that is not allowed",
     "put quotes around a text that begins with `&`"},
    {"the referenced anchor is not defined",
     "the alias names no anchor above it",
     "put quotes around a text that begins with `*`, or define the anchor first"},
    {"unexpected character in block scalar",
     "text behind the `|` or `>` of a block text",
     "begin the text on the next line"},
    {"cannot set zero indentation",
     "a block text cannot have an indentation of 0",
     "leave the number out"},
    {"cannot assign multiple", "two tags or anchors on one value", "keep one anchor, and no tag"},
    {"bad file", "lists and maps nest too deep", "make the structure flatter"},
    {"tag handle", "tags are not allowed", "put quotes around a text that begins with `!`"},
    {"end of verbatim tag",
     "tags are not allowed",
     "put quotes around a text that begins with `!`"},
});

std::size_t indentation_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

bool is_indented_with_tab(std::string_view line) {
  return line.substr(0, indentation_of(line)).contains('\t');
}

// A word alone on the line above, indented alike: the parser has read both lines as one key.
bool lacks_colon(std::string_view above, std::string_view line) {
  const std::size_t indentation = indentation_of(above);
  return indentation < above.size() && indentation == indentation_of(line) &&
         !above.contains(':') && above[indentation] != '-' && above[indentation] != '#';
}

const Wording* wording_of(std::string_view message) {
  const auto* row = std::ranges::find_if(
      k_wordings, [&](const Wording& wording) { return message.starts_with(wording.theirs); });
  return row == k_wordings.end() ? nullptr : row;
}

void report_syntax(const YAML::Exception& error,
                   Span part,
                   const TreeBuilder& builder,
                   Problems& problems) {
  const Source& source = problems.source();
  const auto position = static_cast<std::size_t>(std::max(error.mark.pos, 0));
  Span span{std::min(part.offset + position, part.offset + part.length), 1};
  const std::size_t line = source.line_of(span.offset);
  if (is_indented_with_tab(source.line_text(line))) {
    const std::size_t tab = source.line_text(line).find('\t');
    problems.add(
        {source.line_begin(line) + tab, 1}, "a tab in the indentation", "indent with spaces");
    return;
  }
  if (is_bad_comment(source.text(), span.offset)) {
    problems.add(span, std::string(k_bad_comment), "put the space there");
    return;
  }
  const bool is_value = error.msg == YAML::ErrorMsg::MAP_VALUE;
  if (is_value && line > 1 && lacks_colon(source.line_text(line - 1), source.line_text(line))) {
    const std::string_view above = source.line_text(line - 1);
    const std::size_t indentation = indentation_of(above);
    problems.add({source.line_begin(line - 1) + indentation, above.size() - indentation},
                 "this line has no colon",
                 "write `key: value`");
    return;
  }
  // What is not closed is seen at the end of the file; the place of interest is where it opens.
  if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR) {
    span = builder.open_quote().value_or(span);
  } else if (error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW ||
             error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW) {
    span = builder.innermost().value_or(span);
  }
  const Wording* wording = wording_of(error.msg);
  problems.add(span,
               wording != nullptr ? std::string(wording->message)
                                  : fmt::format("this is not YAML: {}", error.msg),
               wording != nullptr ? std::string(wording->help) : "check the line's syntax");
}

// A directive stands alone before the document; the parser would take it without a word.
bool refuse_directive(const Source& source, Span part, Problems& problems) {
  for (std::size_t line = source.line_of(part.offset); line <= source.line_count(); ++line) {
    const std::string_view text = source.line_text(line);
    if (text.starts_with('%')) {
      problems.add({source.line_begin(line), text.size()},
                   "YAML directives are not supported",
                   "leave the line out");
      return true;
    }
    if (text.find_first_not_of(" \t") != std::string_view::npos && !text.starts_with('#')) {
      return false;
    }
  }
  return false;
}

// The library keeps every bracket that a line opens until the line ends: memory that is not bounded
// by the depth. Brackets in quotes are text; one quote too few only makes this check miss.
std::size_t most_open_brackets(std::string_view line) {
  std::size_t open = 0;
  std::size_t most = 0;
  char quote = '\0';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != '\0') {
      at += quote == '"' && c == '\\' ? 1 : 0;
      quote = c == quote ? '\0' : quote;
    } else if ((c == '"' || c == '\'') &&
               (at == 0 || std::string_view(" \t[{,:").contains(line[at - 1]))) {
      quote = c;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++open);
    } else if ((c == ']' || c == '}') && open > 0) {
      --open;
    }
  }
  return most;
}

bool refuse_brackets(const Source& source, Span part, Problems& problems) {
  const std::size_t last = source.line_of(part.offset + part.length);
  for (std::size_t line = source.line_of(part.offset); line <= last; ++line) {
    if (most_open_brackets(source.line_text(line)) > k_most_open_brackets) {
      problems.add({source.line_begin(line), 1},
                   fmt::format("more than {} brackets are open in this line", k_most_open_brackets),
                   "close the brackets, or put a text that holds them in quotes");
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Value> parse_yaml(const Source& source,
                                Span part,
                                const YamlLimits& limits,
                                Problems& problems) {
  if (refuse_directive(source, part, problems) || refuse_brackets(source, part, problems)) {
    return std::nullopt;
  }
  TreeBuilder builder(source, part.offset, part.offset + part.length, limits, problems);
  try {
    std::istringstream stream(shown_to_library(source.text().substr(part.offset, part.length)));
    YAML::Parser parser(stream);
    while (!builder.has_failed() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    if (!builder.has_failed()) {
      report_syntax(error, part, builder, problems);
    }
    return std::nullopt;
  }
  if (builder.has_failed()) {
    return std::nullopt;
  }
  Value root = builder.has_root() ? builder.take_root() : Value{};
  if (is_empty(root)) {
    root.span = {part.offset, 0};
  }
  return root;
}

}  // namespace config
