// Bytes that are no text, as text (RFC 4648, with padding).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace agent {

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);  // nullopt where it is none

}  // namespace agent
