// A text file, with its line numbers, page by page.
#include "agent/text.h"
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/line_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace tools {
namespace {

using agent::Code;
using agent::Result;

constexpr long long k_default_limit = 2'000;

constexpr const char* k_read_file_parameters = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file; a relative path starts at the working folder."},
    "offset": {"type": "integer", "minimum": 1, "description": "The first line, from 1."},
    "limit": {"type": "integer", "minimum": 1, "description": "How many lines; 2000 if left out."}
  },
  "required": ["path"],
  "additionalProperties": false
})";

// One page of the file and the words about what is not on it.
class Page {
 public:
  Page(const NamedPath& name, long long first, long long limit)
      : name_(name), first_(first), limit_(limit) {}

  Result<Output> read(LineReader& reader, const std::stop_token& stop) {
    for (;;) {
      TRY_ASSIGN(const std::optional<Line> line, reader.next(stop));
      if (reader.saw_nul()) {
        return binary();
      }
      if (!line) {
        return at_end();
      }
      ++number_;
      if (number_ >= first_ && !add(*line)) {
        return Output{.text = std::move(text_)};
      }
    }
  }

 private:
  // False: the page is full, and says so.
  bool add(const Line& line) {
    const std::string shown = fmt::format("{}\t{}", number_, agent::to_valid_utf8(line.text));
    const bool fits = text_.size() + shown.size() < k_page_bytes;
    if (number_ - first_ == limit_ || (!fits && number_ > first_)) {
      close_lines();
      text_ += fmt::format("[the file goes on; read it with offset {}]\n", number_);
      return false;
    }
    has_cr_ = has_cr_ || line.had_cr;
    if (!fits || line.is_cut) {
      text_ += agent::prefix(shown, k_page_bytes);
      text_ += fmt::format(
          "…\n[line {} is longer than what can be shown; use grep for its parts, "
          "or offset {} to go on after it]\n",
          number_,
          number_ + 1);
      return false;
    }
    text_ += shown;
    text_ += '\n';
    return true;
  }

  void close_lines() {
    if (has_cr_) {
      text_ += "[the lines end in CR LF]\n";
    }
  }

  Result<Output> at_end() {
    if (number_ == 0) {
      return Output{.text = "[the file is empty]\n"};
    }
    if (number_ < first_) {
      return agent::fail(Code::tool_failed,
                         fmt::format("`{}` has only {} lines; there is no line {}",
                                     one_line(name_.shown, 400),
                                     number_,
                                     first_),
                         "Use a smaller offset.");
    }
    close_lines();
    return Output{.text = std::move(text_)};
  }

  Result<Output> binary() const {
    return agent::fail(Code::tool_result_unusable,
                       fmt::format("`{}` is a binary file, not text (it has NUL bytes)",
                                   one_line(name_.shown, 400)),
                       "Look at it with a program that knows its format.");
  }

  const NamedPath& name_;
  long long first_;
  long long limit_;
  long long number_ = 0;  // of the last line that was read
  std::string text_;
  bool has_cr_ = false;
};

// Beyond 64 bits is beyond every file.
long long position(const agent::Json& arguments, std::string_view key, long long otherwise) {
  const agent::Json* given = agent::find(arguments, key);
  const auto number = given == nullptr ? std::optional(otherwise) : agent::integer_of(*given);
  return std::max(number.value_or(std::numeric_limits<long long>::max()), 1LL);
}

Result<Output> read(const agent::Json& arguments, const CallContext& context) {
  TRY_ASSIGN(const NamedPath name, resolve(agent::text_at(arguments, "path"), context));
  TRY_ASSIGN(const RegularFile file, open_regular(name));
  LineReader reader(file, name, k_page_bytes);
  Page page(name, position(arguments, "offset", 1), position(arguments, "limit", k_default_limit));
  auto output = page.read(reader, context.stop);
  if (output || output.error().code == Code::tool_result_unusable) {
    note_seen(file, name);  // that it is no text is all that can be known of it
  }
  return output;
}

Output call_read_file(const agent::Json& arguments, const CallContext& context) {
  auto output = read(arguments, context);
  return output ? std::move(*output) : failure(output.error());
}

}  // namespace

std::unique_ptr<Tool> make_read_file(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "read_file",
                      .description = "Reads a text file. Each line is shown as its number, a tab, "
                                     "and the line. A long file is shown in pages; the last line "
                                     "says how to go on.",
                      .parameters = k_read_file_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.parallel = true, .idempotent = true, .access = Access::Kind::reads},
      call_read_file);
}

}  // namespace tools
