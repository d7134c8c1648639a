// One exact text in a file for another.
#include "agent/text.h"
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/atomic_file_write.h"
#include "tools/files/find_text.h"
#include "tools/files/unified_diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr std::size_t k_edit_file_max_file = 64u << 20;  // before the edit and after it
constexpr std::size_t k_max_places = 1'000'000;
constexpr std::size_t k_max_hunks = 5;        // shown
constexpr std::size_t k_max_hunk_lines = 40;  // shown, of each side
constexpr int k_context = 2;                  // lines around a change

constexpr const char* k_edit_file_parameters = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "old_string": {"type": "string", "minLength": 1, "description": "The exact text to replace, without line numbers; must be unique in the file unless replace_all is true."},
    "new_string": {"type": "string", "description": "What takes its place."},
    "replace_all": {"type": "boolean", "description": "Replace every occurrence; false if left out."}
  },
  "required": ["path", "old_string", "new_string"],
  "additionalProperties": false
})";

// One more than k_max_places at most.
std::vector<std::size_t> find_all(std::string_view text, std::string_view wanted) {
  std::vector<std::size_t> found;
  for (std::size_t at = find_text(text, wanted);
       at != std::string_view::npos && found.size() <= k_max_places;
       at = find_text(text, wanted, at + wanted.size())) {
    found.push_back(at);
  }
  return found;
}

std::size_t line_at(std::string_view text, std::size_t position) {
  return static_cast<std::size_t>(std::ranges::count(text.substr(0, position), '\n')) + 1;
}

std::string with_crlf(std::string_view text) {
  std::string converted;
  char before = '\0';
  for (const char byte : text) {
    if (byte == '\n' && before != '\r') {
      converted += '\r';
    }
    converted += byte;
    before = byte;
  }
  return converted;
}

// Every line ends in CR LF, and there is one.
bool uses_crlf(std::string_view text) {
  bool has_one = false;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') {
      return false;
    }
    has_one = true;
  }
  return has_one;
}

bool is_space(char byte) {
  return std::isspace(static_cast<unsigned char>(byte)) != 0;
}

// Without white space; `lines[i]` is the line of byte i.
std::string squeeze(std::string_view text, std::vector<std::size_t>* lines) {
  std::string squeezed;
  std::size_t line = 1;
  for (const char byte : text) {
    if (!is_space(byte)) {
      squeezed += byte;
      if (lines != nullptr) {
        lines->push_back(line);
      }
    }
    line += byte == '\n' ? 1 : 0;
  }
  return squeezed;
}

// "12\tint main()": copied from read_file with its number.
bool has_line_numbers(std::string_view text) {
  const std::size_t tab = text.find('\t');
  return tab != std::string_view::npos && tab > 0 &&
         std::ranges::all_of(text.substr(0, tab), agent::is_digit);
}

// Why the text is not there, as far as a cheap look can tell.
std::string hint_for(std::string_view text, std::string_view wanted) {
  if (has_line_numbers(wanted)) {
    return "Leave the line numbers out of old_string.";
  }
  if (wanted.contains("[redacted]")) {
    return "[redacted] stands for a secret that you cannot read; leave it out of old_string.";
  }
  constexpr std::size_t k_max_look = 4u << 20;
  if (text.size() <= k_max_look) {
    std::vector<std::size_t> lines;
    const std::string squeezed = squeeze(text, &lines);
    const std::string needle = squeeze(wanted, nullptr);
    const std::size_t at = needle.empty() ? std::string::npos : find_text(squeezed, needle);
    if (at != std::string::npos) {
      return fmt::format("Line {} has the same text with other white space; copy it exactly.",
                         lines[at]);
    }
  }
  std::string_view first = wanted.substr(0, wanted.find('\n'));
  while (!first.empty() && is_space(first.back())) {
    first.remove_suffix(1);
  }
  const std::size_t at = first.size() < 4 ? std::string_view::npos : find_text(text, first);
  if (at != std::string_view::npos) {
    return fmt::format(
        "Its first line stands in line {}, but what follows differs; read the file "
        "there.",
        line_at(text, at));
  }
  return "Read the file and copy the text exactly.";
}

struct Edit {
  std::string old_text;
  std::string new_text;
  std::vector<std::size_t> places;
};

// The texts as the file's line ends want them, and where the old one stands.
Edit locate(std::string_view content, std::string_view old_string, std::string_view new_string) {
  Edit edit{.old_text = std::string(old_string),
            .new_text = std::string(new_string),
            .places = find_all(content, old_string)};
  if (uses_crlf(content)) {
    edit.new_text = with_crlf(new_string);
    if (edit.places.empty()) {
      edit.old_text = with_crlf(old_string);
      edit.places = find_all(content, edit.old_text);
    }
  }
  return edit;
}

