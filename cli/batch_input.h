// The inputs of a batch, one at a time: lines, JSON objects a line, or the rows of a CSV file.
#pragma once
#include "agent/descriptor.h"
#include "agent/error.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/outside_input.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

enum class InputFormat : std::uint8_t { jsonl, csv, lines };

// One input, which is one run.
struct BatchItem {
  std::int64_t index = 0;  // from 1
  std::int64_t line = 0;   // of the file, from 1: where it begins
  std::string id;          // as the input calls itself; may be empty
  // As it was written, without the end of its last line; empty where that is over 16 MiB.
  std::string text;
  std::size_t bytes = 0;  // of the file, with that end
  OutsideInput said;
  std::optional<agent::Error> mistake;  // cli.usage: what keeps it from being run
};

// Reads in bounded memory, whatever the size of the file. Empty lines are no inputs.
class BatchInput {
 public:
  // `file`: a path, or `-` for standard input. A format that is not given follows from the name's
  // ending. `agent` says which parameters there are. cli.usage where the format is
  // not known, and as next() for the header of a file; cli.no_input where it cannot be read, or is
  // a terminal.
  static agent::Result<BatchInput> open(const std::string& file,
                                        std::optional<InputFormat> format,
                                        const agent::AgentSpec& agent);

  // nullopt at the end, and soon after `stop`. cli.no_input where reading fails; cli.usage where
  // the header of a CSV file is too long or has a column that is nothing's name. Either is the
  // end.
  agent::Result<std::optional<BatchItem>> next(const std::stop_token& stop);

  // Where that input stands.
  agent::Where place_of(const BatchItem& item) const;
  // What a file of some of the inputs begins with: the header of a CSV file, with its line end.
  const std::string& head() const { return head_; }
  // Of a regular file.
  std::optional<std::size_t> size() const { return size_; }

 private:
  BatchInput(std::string file,
             agent::Descriptor owned,
             InputFormat format,
             const agent::AgentSpec& agent);

  // Where a scan for the end of a record is: in a CSV file, a line end in quotes is none.
  enum class At : std::uint8_t { field_start, plain, quoted, behind_quote };
  struct Record {
    std::string_view text;  // of the buffer
    std::size_t bytes = 0;  // with its end
    std::int64_t line = 0;
    bool is_too_long = false;  // `text` is empty
  };

  agent::Result<bool> fill(const std::stop_token& stop);
  agent::Result<std::optional<Record>> next_record(const std::stop_token& stop);
  std::optional<std::size_t> find_end();
  agent::Result<bool> read_header(const std::stop_token& stop);
  agent::Result<void> take_header(const Record& record);
  void read_object(BatchItem& item) const;
  void read_row(BatchItem& item) const;
  void take(BatchItem& item, const std::string& name, std::string value) const;
  bool is_parameter(std::string_view name) const;
  agent::Error unknown(std::string_view name, std::int64_t line, int column) const;
  agent::Where place_of(std::int64_t line) const;
  agent::Error too_long(std::int64_t line) const;
  agent::Error mistake(std::int64_t line, std::string message, std::string help) const;

  std::string file_;
  agent::Descriptor owned_;
  int descriptor_;
  InputFormat format_;
  std::set<std::string, std::less<>> parameters_;  // of the agent
  std::optional<std::size_t> size_;
  std::string head_;
  std::vector<std::string> columns_;  // of a CSV file
  std::string buffer_;
  std::size_t begin_ = 0;      // of the record that is next
  std::size_t looked_at_ = 0;  // up to where it has no end
  At at_ = At::field_start;    // there
  bool is_at_end_ = false;     // of the file
  std::int64_t line_ = 1;
  std::int64_t index_ = 0;
};

}  // namespace cli
