#include "cli/pinned_files.h"

#include "agent/absence.h"
#include "agent/text.h"

#include <algorithm>
#include <utility>

namespace cli {
namespace {

constexpr std::size_t k_shown = 30'000;
constexpr std::size_t k_largest = 16 * std::size_t{1'048'576};

}  // namespace

std::function<std::vector<agent::PinnedFile>()> pinned_files(std::vector<std::string> paths,
                                                             std::filesystem::path cwd,
                                                             config::ReadingPolicy policy,
                                                             std::size_t most_bytes,
                                                             agent::Redactor redactor) {
  return [paths = std::move(paths),
          files = config::NamedFiles(std::move(cwd), std::move(policy)),
          most_bytes,
          redactor = std::move(redactor)] {
    std::vector<agent::PinnedFile> pinned;
    std::size_t left = most_bytes;
    for (const std::string& path : paths) {
      if (agent::is_absent(files.locate(path))) {
        continue;
      }
      const auto text = files.read(path, k_largest);
      std::string content = text ? agent::head_and_tail(redactor.apply(agent::to_valid_utf8(*text)),
                                                        std::min(k_shown, left))
                                 : "[not to be read: " + text.error().message + "]";
      left -= std::min(left, content.size());
      pinned.push_back({.path = path, .content = std::move(content)});
    }
    return pinned;
  };
}

// An eighth of it, at four bytes a token.
std::size_t result_page(std::int64_t window) {
  constexpr std::size_t k_most = 28'000;
  return std::clamp<std::size_t>(static_cast<std::size_t>(window / 2), 1'000, k_most);
}

}  // namespace cli
