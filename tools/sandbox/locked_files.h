// Keeps an eye on locked places where mounts do not: what a program has changed there is put back
// after its call, and named.
#pragma once
#include "agent/result.h"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace tools::sandbox {

// Thread-safe.
class LockedFiles {
 public:
  // Reads the places (absolute, free of links, none above another's folder). Where `are_mounted`,
  // those that exist need no eye. sandbox.setup: one is too large to be kept.
  static agent::Result<std::unique_ptr<LockedFiles>> create(
      const std::vector<std::filesystem::path>& places, bool are_mounted);

  // Puts back what differs and removes what is new, without ever following a link that a program
  // may have put in the way. The places that differed; "(could not be put back)" where so.
  std::vector<std::string> restore();

 private:
  struct Entry {
    struct stat status = {};
    std::string content;  // of a file; the target of a link
  };
  using Tree = std::map<std::string, Entry>;  // by path; a place that does not exist has none
  struct Place {
    std::filesystem::path path;
    Tree tree;
  };

  static bool read_tree(const std::filesystem::path& path, Tree& tree, std::size_t& room);
  static bool is_same(const Place& place);
  static void put_back(const Place& place);

  std::mutex mutex_;
  std::vector<Place> places_;
};

}  // namespace tools::sandbox
