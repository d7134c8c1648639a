// Finds text in files.
#include "agent/text.h"
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/glob.h"
#include "tools/files/line_reader.h"
#include "tools/files/walk.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;

constexpr std::size_t k_max_line = 1u << 20;  // what is searched of one line
constexpr std::size_t k_shown_line = 400;     // what is shown of one line
constexpr std::size_t k_max_matches = 1'000;

constexpr const char* k_grep_parameters = R"({
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "A regular expression in RE2 syntax, e.g. `(?i)todo|fixme`."},
    "path": {"type": "string", "description": "A folder or a file; the working folder if left out."},
    "glob": {"type": "string", "description": "Only files like this: `*.py`, `src/**/*.{c,h}`."}
  },
  "required": ["pattern"],
  "additionalProperties": false
})";

Result<std::unique_ptr<RE2>> compile(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto expression =
      std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!expression->ok()) {
    return fail(Code::tool_invalid_parameters,
                fmt::format("the pattern is not a valid RE2 expression: {}", expression->error()),
                "RE2 has no look-around ((?=…), (?!…), (?<=…)) and no back-references (\\1). "
                "Escape ( ) [ ] { } . * + ? | ^ $ with \\ where they stand for themselves.");
  }
  return expression;
}

// The part of the line around the match.
std::string shown_part(std::string_view line, std::size_t match) {
  std::string text;
  if (line.size() > k_shown_line && match > k_shown_line / 2) {
    std::size_t from = match - k_shown_line / 4;
    while (from < line.size() && agent::is_continuation(line[from])) {
      ++from;
    }
    line.remove_prefix(from);
    text = "…";
  }
  text += agent::prefix(line, k_shown_line);
  return agent::to_valid_utf8(text) + (line.size() > k_shown_line ? "…" : "");
}

class Search {
 public:
  Search(const RE2& expression, const std::optional<Glob>& glob, const CallContext& context)
      : expression_(expression), glob_(glob), context_(context) {}

  Result<Output> in(const NamedPath& start) {
    std::error_code error;
    if (!std::filesystem::is_directory(start.path, error)) {
      TRY(in_file(start));
      if (binary_ > 0) {
        return fail(Code::tool_result_unusable,
                    fmt::format("`{}` is a binary file", one_line(start.shown, 400)),
                    "Look at it with a program that knows its format.");
      }
      return finish({});
    }
    const WalkOptions options{.hidden = glob_ && glob_->names_hidden()};
    TRY_ASSIGN(const agent::Descriptor folder, open_folder(start));
    folder_ = real_path(folder);
    TRY_ASSIGN(const WalkEnd end,
               walk(start,
                    options,
                    context_.stop,
                    [&](const std::string& relative, const FolderEntry& entry) {
                      return visit(start, relative, entry);
                    }));
    return finish(end);
  }

 private:
  Walk visit(const NamedPath& start, const std::string& relative, const FolderEntry& entry) {
    if (entry.type != std::filesystem::file_type::regular || !is_wanted(relative, entry)) {
      return Walk::go_on;
    }
    if (context_.may_read && !context_.may_read(start.path / relative)) {
      ++forbidden_;
      return Walk::go_on;
    }
    const auto searched = in_file({.shown = join_shown(start.shown, relative),
                                   .path = start.path / relative,
                                   .policy = start.policy,
                                   .judge = start.judge,
                                   .inside = folder_});
    if (!searched && searched.error().code == Code::tool_policy_blocked) {
      ++forbidden_;
    } else if (!searched && searched.error().code != Code::tool_cancelled) {
      ++unread_;
    }
    return is_full_ ? Walk::end : Walk::go_on;
  }

  // A pattern without a folder is about the name alone.
  bool is_wanted(const std::string& relative, const FolderEntry& entry) const {
    return !glob_ || glob_->matches(relative) ||
           (glob_->max_names() == std::optional<std::size_t>(1) && glob_->matches(entry.name));
  }

