// What is different between two texts, as a unified diff that people read. Knows no file system.
#pragma once
#include <string>
#include <string_view>

namespace tools {

// With three lines of context, and the names as its header has them ("a/x", "/dev/null"); empty
// where nothing is different. Every line that goes or comes is in it. Texts that have too little in
// common for the shortest diff to be found soon are shown as lines that all go and lines that all
// come: time and memory are linear in the texts.
std::string unified_diff(std::string_view old_name,
                         std::string_view old_text,
                         std::string_view new_name,
                         std::string_view new_text);

// A name in a diff: in quotes, as JSON writes it, where it has control characters, which would look
// like blanks, or what the quotes need.
std::string diff_name(std::string_view name);

}  // namespace tools
