// The output of a program: all of it while it is short; beyond that its head and tail in memory
// and the whole in a file.
#pragma once
#include "tools/supervisor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tools {

struct CaptureLimits {
  std::size_t memory = 256u << 10;  // bytes, half for the head and half for the tail
  std::uint64_t file = 1ull << 30;  // bytes; what follows is counted, but lost
};

struct Captured {
  std::string text;               // everything; where spill_path is set, head and tail, joined
  std::string spill_path;         // of the file with the whole; empty: `text` is the whole
  std::uint64_t total_bytes = 0;  // that the program wrote
  std::uint64_t lost_bytes = 0;   // that are neither in the file: its limit, or a full disk
};

class Capture {
 public:
  // The file, if one is needed, is made in `folder` (and the folder too).
  Capture(std::filesystem::path folder, CaptureLimits limits);

  void add(std::string_view bytes);
  Captured finish();

 private:
  void spill(std::string_view bytes);
  void open_file();

  std::filesystem::path folder_;
  CaptureLimits limits_;
  std::string head_;
  std::string tail_;
  Descriptor file_;
  bool spilled_ = false;
  std::uint64_t in_file_ = 0;
  Captured captured_;
};

}  // namespace tools
