// Pictures and documents that go with a prompt.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace agent {

struct Attachment {
  std::string name;        // of the file, without folders
  std::string media_type;  // "image/png"
  std::string base64;      // the file's bytes

  static void fields(auto& self, auto& field) {
    field("name", self.name);
    field("media_type", self.media_type);
    field("base64", self.base64);
  }
  bool operator==(const Attachment&) const = default;
};

bool is_picture(const Attachment& attachment);

// By the first bytes of a file: image/png, image/jpeg, image/gif, image/webp, application/pdf;
// empty: nothing that a prompt can carry.
std::string_view media_type_of(std::string_view bytes);

// A guess, on the safe side: servers count by what they see, and tell only afterwards.
std::int64_t estimated_tokens(const Attachment& attachment);

}  // namespace agent
