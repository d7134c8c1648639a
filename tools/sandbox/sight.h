// Looks at files, and notes whether it saw what is there. What a machine that lacks something
// (descriptors, memory) or a broken disk keeps from it is neither gone nor changed: from such a
// look nothing may be concluded.
#pragma once
#include "agent/descriptor.h"
#include "agent/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <vector>

namespace tools::sandbox {

class Sight {
 public:
  struct Named {
    std::string name;
    unsigned char type;  // as readdir says it
  };

  // Of this user's own folders that are shut, a program may have shut one over what it made: none
  // of them is seen, or all are opened.
  enum class Shut : std::uint8_t { unseen, opened };
  explicit Sight(Shut shut = Shut::unseen) : opens_shut_(shut == Shut::opened) {}

  // Of a look beside this one.
  void add(const Sight& other);
  bool is_whole() const { return error_number_ == 0; }
  // os.failed, with the first place that it could not see; nullopt: it saw all.
  std::optional<agent::Error> trouble() const;

  // As the calls of these names do; errno is theirs. `open_in` opens the path's last part in a
  // folder that is open.
  agent::Descriptor open(const std::filesystem::path& path, int flags);
  agent::Descriptor open_in(int folder, const std::filesystem::path& path, int flags);
  std::optional<struct stat> lstat(const std::filesystem::path& path);
  bool is_there(const std::filesystem::path& path) { return lstat(path).has_value(); }
  // What is in a folder: links are followed. The other one is of a folder that is open, and stays
  // so; the path is how it is told.
  std::vector<Named> entries_of(const std::filesystem::path& folder);
  std::vector<Named> entries_of(int folder, const std::filesystem::path& path);
  // All below it, with its type as readdir says it, until `visit` says no. Links are not followed.
  using Visit = std::function<bool(const std::filesystem::path& path, unsigned char type)>;
  void walk(const std::filesystem::path& folder, const Visit& visit);

  // Of another call that failed there. That something is not there, is of another kind, leads
  // nowhere or is shut is seen, too.
  void failed(int error_number, const std::filesystem::path& where);
  // The same of what std::filesystem says; no error: all is well.
  void heed(const std::error_code& error, const std::filesystem::path& where);

 private:
  agent::Descriptor opened(int descriptor, const std::filesystem::path& where);
  std::vector<Named> read(int folder, const std::filesystem::path& where);
  void note(int error_number, const std::filesystem::path& where);

  bool opens_shut_;
  int error_number_ = 0;
  std::filesystem::path where_;
};

}  // namespace tools::sandbox
