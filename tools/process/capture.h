// The output of a program: all of it while it is short; beyond that its head and tail in memory
// and the whole in a file.
#pragma once
#include "agent/descriptor.h"
#include "agent/fnv1a.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tools {

struct CaptureLimits {
  std::size_t memory = 256u << 10;  // bytes, half for the head and half for the tail
  std::uint64_t file = 1ull << 30;  // bytes; what follows is counted, but lost; 0: there is no file
};

struct Captured {
  std::string text;  // everything; unless is_whole, head and tail, joined
  bool is_whole = true;
  std::string spill_path;  // of the file with the whole; empty: none was needed or could be made
  std::uint64_t total_bytes = 0;  // that the program wrote
  std::uint64_t lost_bytes = 0;   // that no file has: over its limit, or a full disk

  void remove_file();  // where nobody is told of it
};

class Capture {
 public:
  // The file, if one is needed, is made in `folder` (and the folder too). What a program says again
  // has the same name again, so that a run can be replayed in which a model has read it.
  Capture(std::filesystem::path folder, CaptureLimits limits);

  void add(std::string_view bytes);
  Captured finish();

 private:
  void keep_tail(std::string_view bytes);
  void spill(std::string_view bytes);
  void open_file();
  void name_file();

  std::filesystem::path folder_;
  CaptureLimits limits_;
  std::string head_;
  std::string tail_;
  agent::Descriptor file_;
  bool is_long_ = false;
  std::uint64_t in_file_ = 0;
  std::uint64_t digest_ = agent::k_fnv1a_of_nothing;  // of what is in the file
  Captured captured_;
};

}  // namespace tools
