// Git's index, as far as its names go: git writes the files of the work by them, and looks at none
// of them again when it does.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tools::sandbox {

// Whether the bytes are an index (version 2 to 4, whole or sparse) that names files of the work
// alone: nothing in `.git`, above the work or by a whole path. `hash_size`: bytes of an object's
// name. What git itself writes is one; a split index is not, of which this is only a part.
bool names_only_work(std::string_view index, std::size_t hash_size);

struct SparseFolder {
  std::string name;
  std::string id;  // of its tree, in bytes
};
// What it names beside files, as far as the bytes are an index.
struct MoreInIndex {
  std::vector<std::string> modules;   // folders for which it has a commit of another repository
  std::vector<SparseFolder> folders;  // whole ones, of which it does not say what is in them
};
MoreInIndex more_in(std::string_view index, std::size_t hash_size);

}  // namespace tools::sandbox
