#include "tools/files/patch.h"

#include "agent/text.h"
#include "tools/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Result;

constexpr std::string_view k_no_file = "/dev/null";
constexpr std::string_view k_form =
    "Write a unified diff: `--- a/FILE`, `+++ b/FILE`, then hunks of `@@ -LINE,COUNT +LINE,COUNT "
    "@@` "
    "and lines that begin with a blank, `-` or `+`.";

std::unexpected<agent::Error> wrong(std::string message, std::string_view suggestion = k_form) {
  return agent::fail(Code::tool_invalid_parameters, std::move(message), std::string(suggestion));
}

bool take(std::string_view& text, std::string_view start) {
  const bool is_there = text.starts_with(start);
  text.remove_prefix(is_there ? start.size() : 0);
  return is_there;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// A file name in quotes, as git writes those with unusual bytes; what follows stays in `text`.
std::optional<std::string> take_quoted(std::string_view& text) {
  constexpr std::string_view k_letters = "abtnvfr\"\\";
  constexpr std::string_view k_bytes = "\a\b\t\n\v\f\r\"\\";
  std::string name;
  if (!take(text, "\"")) {
    return std::nullopt;
  }
  while (!text.empty() && text.front() != '"') {
    const char byte = text.front();
    text.remove_prefix(1);
    if (byte != '\\') {
      name += byte;
      continue;
    }
    unsigned value = 0;
    const auto octal = text.substr(0, 3);
    const auto [end, error] = std::from_chars(octal.data(), octal.data() + octal.size(), value, 8);
    const std::size_t letter = text.empty() ? k_letters.npos : k_letters.find(text.front());
    if (error == std::errc() && end == octal.data() + 3 && value <= 0xff) {
      name += static_cast<char>(value);
      text.remove_prefix(3);
    } else if (letter != k_letters.npos) {
      name += k_bytes[letter];
      text.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  return take(text, "\"") ? std::optional(std::move(name)) : std::nullopt;
}

// The name in a header line; what follows a tab is a time.
std::optional<std::string> name_in(std::string_view text) {
  if (text.starts_with('"')) {
    return take_quoted(text);
  }
  text = agent::trimmed(text.substr(0, text.find('\t')));
  return text.empty() || text.contains('\0') ? std::nullopt : std::optional(std::string(text));
}

struct Names {
  std::string old_name;
  std::string new_name;
};

// `a/` and `b/` are no folders where they stand as git writes them.
Names without_sides(Names names) {
  const bool is_new = names.old_name == k_no_file;
  const bool is_gone = names.new_name == k_no_file;
  if ((is_new || names.old_name.starts_with("a/")) &&
      (is_gone || names.new_name.starts_with("b/")) && is_new + is_gone < 2) {
    names.old_name.erase(0, is_new ? 0 : 2);
    names.new_name.erase(0, is_gone ? 0 : 2);
  }
  return names;
}

// Of `a/NAME b/NAME`; names that differ stand in other lines, too.
std::optional<Names> names_of_git(std::string_view text) {
  if (text.starts_with('"')) {
    auto old_name = take_quoted(text);
    const bool has_next = take(text, " ");
    auto new_name = name_in(text);
    return old_name && has_next && new_name
               ? std::optional(without_sides({std::move(*old_name), std::move(*new_name)}))
               : std::nullopt;
  }
  text = without_cr(text);
  const std::size_t middle = text.size() / 2;
  if (text.size() % 2 == 0 || text[middle] != ' ') {
    return std::nullopt;
  }
  Names names =
      without_sides({std::string(text.substr(0, middle)), std::string(text.substr(middle + 1))});
  return names.old_name == names.new_name ? std::optional(std::move(names)) : std::nullopt;
}

std::optional<std::size_t> take_number(std::string_view& text) {
  constexpr std::size_t k_most_digits = 9;
  std::size_t number = 0;
  const auto digits = text.substr(0, k_most_digits);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - digits.data()));
  return number;
}

struct Range {
  std::size_t line = 0;
  std::size_t count = 1;
};

std::optional<Range> take_range(std::string_view& text, std::string_view mark) {
  Range range;
  const auto line = take(text, mark) ? take_number(text) : std::nullopt;
  const auto count = take(text, ",") ? take_number(text) : std::optional<std::size_t>(1);
  if (!line || !count) {
    return std::nullopt;
  }
  return Range{.line = *line, .count = *count};
}

struct HunkHeader {
  Range old_range;
  Range new_range;
};

std::optional<HunkHeader> numbers_of(std::string_view line) {
  if (!take(line, "@@ ")) {
    return std::nullopt;
  }
  const auto old_range = take_range(line, "-");
  const auto new_range = take(line, " ") ? take_range(line, "+") : std::nullopt;
  return old_range && new_range && line.starts_with(" @@")
             ? std::optional(HunkHeader{.old_range = *old_range, .new_range = *new_range})
             : std::nullopt;
}

// A line that stays and is empty, whose blank in front got lost.
bool is_bare(std::string_view line) {
  return without_cr(line).empty();
}

bool is_of_hunk(std::string_view line) {
  return !line.empty() && std::string_view(" -+\\").contains(line.front());
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = agent::split_lines(text);
  // A patch that was sent with CR LF throughout says nothing about the file's line ends.
  const auto is_crlf = [](std::string_view line) { return line.ends_with('\r'); };
  if (lines.size() > 1 && std::all_of(lines.begin(), lines.end() - 1, is_crlf)) {
    std::ranges::transform(lines, lines.begin(), without_cr);
  }
  return lines;
}

// The lines of the patch that speak of one file.
struct Section {
  std::size_t line = 0;  // where it begins, from 1
  std::optional<Names> of_git;
  std::optional<Names> of_diff;
  std::optional<std::string> rename_from;
  std::optional<std::string> rename_to;
  bool is_new = false;
  bool is_deleted = false;
  std::optional<bool> is_executable;
  std::vector<Hunk> hunks;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(lines_of(text)) {}

  Result<std::vector<FilePatch>> parse() {
    while (at_ < lines_.size()) {
      TRY(step());
    }
    TRY(finish_section());
    if (files_.empty()) {
      return wrong("the patch changes no file");
    }
    return std::move(files_);
  }

 private:
  std::unexpected<agent::Error> not_understood(std::string_view why) const {
    return wrong(fmt::format("line {} of the patch: {}: `{}`",
                             at_ + 1,
                             why,
                             at_ < lines_.size() ? one_line(lines_[at_], 100) : ""));
  }

  std::string_view line_at(std::size_t at) const {
    return at < lines_.size() ? lines_[at] : std::string_view();
  }

  bool is_file_header(std::size_t at) const {
    return line_at(at).starts_with("--- ") && line_at(at + 1).starts_with("+++ ");
  }

  Result<void> step() {
    const std::string_view line = lines_[at_];
    if (line.starts_with("diff --git ")) {
      TRY(finish_section());
      section_ =
          Section{.line = at_ + 1,
                  .of_git = names_of_git(line.substr(std::string_view("diff --git ").size()))};
      ++at_;
      return {};
    }
    if (is_file_header(at_)) {
      return file_header();
    }
    if (line.starts_with("@@")) {
      return hunk();
    }
    if (!section_) {
      ++at_;  // a letter around the patch
      return {};
    }
    return other_line(line);
  }

  Result<void> file_header() {
    if (!section_ || section_->of_diff || !section_->hunks.empty()) {
      TRY(finish_section());
      section_ = Section{.line = at_ + 1};
    }
    auto old_name = name_in(lines_[at_].substr(4));
    auto new_name = name_in(lines_[at_ + 1].substr(4));
    if (!old_name || !new_name) {
      return not_understood("here or in the next line, a file name is missing or cannot be read");
    }
    section_->of_diff = without_sides({std::move(*old_name), std::move(*new_name)});
    at_ += 2;
    return {};
  }

  // Between the beginning of a section and its hunks, or after them.
  Result<void> other_line(std::string_view line) {
    if (line.starts_with("copy from ") || line.starts_with("Binary files ") ||
        line.starts_with("GIT binary patch")) {
      return not_understood("copies and binary files cannot be patched");
    }
    if (take(line, "rename from ")) {
      section_->rename_from = name_in(line);
    } else if (take(line, "rename to ")) {
      section_->rename_to = name_in(line);
    } else if (take(line, "new file mode ") || take(line, "new mode ")) {
      section_->is_new = section_->is_new || lines_[at_].starts_with("new file");
      TRY(mode(without_cr(line)));
    } else if (line.starts_with("deleted file mode ")) {
      section_->is_deleted = true;
    } else if (!is_known(line) && !is_trailer(at_)) {
      return not_understood(
          section_->hunks.empty()
              ? "not understood"
              : "this is not a line of a hunk; unchanged lines begin with a blank");
    }
    ++at_;
    return {};
  }

  Result<void> mode(std::string_view mode) {
    if (mode != "100644" && mode != "100755") {
      return not_understood("only regular files can be patched: mode 100644 or 100755");
    }
    section_->is_executable = mode == "100755";
    return {};
  }

  static bool is_known(std::string_view line) {
    constexpr auto k_starts = std::to_array<std::string_view>({"index ",
                                                               "similarity index ",
                                                               "dissimilarity index ",
                                                               "old mode ",
                                                               "diff ",
                                                               "Index: ",
                                                               "====",
                                                               "```"});
    return is_blank(line) || std::ranges::any_of(k_starts, [&](std::string_view start) {
             return line.starts_with(start);
           });
  }

  // What mail programs put under a patch: "-- " and a version.
  bool is_trailer(std::size_t at) const {
    const bool is_mark = without_cr(line_at(at)) == "-- ";
    return is_mark || (at > 0 && without_cr(line_at(at - 1)) == "-- ");
  }

  Result<void> hunk() {
    const std::string_view line = lines_[at_];
    if (!section_) {
      return not_understood("a hunk without the file's `---` and `+++` lines before it");
    }
    const auto numbers = numbers_of(line);
    if (line.starts_with("@@@") || (!numbers && line.starts_with("@@ -"))) {
      return not_understood("this header of a hunk cannot be read");
    }
    const std::size_t header = at_++;
    std::size_t end = numbers ? end_by_count(*numbers) : at_;
    end = end == at_ ? end_by_look() : end;
    Hunk hunk;
    if (numbers) {
      hunk.line = numbers->old_range.line;
    }
    for (; at_ < end; ++at_) {
      add(hunk, lines_[at_]);
    }
    const auto changes = [](const PatchLine& one) { return one.mark != ' '; };
    if (std::ranges::none_of(hunk.lines, changes)) {
      at_ = header;
      return not_understood("this hunk changes nothing");
    }
    section_->hunks.push_back(std::move(hunk));
    return {};
  }

  static void add(Hunk& hunk, std::string_view line) {
    if (line.starts_with('\\')) {
      if (!hunk.lines.empty()) {
        hunk.lines.back().ends_file = true;
      }
      return;
    }
    hunk.lines.push_back({.mark = is_bare(line) ? ' ' : line.front(),
                          .text = is_bare(line) ? line : line.substr(1)});
  }

  // As the header says, where that fits what is there; else `at_`.
  std::size_t end_by_count(const HunkHeader& numbers) const {
    std::size_t left_old = numbers.old_range.count;
    std::size_t left_new = numbers.new_range.count;
    std::size_t at = at_;
    for (; left_old > 0 || left_new > 0 || line_at(at).starts_with('\\'); ++at) {
      const std::string_view line = line_at(at);
      const char mark = is_bare(line) ? ' ' : line.front();
      if (mark == '\\') {
        continue;
      }
      const bool is_old = mark == ' ' || mark == '-';
      const bool is_new = mark == ' ' || mark == '+';
      if (at >= lines_.size() || (!is_old && !is_new) || (is_old && left_old == 0) ||
          (is_new && left_new == 0)) {
        return at_;
      }
      left_old -= is_old ? 1 : 0;
      left_new -= is_new ? 1 : 0;
    }
    const bool goes_on = is_of_hunk(line_at(at)) && !is_file_header(at) && !is_trailer(at);
    return goes_on ? at_ : at;
  }

  // Up to what can be no line of a hunk, without empty lines before that.
  std::size_t end_by_look() const {
    std::size_t end = at_;
    for (std::size_t at = at_; at < lines_.size(); ++at) {
      const bool is_next = is_file_header(at) && line_at(at + 2).starts_with("@@");
      if (is_next || (!is_of_hunk(lines_[at]) && !is_bare(lines_[at]))) {
        break;
      }
      end = is_of_hunk(lines_[at]) ? at + 1 : end;
    }
    return end;
  }

  Result<void> finish_section() {
    if (!section_) {
      return {};
    }
    const Section section = *std::exchange(section_, std::nullopt);
    TRY_ASSIGN(FilePatch file, file_of(section));
    if (files_.size() == k_max_patch_files) {
      return wrong(fmt::format("the patch changes more than {} files", k_max_patch_files),
                   "Make several patches of it.");
    }
    files_.push_back(std::move(file));
    return {};
  }

  static Result<FilePatch> file_of(const Section& section) {
    const auto bad = [&](std::string_view why) {
      return wrong(fmt::format("the part of the patch from line {} on {}", section.line, why));
    };
    const auto& names = section.of_diff ? section.of_diff : section.of_git;
    FilePatch file{.is_executable = section.is_executable, .hunks = section.hunks};
    if (section.rename_from && section.rename_to) {
      file.kind = FilePatch::Kind::rename;
      file.old_path = *section.rename_from;
      file.new_path = *section.rename_to;
    } else if (!names) {
      return bad("does not name a file");
    } else if (section.is_new || names->old_name == k_no_file) {
      file.kind = FilePatch::Kind::create;
      file.new_path = names->new_name;
    } else if (section.is_deleted || names->new_name == k_no_file) {
      file.kind = FilePatch::Kind::remove;
      file.old_path = names->old_name;
    } else if (names->old_name != names->new_name) {
      return bad(
          fmt::format("names two files, `{}` and `{}`, without `rename from` and `rename to`",
                      one_line(names->old_name, 200),
                      one_line(names->new_name, 200)));
    } else {
      file.old_path = file.new_path = names->new_name;
    }
    if (file.path() == k_no_file || file.path().empty()) {
      return bad("does not name a file");
    }
    if (file.kind == FilePatch::Kind::modify && file.hunks.empty() && !file.is_executable) {
      return bad("has no hunks");
    }
    return file;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::optional<Section> section_;
  std::vector<FilePatch> files_;
};

}  // namespace

Result<std::vector<FilePatch>> parse_patch(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace tools
