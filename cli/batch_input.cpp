#include "cli/batch_input.h"

#include "agent/json.h"
#include "agent/refusal.h"
#include "agent/shortage.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;
using agent::Result;

constexpr std::size_t k_longest_input = 16u << 20;
constexpr std::size_t k_chunk = 65'536;
constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view k_id = "id";
constexpr std::string_view k_prompt = "prompt";

std::optional<InputFormat> format_by_name(const std::string& file) {
  const std::string ending = agent::to_lower(std::filesystem::path(file).extension().string());
  return ending == ".jsonl" || ending == ".ndjson" ? std::optional(InputFormat::jsonl)
         : ending == ".csv"                        ? std::optional(InputFormat::csv)
         : ending == ".txt"                        ? std::optional(InputFormat::lines)
                                                   : std::nullopt;
}

std::string quoted_name(const std::string& file) {
  return file == "-" ? "standard input" : fmt::format("`{}`", agent::one_line(file));
}

std::unexpected<Error> cannot_read_inputs(const std::string& file, int error) {
  return agent::fail(agent::error_of(
      error,
      {.code = Code::cli_no_input,
       .message = fmt::format("cannot read {}: {}", quoted_name(file), std::strerror(error)),
       .help = "INPUTS is a file of lines, JSON Lines or CSV, or `-` for standard input"}));
}

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  if (text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// The fields of a row, or what is wrong with it.
std::expected<std::vector<std::string>, std::string> fields_of(std::string_view row) {
  std::vector<std::string> fields;
  for (;;) {
    std::string& field = fields.emplace_back();
    if (row.starts_with('"')) {
      row.remove_prefix(1);
      for (;;) {
        const auto quote = row.find('"');
        if (quote == std::string_view::npos) {
          return std::unexpected("a quote is opened and never closed");
        }
        field += row.substr(0, quote);
        row.remove_prefix(quote + 1);
        if (!row.starts_with('"')) {
          break;
        }
        field += '"';
        row.remove_prefix(1);
      }
      if (!row.empty() && !row.starts_with(',')) {
        return std::unexpected("something follows a closing quote; a quote in quotes is doubled");
      }
    } else {
      field = row.substr(0, row.find(','));
      row.remove_prefix(field.size());
    }
    if (row.empty()) {
      return fields;
    }
    row.remove_prefix(1);  // the comma
  }
}

}  // namespace

BatchInput::BatchInput(std::string file,
                       agent::Descriptor owned,
                       InputFormat format,
                       const agent::AgentSpec& agent)
    : file_(std::move(file)),
      owned_(std::move(owned)),
      descriptor_(owned_ ? owned_.get() : STDIN_FILENO),
      format_(format) {
  for (const agent::ParameterSpec& parameter : agent.parameters) {
    parameters_.insert(parameter.name);
  }
  struct stat status{};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::size_t>(status.st_size);
  }
}

Result<BatchInput> BatchInput::open(const std::string& file,
                                    std::optional<InputFormat> format,
                                    const agent::AgentSpec& agent) {
  const bool is_stdin = file == "-";
  if (!format) {
    format = is_stdin ? std::nullopt : format_by_name(file);
  }
  if (!format) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("what {} holds does not follow from its name", quoted_name(file)),
        "say it: `--input-format lines`, `jsonl` or `csv`");
  }
  agent::Descriptor owned;
  if (!is_stdin) {
    // Opening a pipe must not wait for its other end: what comes of it is waited for when it is
    // read.
    owned = agent::Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!owned) {
      return cannot_read_inputs(file, errno);
    }
  }
  BatchInput input(file, std::move(owned), *format, agent);
  if (::isatty(input.descriptor_) == 1) {
    return agent::fail(Code::cli_no_input,
                       fmt::format("{} is a terminal", quoted_name(file)),
                       "name a file, or pipe the inputs in");
  }
  if (input.size_) {  // it does not have to be waited for
    TRY(input.read_header({}));
  }
  return input;
}

agent::Where BatchInput::place_of(const BatchItem& item) const {
  return place_of(item.line);
}

agent::Where BatchInput::place_of(std::int64_t line) const {
  return {.file = file_ == "-" ? "standard input" : file_,
          .line = static_cast<int>(line),
          .excerpt = {}};
}

