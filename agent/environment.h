// The environment variables, read once by cli/ and passed on as a value.
#pragma once
#include <functional>
#include <map>
#include <string>

namespace agent {

using Environment = std::map<std::string, std::string, std::less<>>;

}  // namespace agent
