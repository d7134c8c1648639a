// Bytes out of the process: stdout, or a file that appears whole or not at all.
#pragma once
#include "agent/result.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

// Blocking writes to a descriptor or a file. The first failure sticks, and is asked for; nothing is
// written after it.
class Output {
 public:
  static std::unique_ptr<Output> to_descriptor(int descriptor, std::string name);
  // Writes beside `file` and renames on commit(); devices and pipes are written directly.
  // cli.cannot_create where that cannot be.
  static agent::Result<std::unique_ptr<Output>> to_file(const std::string& file);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  void commit();  // what was written is there to stay; once, at the end

  const agent::Error* failure() const { return failure_ ? &*failure_ : nullptr; }  // storage.io
  bool reader_is_gone() const { return reader_is_gone_; }                          // EPIPE

 private:
  Output(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  void fail(std::string_view doing, int error);

  int descriptor_;
  std::string name_;
  std::string temporary_;  // empty: written in place
  bool owns_descriptor_ = false;
  bool reader_is_gone_ = false;
  std::optional<agent::Error> failure_;
};

// The exit code of a program whose product went there: that of SIGPIPE where the reader went away,
// else `otherwise`. The output's own failure, where it has one.
agent::Result<int> ending_of(const Output& output, int otherwise);

}  // namespace cli
