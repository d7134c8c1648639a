#include "cli/folder_copy.h"

#include "agent/descriptor.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Descriptor;
using agent::Result;

std::unexpected<agent::Error> refuse_copy(const fs::path& path, std::string_view why) {
  return agent::fail(agent::Code::cli_cannot_create,
                     fmt::format("cannot copy `{}`: {}", agent::one_line(path.string()), why),
                     "only files, folders and links that errand may read are copied, where there "
                     "is room for them");
}

class FolderCopy {
 public:
  explicit FolderCopy(const CopyLimits& limits) : limits_(limits) {}

  Result<CopyEnd> copy(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_directory(to, from, error);
    fs::recursive_directory_iterator entry(from, error);
    for (const fs::recursive_directory_iterator end; !error && entry != end;
         entry.increment(error)) {
      if (is_over()) {
        return end_;
      }
      TRY(copy_entry(*entry, to / entry->path().lexically_relative(from)));
    }
    return error ? refuse_copy(from, error.message()) : Result<CopyEnd>(end_);
  }

 private:
  bool is_over() {
    if (limits_.stop.stop_requested()) {
      end_ = CopyEnd::stopped;
    } else if (std::chrono::steady_clock::now() >= limits_.deadline) {
      end_ = CopyEnd::timed_out;
    }
    return end_ != CopyEnd::whole;
  }

  Result<void> copy_entry(const fs::directory_entry& entry, const fs::path& to) {
    std::error_code error;
    const fs::file_status status = entry.symlink_status(error);
    if (!error && fs::is_regular_file(status)) {
      return copy_file(entry.path(), to);
    }
    if (!error && fs::is_directory(status)) {
      fs::create_directory(to, entry.path(), error);
    } else if (!error && fs::is_symlink(status)) {
      fs::copy_symlink(entry.path(), to, error);
    } else if (!error) {
      return refuse_copy(entry.path(), "it is neither a file nor a folder nor a link");
    }
    return error ? refuse_copy(entry.path(), error.message()) : Result<void>();
  }

  Result<void> copy_file(const fs::path& from, const fs::path& to) {
    const Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (!in || ::fstat(in.get(), &status) != 0) {
      return refuse_copy(from, std::strerror(errno));
    }
    const Descriptor out(
        ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!out || !copy_data(in.get(), out.get(), status.st_size) ||
        ::fchmod(out.get(), status.st_mode & 0777) != 0) {
      return refuse_copy(from, std::strerror(errno));
    }
    return {};
  }

  // What is between the holes; false: errno says why. Without holes all of it is data.
  bool copy_data(int in, int out, off_t size) {
    if (::ftruncate(out, size) != 0) {
      return false;
    }
    for (off_t at = 0; at < size && !is_over();) {
      const off_t data = ::lseek(in, at, SEEK_DATA);
      if (data < 0 && errno == ENXIO) {
        return true;  // a hole to the end
      }
      const off_t from = data < 0 ? at : data;
      const off_t hole = data < 0 ? size : ::lseek(in, from, SEEK_HOLE);
      at = hole < 0 ? size : std::min(hole, size);
      if (!copy_range(in, out, from, at)) {
        return false;
      }
    }
    return true;
  }

  bool copy_range(int in, int out, off_t at, off_t end) {
    while (at < end && !is_over()) {
      const auto most = std::min<std::size_t>(buffer_.size(), static_cast<std::size_t>(end - at));
      const ssize_t count = ::pread(in, buffer_.data(), most, at);
      if (count <= 0) {
        return count == 0;  // it became shorter meanwhile
      }
      for (ssize_t written = 0; written < count;) {
        const ssize_t taken = ::pwrite(
            out, buffer_.data() + written, static_cast<std::size_t>(count - written), at + written);
        if (taken < 0) {
          return false;
        }
        written += taken;
      }
      at += count;
    }
    return true;
  }

  const CopyLimits& limits_;
  CopyEnd end_ = CopyEnd::whole;
  std::vector<char> buffer_ = std::vector<char>(1U << 18U);
};

}  // namespace

Result<CopyEnd> copy_folder(const fs::path& from, const fs::path& to, const CopyLimits& limits) {
  return FolderCopy(limits).copy(from, to);
}

}  // namespace cli