Result<void> check(const Edit& edit,
                   std::string_view content,
                   const std::string& shown,
                   bool replace_all) {
  if (edit.places.empty()) {
    return fail(Code::tool_failed,
                fmt::format("old_string does not occur in `{}`", shown),
                hint_for(content, edit.old_text));
  }
  if (edit.places.size() > k_max_places) {
    return fail(Code::tool_failed,
                fmt::format("old_string occurs more than {} times in `{}`", k_max_places, shown),
                "Give more of the text around it, or change the file with a program.");
  }
  if (edit.places.size() > 1 && !replace_all) {
    std::string lines;
    for (std::size_t i = 0; i < std::min<std::size_t>(edit.places.size(), 10); ++i) {
      lines += fmt::format("{}{}", i == 0 ? "" : ", ", line_at(content, edit.places[i]));
    }
    return fail(Code::tool_failed,
                fmt::format("old_string occurs {} times in `{}`: lines {}{}",
                            edit.places.size(),
                            shown,
                            lines,
                            edit.places.size() > 10 ? ", …" : ""),
                "Give more of the text around it so that it is unique, or set replace_all.");
  }
  const std::size_t kept = content.size() - edit.places.size() * edit.old_text.size();
  if (kept + edit.places.size() * edit.new_text.size() > k_edit_file_max_file) {
    return fail(Code::tool_failed,
                fmt::format("`{}` would be larger than {} MB", shown, k_edit_file_max_file >> 20),
                "Change a file of this size with a program, not as a whole.");
  }
  return {};
}

std::string edited(std::string_view content, const Edit& edit) {
  std::string result;
  std::size_t from = 0;
  for (const std::size_t at : edit.places) {
    result += content.substr(from, at - from);
    result += edit.new_text;
    from = at + edit.old_text.size();
  }
  result += content.substr(from);
  return result;
}

// Whole lines that changed, and the line that each side begins with.
struct Hunk {
  std::size_t begin;  // in the old content
  std::size_t end;
  std::string new_lines;
  std::size_t last;  // index of the last place in it
};

// The place with that index, widened to whole lines, with the next ones that share a line with it.
Hunk hunk_from(std::string_view content, const Edit& edit, std::size_t index) {
  const auto end_of_line = [&](std::size_t at) {
    const std::size_t end = content.find('\n', at);
    return end == std::string_view::npos ? content.size() : end + 1;
  };
  const std::size_t first = edit.places[index];
  const std::size_t before = first == 0 ? std::string_view::npos : content.rfind('\n', first - 1);
  Hunk hunk{.begin = before == std::string_view::npos ? 0 : before + 1, .end = 0, .last = index};
  std::size_t from = hunk.begin;
  std::size_t line_end = from;  // looked for once a line: one may be the whole file
  for (;; ++hunk.last) {
    const std::size_t at = edit.places[hunk.last];
    hunk.new_lines += content.substr(from, at - from);
    hunk.new_lines += edit.new_text;
    from = at + edit.old_text.size();
    const bool ends_line = from > hunk.begin && content[from - 1] == '\n';
    line_end = from < line_end ? line_end : end_of_line(from);
    hunk.end = ends_line && edit.new_text.ends_with('\n') ? from : line_end;
    if (hunk.last + 1 == edit.places.size() || edit.places[hunk.last + 1] >= hunk.end) {
      break;
    }
  }
  hunk.new_lines += content.substr(from, hunk.end - from);
  return hunk;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
  }
  return lines;
}

std::string marked(const std::vector<std::string_view>& lines, char mark) {
  constexpr std::size_t k_max_line = 400;
  std::string text;
  const std::size_t shown = std::min(lines.size(), k_max_hunk_lines);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}\n", mark, agent::excerpt(lines[i], k_max_line));
  }
  if (shown < lines.size()) {
    text += fmt::format("{}[{} more lines]\n", mark, lines.size() - shown);
  }
  return text;
}

// The last lines before the change, and the first ones after it.
std::vector<std::string_view> lines_before(std::string_view content, std::size_t at) {
  std::size_t begin = at;
  for (int i = 0; i < k_context && begin > 0; ++i) {
    const std::size_t before = begin < 2 ? std::string_view::npos : content.rfind('\n', begin - 2);
    begin = before == std::string_view::npos ? 0 : before + 1;
  }
  return lines_of(content.substr(begin, at - begin));
}

std::vector<std::string_view> lines_after(std::string_view content, std::size_t at) {
  std::size_t end = at;
  for (int i = 0; i < k_context && end < content.size(); ++i) {
    const std::size_t next = content.find('\n', end);
    end = next == std::string_view::npos ? content.size() : next + 1;
  }
  return lines_of(content.substr(at, end - at));
}

