// A folder that is gone after the test, and tools called by hand in it.
#pragma once
#include "agent/json.h"
#include "tools/builtin/builtins.h"
#include "tools/tool.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdlib.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tests {

class FileFolder {
 public:
  FileFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "errand-files-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      std::abort();
    }
    path_ = pattern;
  }
  FileFolder(const FileFolder&) = delete;
  FileFolder& operator=(const FileFolder&) = delete;
  ~FileFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path at(std::string_view name) const { return path_ / name; }

  void write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary) << content;
  }
  std::string read(std::string_view name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // All names directly in it, temporary ones included.
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

  // One call in this folder.
  tools::Output call(tools::Tool& tool,
                     std::string_view arguments,
                     std::stop_token stop = {},
                     tools::SeenFiles* seen = nullptr,
                     const agent::Redactor* redactor = nullptr) const {
    const std::filesystem::path temporary = path_ / "unused-temporary";
    const agent::Environment environment;
    return tool.call(*agent::parse_json(arguments),
                     {.cwd = path_,
                      .temporary = temporary,
                      .environment = environment,
                      .stop = std::move(stop),
                      .kill = {},
                      .on_output = {},
                      .seen = seen,
                      .redactor = redactor});
  }

 private:
  std::filesystem::path path_;
};

using Maker = std::unique_ptr<tools::Tool> (*)(const agent::ToolSpec&);

inline std::unique_ptr<tools::Tool> made(Maker make) {
  return make(agent::ToolSpec{});
}

inline std::stop_token requested_stop() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

}  // namespace tests
