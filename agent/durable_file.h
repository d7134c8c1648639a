// A file that is there whole or not at all, whatever ends the program or the machine meanwhile.
#pragma once
#include <filesystem>
#include <string_view>
#include <sys/types.h>

namespace agent {

// Puts the text in place of what the file holds; a link is replaced, not followed. `mode` is that
// of a new file, less the umask. 0, or the errno of what failed: then the file is as it was, or
// (where only the folder could not be synced) as it was to be.
int write_durably(const std::filesystem::path& file, std::string_view text, mode_t mode);

// What was made in the folder, or taken out of it, is so for good. 0, or the errno.
int sync_folder(const std::filesystem::path& folder);

}  // namespace agent