// Whether there is more in the buffer now; no: the end, or the stop.
Result<bool> BatchInput::fill(const std::stop_token& stop) {
  if (is_at_end_ || !agent::wait_for_input(descriptor_, stop)) {
    return false;
  }
  buffer_.erase(0, begin_);
  looked_at_ -= begin_;
  begin_ = 0;
  const std::size_t size = buffer_.size();
  buffer_.resize(size + k_chunk);
  ssize_t bytes = 0;
  do {
    bytes = ::read(descriptor_, buffer_.data() + size, k_chunk);
  } while (bytes < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  if (bytes < 0 && error != EAGAIN) {
    return cannot_read_inputs(file_, error);
  }
  if (bytes == 0) {
    is_at_end_ = true;
  }
  return bytes != 0;
}

// Behind the line end of the record that begins at begin_; nullopt: it is not in the buffer.
std::optional<std::size_t> BatchInput::find_end() {
  if (format_ != InputFormat::csv) {
    const auto end = buffer_.find('\n', looked_at_);
    looked_at_ = end == std::string::npos ? buffer_.size() : end + 1;
    return end == std::string::npos ? std::nullopt : std::optional(looked_at_);
  }
  while (looked_at_ < buffer_.size()) {
    const char c = buffer_[looked_at_++];
    if (at_ == At::quoted) {
      at_ = c == '"' ? At::behind_quote : At::quoted;
    } else if (c == '\n') {
      at_ = At::field_start;
      return looked_at_;
    } else if (c == '"' && at_ != At::plain) {
      at_ = At::quoted;
    } else {
      at_ = c == ',' ? At::field_start : At::plain;
    }
  }
  return std::nullopt;
}

Result<std::optional<BatchInput::Record>> BatchInput::next_record(const std::stop_token& stop) {
  for (;;) {
    const std::int64_t line = line_;
    std::size_t let_go = 0;  // bytes of one that is too long to be kept
    std::optional<std::size_t> end = find_end();
    while (!end) {
      if (buffer_.size() - begin_ > k_longest_input) {
        let_go += buffer_.size() - begin_;
        line_ += std::ranges::count(std::string_view(buffer_).substr(begin_), '\n');
        begin_ = buffer_.size();
      }
      TRY_ASSIGN(const bool is_more, fill(stop));
      if (!is_more) {
        break;
      }
      end = find_end();
    }
    if (!end && (!is_at_end_ || (begin_ == buffer_.size() && let_go == 0))) {
      return std::nullopt;
    }
    const std::size_t from = std::exchange(begin_, end.value_or(buffer_.size()));
    std::string_view text(buffer_.data() + from, begin_ - from);
    Record record{.text = without_line_end(text), .bytes = text.size(), .line = line};
    line_ += std::ranges::count(text, '\n');
    if (let_go > 0) {
      return Record{.text = {}, .bytes = let_go + text.size(), .line = line, .is_too_long = true};
    }
    if (record.line == 1 && record.text.starts_with(k_byte_order_mark)) {
      record.text.remove_prefix(k_byte_order_mark.size());
    }
    if (!agent::trimmed(record.text).empty()) {
      return record;
    }
  }
}

Result<std::optional<BatchItem>> BatchInput::next(const std::stop_token& stop) {
  TRY_ASSIGN(const bool has_header, read_header(stop));
  if (!has_header) {
    return std::nullopt;
  }
  TRY_ASSIGN(const auto record, next_record(stop));
  if (!record) {
    return std::nullopt;
  }
  BatchItem item{.index = ++index_,
                 .line = record->line,
                 .text = std::string(record->text),
                 .bytes = record->bytes};
  if (record->is_too_long) {
    item.mistake = too_long(item.line);
  } else if (const auto why = agent::why_not_text(item.text)) {
    item.mistake = mistake(item.line, "the input is not text: " + *why, "give it as UTF-8");
  } else if (format_ == InputFormat::lines) {
    item.said.prompt = item.text;
  } else if (format_ == InputFormat::jsonl) {
    read_object(item);
  } else {
    read_row(item);
  }
  return item;
}

// Whether it is there, or none is needed.
Result<bool> BatchInput::read_header(const std::stop_token& stop) {
  if (format_ != InputFormat::csv || !columns_.empty()) {
    return true;
  }
  TRY_ASSIGN(const auto header, next_record(stop));
  if (header) {
    TRY(take_header(*header));
  }
  return header.has_value();
}

Error BatchInput::too_long(std::int64_t line) const {
  return mistake(line,
                 "the input is longer than 16 MiB",
                 format_ == InputFormat::csv
                     ? "see whether a quote that is opened there is never closed"
                     : "let the agent read large inputs with a tool instead");
}

Result<void> BatchInput::take_header(const Record& record) {
  if (record.is_too_long) {
    return agent::fail(too_long(record.line));
  }
  if (const auto why = agent::why_not_text(record.text)) {
    return agent::fail(
        mistake(record.line, "the header is not text: " + *why, "give the file as UTF-8"));
  }
  const auto fields = fields_of(record.text);
  if (!fields) {
    return agent::fail(mistake(record.line, fields.error(), "write the header as CSV (RFC 4180)"));
  }
  std::set<std::string> seen;
  for (std::size_t at = 0; at < fields->size(); ++at) {
    const std::string name(agent::trimmed((*fields)[at]));
    if (!is_parameter(name) && name != k_id && name != k_prompt) {
      return agent::fail(unknown(name, record.line, static_cast<int>(at) + 1));
    }
    if (!seen.insert(name).second) {
      return agent::fail(mistake(record.line,
                                 fmt::format("the column `{}` appears twice", name),
                                 "give each column once"));
    }
    columns_.push_back(name);
  }
  head_ = fmt::format("{}\n", record.text);
  return {};
}

void BatchInput::read_row(BatchItem& item) const {
  const auto fields = fields_of(item.text);
  if (!fields) {
    item.mistake = mistake(item.line, fields.error(), "write the row as CSV (RFC 4180)");
    return;
  }
  if (fields->size() != columns_.size()) {
    item.mistake = mistake(
        item.line,
        fmt::format(
            "the row has {} fields, and the header has {}", fields->size(), columns_.size()),
        "a field with a comma, a quote or a line end stands in quotes");
    return;
  }
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    if (!(*fields)[at].empty()) {
      take(item, columns_[at], (*fields)[at]);
    }
  }
}

