#include "agent/attachment.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace agent {

bool is_picture(const Attachment& attachment) {
  return attachment.media_type.starts_with("image/");
}

std::string_view media_type_of(std::string_view bytes) {
  struct Beginning {
    std::string_view bytes;
    std::string_view media_type;
  };
  constexpr auto k_beginnings = std::to_array<Beginning>({{"\x89PNG\r\n\x1A\n", "image/png"},
                                                          {"\xFF\xD8\xFF", "image/jpeg"},
                                                          {"GIF87a", "image/gif"},
                                                          {"GIF89a", "image/gif"},
                                                          {"%PDF-", "application/pdf"}});
  const auto* const found = std::ranges::find_if(
      k_beginnings, [&](const Beginning& one) { return bytes.starts_with(one.bytes); });
  if (found != k_beginnings.end()) {
    return found->media_type;
  }
  // RIFF, the size in four bytes, WEBP.
  return bytes.starts_with("RIFF") &&
                 bytes.substr(std::min<std::size_t>(bytes.size(), 8)).starts_with("WEBP")
             ? "image/webp"
             : "";
}

std::int64_t estimated_tokens(const Attachment& attachment) {
  constexpr std::int64_t k_picture = 1'600;  // what the largest that is not scaled down costs
  constexpr std::int64_t k_page = 2'000;
  constexpr std::int64_t k_digits_per_page = 64'000;  // of base64: pages of some 48 kB
  if (is_picture(attachment)) {
    return k_picture;
  }
  return k_page * (1 + static_cast<std::int64_t>(attachment.base64.size()) / k_digits_per_page);
}

}  // namespace agent
