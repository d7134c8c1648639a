// A patch as text: unified diff, plain or as git writes it. Knows no file system; what becomes of a
// file is patched_text.h's.
#pragma once
#include "agent/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct PatchLine {
  char mark = ' ';         // ' ' stays, '-' goes, '+' comes
  std::string_view text;   // without its end, but with a CR in front of that
  bool ends_file = false;  // "\ No newline at end of file" follows it
};

struct Hunk {
  std::optional<std::size_t> line;  // where the old lines begin, from 1; absent: it does not say
  std::vector<PatchLine> lines;     // one at least that goes or comes
};

// What a patch does to one file.
struct FilePatch {
  enum class Kind : std::uint8_t { modify, create, remove, rename };
  Kind kind = Kind::modify;
  std::string old_path;               // empty: create
  std::string new_path;               // empty: remove
  std::optional<bool> is_executable;  // what the patch says of it
  std::vector<Hunk> hunks;

  const std::string& path() const { return new_path.empty() ? old_path : new_path; }
};

constexpr std::size_t k_max_patch_files = 100;

constexpr std::string_view without_cr(std::string_view line) {
  return line.substr(0, line.size() - (line.ends_with('\r') ? 1 : 0));
}

// Views into `text`. The numbers of a hunk's header may be wrong or missing; all else is strict.
// tool.invalid_parameters names the line of the patch that is not understood: no unified diff, a
// binary patch, a link, a copy, two names without a rename, more than k_max_patch_files files.
agent::Result<std::vector<FilePatch>> parse_patch(std::string_view text);

}  // namespace tools