std::string excerpt(std::string_view content, const Edit& edit) {
  std::string text;
  std::ptrdiff_t shift = 0;  // of the new line numbers
  std::size_t hunks = 0;
  std::size_t index = 0;
  for (; index < edit.places.size() && hunks < k_max_hunks; ++hunks) {
    const Hunk hunk = hunk_from(content, edit, index);
    const auto old_lines = lines_of(content.substr(hunk.begin, hunk.end - hunk.begin));
    const auto new_lines = lines_of(hunk.new_lines);
    const auto before = lines_before(content, hunk.begin);
    const auto after = lines_after(content, hunk.end);
    const auto first = static_cast<std::ptrdiff_t>(line_at(content, hunk.begin) - before.size());
    const std::size_t around = before.size() + after.size();
    text += fmt::format("@@ -{},{} +{},{} @@\n",
                        first,
                        old_lines.size() + around,
                        first + shift,
                        new_lines.size() + around);
    text +=
        marked(before, ' ') + marked(old_lines, '-') + marked(new_lines, '+') + marked(after, ' ');
    shift += static_cast<std::ptrdiff_t>(new_lines.size()) -
             static_cast<std::ptrdiff_t>(old_lines.size());
    index = hunk.last + 1;
  }
  if (index < edit.places.size()) {
    text += fmt::format("[and {} more replacements]\n", edit.places.size() - index);
  }
  return text;
}

Result<void> check_texts(const agent::Json& arguments) {
  const std::string_view old_string = agent::text_at(arguments, "old_string");
  if (old_string.empty()) {
    return fail(Code::tool_invalid_parameters,
                "old_string is empty",
                "Give the text to replace; a whole file is written with write_file.");
  }
  if (old_string == agent::text_at(arguments, "new_string")) {
    return fail(Code::tool_invalid_parameters,
                "old_string and new_string are the same: nothing would change",
                "Give the changed text as new_string.");
  }
  return {};
}

Result<std::string> changes_of_edit(const agent::Json& arguments, const CallContext& context) {
  const std::string_view old_string = agent::text_at(arguments, "old_string");
  const std::string_view new_string = agent::text_at(arguments, "new_string");
  TRY(check_texts(arguments));
  TRY_ASSIGN(const NamedPath name, resolve(agent::text_at(arguments, "path"), context));
  TRY_ASSIGN(const RegularFile file, open_regular(name));
  TRY_ASSIGN(const std::string content, read_whole(file, name, k_edit_file_max_file, context.stop));
  const Edit edit = locate(content, old_string, new_string);
  TRY(check(edit, content, one_line(name.shown, 400), agent::bool_at(arguments, "replace_all")));
  return unified_diff(name.shown, content, name.shown, edited(content, edit));
}

Result<Output> edit_file(const agent::Json& arguments, const CallContext& context) {
  const std::string_view old_string = agent::text_at(arguments, "old_string");
  const std::string_view new_string = agent::text_at(arguments, "new_string");
  TRY(check_texts(arguments));
  TRY_ASSIGN(const NamedPath name, resolve(agent::text_at(arguments, "path"), context));
  TRY_ASSIGN(const RegularFile file, open_regular(name));
  TRY_ASSIGN(const std::string content, read_whole(file, name, k_edit_file_max_file, context.stop));
  TRY_ASSIGN(const auto place, AtomicFileWrite::open(name));
  TRY(place->check_is(file.status));
  TRY(place->check_known());
  const Edit edit = locate(content, old_string, new_string);
  const std::string shown = one_line(name.shown, 400);
  TRY(check(edit, content, shown, agent::bool_at(arguments, "replace_all")));
  TRY(place->draft(edited(content, edit), place.get()));
  TRY(place->take_place());
  const std::size_t count = edit.places.size();
  return Output{.text = fmt::format("edited {} ({} replacement{})\n{}",
                                    shown,
                                    count,
                                    count == 1 ? "" : "s",
                                    excerpt(content, edit))};
}

Output call_edit_file(const agent::Json& arguments, const CallContext& context) {
  auto output = edit_file(arguments, context);
  return output ? std::move(*output) : failure(output.error());
}

}  // namespace

std::unique_ptr<Tool> make_edit_file(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "edit_file",
                      .description = "Replaces one exact text in a file by another and shows the "
                                     "changed lines. White space counts. Read the file first.",
                      .parameters = k_edit_file_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.access = Access::Kind::writes,
                           .changes = changes_of_edit,
                           .check_arguments = check_texts},
      call_edit_file);
}

}  // namespace tools
