// The frames of Amazon's event stream, as bytes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <zlib.h>

namespace tests {

inline std::string big_endian(std::size_t value, int bytes) {
  std::string text;
  for (int at = bytes - 1; at >= 0; --at) {
    text += static_cast<char>(value >> (8 * at) & 0xFF);
  }
  return text;
}

inline std::string checksum(std::string_view bytes) {
  return big_endian(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())), 4);
}

inline std::string header(std::string_view name, std::string_view value) {
  return big_endian(name.size(), 1) + std::string(name) + "\x07" + big_endian(value.size(), 2) +
         std::string(value);
}

inline std::string frame_of(const std::string& headers, std::string_view payload) {
  const std::string prelude =
      big_endian(16 + headers.size() + payload.size(), 4) + big_endian(headers.size(), 4);
  std::string frame = prelude + checksum(prelude) + headers + std::string(payload);
  return frame + checksum(frame);
}

inline std::string frame(std::string_view type, std::string_view payload) {
  return frame_of(header(":message-type", "event") + header(":event-type", type), payload);
}

}  // namespace tests
