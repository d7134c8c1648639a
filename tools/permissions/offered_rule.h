// A rule that was offered and is kept for every run means what it means now, wherever errand works
// then.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tools {

// Those whose rules are about paths.
std::span<const std::string_view> file_tools();

// The rule that Permissions has offered in the working folder `cwd`, with its relative path made
// absolute.
std::string lasting_rule(std::string_view rule, const std::filesystem::path& cwd);

}  // namespace tools
