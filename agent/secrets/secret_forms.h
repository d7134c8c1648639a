// A secret as it may stand in a text that is JSON, a URL, or base64.
#pragma once
#include <string>
#include <vector>

namespace agent {

// The ways in which a value may be written, itself the first; some may be alike.
std::vector<std::string> forms_of(const std::string& value);

// Of a value with several lines: it with other breaks between them (CRLF, blanks), and each of its
// long lines but those that only say what it is (-----BEGIN …). Nothing of any other value.
std::vector<std::string> parts_of(const std::string& value);

}  // namespace agent
