// What the words of a command line outside of the sandbox name, or may name.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Why it cannot be told from the command line alone all that it names: it is not of the small
// language of plain_command.h, has wildcards or a `cd`, or runs code or an input. Empty: it can.
std::string why_not_plain(std::string_view command);

// Where what a word says may begin: `X`, `--chdir=X`, `a:X`, `-CX`, `@../X`. Borrows the word.
std::vector<std::string_view> ends_of_word(std::string_view word);

// What of it is plainly meant from the folder where its program starts: `./x`, `--plugin=../x`,
// `a/../x`. Empty: nothing. Borrows the word.
std::string_view name_from_start(std::string_view word);

// The folders from which its words may be meant: `directory`, as CommandPlace's, and those that
// words of it name, one behind the other too, as `-C a -C b` does. nullopt: there are too many.
std::optional<std::vector<std::filesystem::path>> folders_named(
    std::string_view command, const std::filesystem::path& directory);

// What a word of a command line may name.
struct Meant {
  std::function<bool(const std::filesystem::path&)> is;  // a file, a folder or a link on the way
  std::function<bool(const std::filesystem::path&)> is_above = {};  // a folder that holds such
};

// The first file, folder or link, or one on the way to it, that a word of the command line names or
// may name, there already or not, whole or in its end, from one of `folders` on, and that is meant;
// empty: none.
std::filesystem::path named_in(std::string_view command,
                               const std::vector<std::filesystem::path>& folders,
                               const Meant& meant);

}  // namespace tools
