// What the tests of this folder share: agent files as text, reports as lines.
#pragma once
#include "agent/error.h"
#include "config/load.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace config_test {

inline config::KnownNames known() {
  return {.tools = {"edit_file", "glob", "grep", "read_file", "shell", "task_failed", "web_fetch"},
          .program_tools = {"shell"},
          .web_tools = {"web_fetch"},
          .protocols = {"anthropic_messages", "openai_chat"},
          .key_variables = {"OPENAI_API_KEY"}};
}

// A folder that is gone when the test is over.
class Folder {
 public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "errand-config-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline config::Report parse(std::string_view text,
                            const agent::Environment& environment = {},
                            bool markdown = false) {
  return config::parse_agent(text, "agent.yaml", "/nonexistent", markdown, environment, known());
}

// "3:5 message"; the mark's length is told by marked().
inline std::string line_of(const agent::Error& error) {
  if (!error.where) {
    return error.message;
  }
  return std::to_string(error.where->line) + ":" + std::to_string(error.where->column) + " " +
         error.message;
}

inline std::vector<std::string> lines_of(const std::vector<agent::Error>& errors) {
  std::vector<std::string> lines;
  for (const agent::Error& error : errors) {
    lines.push_back(line_of(error));
  }
  return lines;
}

// What the caret stands under.
inline std::string marked(const agent::Error& error) {
  const auto& where = *error.where;
  std::size_t at = 0;
  const auto skip = [&](int characters) {
    for (; characters > 0 && at < where.excerpt.size(); --characters) {
      ++at;
      while (at < where.excerpt.size() &&
             (static_cast<unsigned char>(where.excerpt[at]) & 0xC0U) == 0x80U) {
        ++at;
      }
    }
  };
  skip(where.column - 1);
  const std::size_t begin = at;
  skip(where.length);
  return where.excerpt.substr(begin, at - begin);
}

inline const std::string k_head = "version: 1\nname: a\n";

}  // namespace config_test
