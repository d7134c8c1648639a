#include "cli/terminal/call_sheet.h"

#include "agent/json.h"
#include "agent/written_out.h"
#include "cli/terminal/word_wrap.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace cli {
namespace {

constexpr std::string_view k_line_mark = "  | ";
constexpr std::string_view k_goes_on_mark = "  : ";  // of a line that did not fit

}  // namespace

void CallSheet::add_line(std::string_view text) {
  bool goes_on = false;
  for (const agent::WrittenRow& row :
       agent::written_out(text, std::numeric_limits<std::size_t>::max()).rows) {
    add_wrapped(goes_on ? k_goes_on_mark : "", row.text);
    goes_on = true;
  }
}

void CallSheet::add_wrapped(std::string_view mark, std::string_view text) {
  WordWrap wrap;
  wrap.set_columns(columns_);
  wrap.begin(mark, k_goes_on_mark);
  wrap.put(text);
  wrap.end();
  const std::string lines = wrap.take();
  for (std::string_view rest = lines; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    lines_.push_back({.text = std::string(rest.substr(0, rest.find('\n')))});
  }
}

void CallSheet::add_text(std::string_view title, std::string_view text) {
  add_line(fmt::format("  {}{}", title, text.empty() ? ": (empty)" : ":"));
  const std::size_t room = columns_ - std::min(columns_, k_line_mark.size());
  agent::WrittenOut out = agent::written_out(text, room);
  characters_ += out.characters;
  for (agent::WrittenRow& row : out.rows) {
    lines_.push_back(
        {.text = fmt::format("{}{}", row.goes_on ? k_goes_on_mark : k_line_mark, row.text),
         .bytes = row.bytes});
  }
}

void CallSheet::add_arguments(const agent::ToolCall& call) {
  const auto arguments = agent::parse_json(call.arguments);
  if (!arguments || !arguments->is_object()) {
    add_text("arguments", call.arguments);
    return;
  }
  if (arguments->empty()) {
    add_line("  without arguments");
  }
  for (const auto& [name, value] : arguments->items()) {
    add_text(name, value.is_string() ? value.get_ref<const std::string&>() : agent::dump(value));
  }
}

void CallSheet::explain_characters() {
  if (characters_ > 0) {
    add_wrapped("",
                fmt::format("  {} character{} written out as \\u{{...}}: not to be seen, or easily "
                            "taken for another",
                            characters_,
                            characters_ == 1 ? " is" : "s are"));
  }
}

std::string CallSheet::lines(std::size_t begin, std::size_t end) const {
  std::string text;
  for (std::size_t at = begin; at < std::min(end, lines_.size()); ++at) {
    text += lines_[at].text + '\n';
  }
  return text;
}

std::size_t CallSheet::bytes(std::size_t begin) const {
  std::size_t bytes = 0;
  for (std::size_t at = begin; at < lines_.size(); ++at) {
    bytes += lines_[at].bytes;
  }
  return bytes;
}

}  // namespace cli
