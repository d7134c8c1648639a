#include "tools/sandbox/git_index.h"

#include "agent/text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace tools::sandbox {
namespace {

constexpr std::size_t k_head = 12;
constexpr std::size_t k_file_status = 40;       // times, numbers and the mode of an entry
constexpr std::size_t k_mode = 24;              // where the latter stands in it
constexpr std::uint32_t k_kind = 0170000;       // of the mode
constexpr std::uint32_t k_folder = 0040000;     // an entry for all that is in it
constexpr std::uint32_t k_module = 0160000;     // one for a commit of another repository
constexpr std::size_t k_extension_head = 8;     // four letters, four bytes of length
constexpr std::uint32_t k_name_length = 0xFFF;  // the bits for it; all of them: longer
constexpr std::uint32_t k_is_extended = 0x4000;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char c : bytes) {
    number = number << 8 | static_cast<unsigned char>(c);
  }
  return number;
}

bool is_of_work(std::string_view name, bool is_folder) {
  if (is_folder && name.ends_with('/')) {
    name.remove_suffix(1);
  }
  return !name.contains('\0') && std::ranges::none_of(std::views::split(name, '/'), [](auto part) {
    const std::string lower = agent::to_lower(std::string_view(part.begin(), part.end()));
    return lower.empty() || lower == "." || lower == ".." || lower == ".git";
  });
}

class IndexReader {
 public:
  IndexReader(std::string_view index, std::size_t hash_size)
      : index_(index), hash_size_(hash_size) {}

  bool read() {
    if (index_.size() < k_head + hash_size_ || !index_.starts_with("DIRC")) {
      return false;
    }
    end_ = index_.size() - hash_size_;
    version_ = number(4, 4);
    const std::uint32_t count = number(8, 4);
    at_ = k_head;
    for (std::uint32_t entry = 0; entry < count; ++entry) {
      begins_.push_back(at_);
      starts_anew_.push_back(false);
      if (!read_entry()) {
        return false;
      }
    }
    entries_end_ = at_;
    return version_ >= 2 && version_ <= 4 && read_extensions() && is_the_end_told();
  }

  MoreInIndex take() { return std::move(more_); }

 private:
  std::uint32_t number(std::size_t at, std::size_t bytes) const {
    return big_endian(index_.substr(at, bytes));
  }

  bool read_entry() {
    const std::size_t flags_at = at_ + k_file_status + hash_size_;
    if (flags_at + 4 > end_) {
      return false;
    }
    const std::uint32_t flags = number(flags_at, 2);
    const std::uint32_t kind = number(at_ + k_mode, 4) & k_kind;
    std::size_t name_at = flags_at + ((flags & k_is_extended) != 0 ? 4 : 2);
    if (version_ == 4) {
      const auto cut = varint(name_at);
      if (!cut || *cut > name_.size()) {
        return false;
      }
      name_.resize(name_.size() - *cut);
      starts_anew_.back() = name_.empty();
    } else {
      name_.clear();
      starts_anew_.back() = true;
    }
    const std::size_t name_end = index_.substr(0, end_).find('\0', name_at);
    if (name_end == std::string_view::npos) {
      return false;
    }
    name_ += index_.substr(name_at, name_end - name_at);
    const std::size_t told = flags & k_name_length;
    const bool is_told = told == std::min<std::size_t>(name_.size(), k_name_length);
    at_ = version_ == 4 ? name_end + 1 : at_ + (((name_end - at_) + 8) & ~std::size_t{7});
    if (!is_told || at_ > end_ || !is_of_work(name_, kind == k_folder)) {
      return false;
    }
    if (kind == k_module) {
      more_.modules.push_back(name_);
    } else if (kind == k_folder) {
      const std::string_view id = index_.substr(flags_at - hash_size_, hash_size_);
      more_.folders.push_back({.name = name_, .id = std::string(id)});
    }
    return true;
  }

  // As git packs offsets: each byte but the last has its highest bit, and counts one more.
  std::optional<std::size_t> varint(std::size_t& at) const {
    std::size_t value = 0;
    for (std::size_t bytes = 0; bytes < 4 && at < end_; ++bytes) {
      const auto byte = static_cast<unsigned char>(index_[at++]);
      value = (bytes == 0 ? 0 : (value + 1) << 7) | (byte & 0x7FU);
      if ((byte & 0x80U) == 0) {
        return value;
      }
    }
    return std::nullopt;
  }

  bool read_extensions() {
    while (at_ < end_) {
      if (end_ - at_ < k_extension_head) {
        return false;
      }
      const std::string_view name = index_.substr(at_, 4);
      const std::size_t size = number(at_ + 4, 4);
      at_ += k_extension_head;
      if (size > end_ - at_ || name == "link" ||
          (name == "IEOT" && !are_blocks(index_.substr(at_, size)))) {
        return false;
      }
      at_ += size;
    }
    return true;
  }

  // Where the threads of a git begin to read: each at the entry that follows the last of another.
  bool are_blocks(std::string_view table) const {
    if (table.size() < 4 || table.size() % 8 != 4) {
      return false;
    }
    std::size_t entry = 0;
    for (table.remove_prefix(4); !table.empty(); table.remove_prefix(8)) {
      if (entry >= begins_.size() || begins_[entry] != big_endian(table.substr(0, 4)) ||
          !starts_anew_[entry]) {
        return false;
      }
      entry += big_endian(table.substr(4, 4));
    }
    return entry == begins_.size();
  }

  // Where it looks for the extensions, which stands at a place of its own before the last hash.
  bool is_the_end_told() const {
    const std::size_t size = 4 + hash_size_;
    if (end_ < entries_end_ + k_extension_head + size) {
      return true;
    }
    const std::size_t at = end_ - size - k_extension_head;
    return index_.substr(at, 4) != "EOIE" || number(at + k_extension_head, 4) == entries_end_;
  }

  std::string_view index_;
  std::size_t hash_size_;
  std::size_t end_ = 0;  // of all but the hash of the whole
  std::uint32_t version_ = 0;
  std::size_t at_ = 0;
  std::size_t entries_end_ = 0;
  std::string name_;                 // of the last entry
  std::vector<std::size_t> begins_;  // of the entries
  std::vector<bool> starts_anew_;    // whose names take nothing from the one before
  MoreInIndex more_;
};

}  // namespace

bool names_only_work(std::string_view index, std::size_t hash_size) {
  return IndexReader(index, hash_size).read();
}

MoreInIndex more_in(std::string_view index, std::size_t hash_size) {
  using namespace std::string_view_literals;
  if (!index.contains("\0\0\xE0\0"sv) && !index.contains("\0\0\x40\0"sv)) {  // their modes
    return {};
  }
  IndexReader reader(index, hash_size);
  reader.read();
  return reader.take();
}

}  // namespace tools::sandbox