  Result<void> in_file(const NamedPath& name) {
    TRY_ASSIGN(const RegularFile file, open_regular(name));
    if (context_.may_read && !context_.may_read(real_path(file.descriptor))) {
      return fail(Code::tool_policy_blocked, "it may not be read");
    }
    ++files_;
    LineReader reader(file, name, k_max_line);
    for (std::size_t number = 1; !is_full_; ++number) {
      TRY_ASSIGN(const std::optional<Line> line, reader.next(context_.stop));
      if (reader.saw_nul()) {
        ++binary_;
        return {};
      }
      if (!line) {
        return {};
      }
      match(name, number, line->text);
    }
    return {};
  }

  void match(const NamedPath& name, std::size_t number, std::string_view line) {
    const re2::StringPiece text(line.data(), line.size());
    re2::StringPiece found;
    if (!expression_.Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1)) {
      return;
    }
    const auto at = static_cast<std::size_t>(found.data() - line.data());
    const std::string shown =
        fmt::format("{}:{}:{}\n", one_line(name.shown), number, shown_part(line, at));
    if (matches_ == k_max_matches || text_.size() + shown.size() > k_page_bytes) {
      is_full_ = true;
      return;
    }
    text_ += shown;
    ++matches_;
  }

  Result<Output> finish(const WalkEnd& end) {
    if (context_.stop.stop_requested()) {
      return fail(Code::tool_cancelled, "stopped while searching");
    }
    if (matches_ == 0) {
      text_ = fmt::format("[no match in {} file{}]\n", files_, files_ == 1 ? "" : "s");
    }
    if (is_full_) {
      text_ +=
          fmt::format("[more than these {} matches; narrow the pattern, path or glob]\n", matches_);
    }
    if (unread_ > 0) {
      text_ += fmt::format("[{} file{} could not be read]\n", unread_, unread_ == 1 ? "" : "s");
    }
    if (forbidden_ > 0) {
      text_ +=
          fmt::format("[{} file{} may not be read here]\n", forbidden_, forbidden_ == 1 ? "" : "s");
    }
    if (binary_ > 0) {
      text_ += fmt::format("[{} binary file{} left out]\n", binary_, binary_ == 1 ? "" : "s");
    }
    return Output{.text = std::move(text_) + end.notes()};
  }

  const RE2& expression_;
  const std::optional<Glob>& glob_;
  const CallContext& context_;
  std::filesystem::path folder_;  // where the search begins; judged with all that is in it
  std::string text_;
  std::size_t matches_ = 0;
  std::size_t files_ = 0;
  std::size_t binary_ = 0;
  std::size_t unread_ = 0;
  std::size_t forbidden_ = 0;
  bool is_full_ = false;
};

Result<Output> grep(const agent::Json& arguments, const CallContext& context) {
  TRY_ASSIGN(const auto expression, compile(agent::text_at(arguments, "pattern")));
  std::optional<Glob> glob;
  if (agent::find(arguments, "glob") != nullptr) {
    TRY_ASSIGN(glob, Glob::compile(agent::text_at(arguments, "glob")));
  }
  TRY_ASSIGN(const NamedPath start, resolve(agent::text_at(arguments, "path", "."), context));
  return Search(*expression, glob, context).in(start);
}

Result<void> check_patterns(const agent::Json& arguments) {
  TRY(compile(agent::text_at(arguments, "pattern")));
  if (agent::find(arguments, "glob") != nullptr) {
    TRY(Glob::compile(agent::text_at(arguments, "glob")));
  }
  return {};
}

Output call_grep(const agent::Json& arguments, const CallContext& context) {
  auto output = grep(arguments, context);
  return output ? std::move(*output) : failure(output.error());
}

}  // namespace

std::unique_ptr<Tool> make_grep(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "grep",
                      .description = "Finds lines that match a regular expression, shown as "
                                     "file:line:text. Binary files, hidden names and .git are "
                                     "left out.",
                      .parameters = k_grep_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.parallel = true,
                           .idempotent = true,
                           .access = Access::Kind::reads,
                           .check_arguments = check_patterns},
      call_grep);
}

}  // namespace tools
