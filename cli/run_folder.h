// The folder in which the tools of one run leave what is too long for a result.
#pragma once
#include "agent/environment.h"

#include <filesystem>
#include <string>

namespace cli {

class RunFolder {
 public:
  // Under TMPDIR where that is absolute, else under /tmp. Whoever writes to it first makes it.
  RunFolder(const agent::Environment& environment, const std::string& run_id);
  // Removes it and what is in it; where it is kept, what programs left in their part of it.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  void keep() { is_kept_ = true; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool is_kept_ = false;
};

}  // namespace cli
