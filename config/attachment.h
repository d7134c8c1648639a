// Files that go with a prompt: `@picture.png` in it, or a line of `context`.
#pragma once
#include "agent/attachment.h"
#include "agent/result.h"
#include "config/yaml/source.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// Whether a name ends like that of a picture or PDF: .png, .jpg, .jpeg, .gif, .webp, .pdf.
bool is_medium(std::string_view path);

// A file that a text names as @PATH. The `@` stands at the beginning, or behind white space or an
// opening bracket; the path ends before white space, or is in double quotes: @"my picture.png". It
// is one only where it ends like a medium; any other `@` is text.
struct Mention {
  std::size_t at = 0;    // the offset of the `@`
  std::size_t from = 0;  // the offset of the path
  std::string path;
};
std::vector<Mention> find_mentions(std::string_view text);

// Adds the file, unless it is there already. config.invalid: it cannot be read, is none of the
// media that a prompt can carry, more than 32 MiB would go with the prompt, or `judge` says why it
// may not (source.h).
agent::Result<void> attach(const std::filesystem::path& file,
                           std::vector<agent::Attachment>& attachments,
                           const JudgeOpened& judge = {});

}  // namespace config
