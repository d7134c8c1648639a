// Bytes that are no text, as text (RFC 4648).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace agent {

std::string to_base64(std::string_view bytes);                  // with padding
std::optional<std::string> from_base64(std::string_view text);  // nullopt where it is none

// As URLs and tokens have it: - and _ in place of + and /, and no padding.
std::string to_base64url(std::string_view bytes);

}  // namespace agent