void BatchInput::read_object(BatchItem& item) const {
  std::optional<std::string> repeated_name;
  const auto json = agent::parse_json(item.text, repeated_name);
  if (!json || !json->is_object()) {
    item.mistake = mistake(
        item.line,
        json ? "the line is not a JSON object" : "the line " + agent::why_not_json(item.text),
        R"(one object a line: {"prompt": "…"}, or the agent's parameters by name)");
    return;
  }
  if (repeated_name) {
    item.mistake = mistake(item.line,
                           fmt::format("`{}` appears twice", agent::one_line(*repeated_name, 100)),
                           "give each name once");
    return;
  }
  for (const auto& [name, value] : json->items()) {
    if (!is_parameter(name) && name != k_id && name != k_prompt) {
      item.mistake = unknown(name, item.line, 0);
      return;
    }
    if (value.is_string()) {
      take(item, name, value.get<std::string>());
    } else if (value.is_boolean() || agent::is_number(value)) {
      take(item, name, agent::dump(value));
    } else if (!value.is_null()) {
      item.mistake = mistake(item.line,
                             fmt::format("the value of `{}` is an object or a list", name),
                             "text, a number, true or false");
      return;
    }
  }
}

// The agent's own names come first: it may call a parameter `prompt`.
void BatchInput::take(BatchItem& item, const std::string& name, std::string value) const {
  if (name == k_id) {
    item.id = value;
  }
  if (is_parameter(name)) {
    item.said.parameters.emplace(name, std::move(value));
  } else if (name == k_prompt) {
    item.said.prompt = std::move(value);
  }
}

bool BatchInput::is_parameter(std::string_view name) const {
  return parameters_.contains(name);
}

Error BatchInput::unknown(std::string_view name, std::int64_t line, int column) const {
  std::vector<std::string> names{std::string(k_prompt), std::string(k_id)};
  names.insert(names.end(), parameters_.begin(), parameters_.end());
  const auto meant = agent::nearest(name, std::span<const std::string>(names));
  const std::string shown = agent::one_line(name, 100);
  return mistake(
      line,
      column > 0 ? fmt::format("column {}, `{}`, is not a parameter of the agent", column, shown)
                 : fmt::format("`{}` is not a parameter of the agent", shown),
      meant ? fmt::format("did you mean `{}`?", *meant)
            : fmt::format("what an input may have: {}", fmt::join(names, ", ")));
}

Error BatchInput::mistake(std::int64_t line, std::string message, std::string help) const {
  return {.code = Code::cli_usage,
          .message = std::move(message),
          .help = std::move(help),
          .where = place_of(line)};
}

}  // namespace cli
