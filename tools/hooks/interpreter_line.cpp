#include "tools/hooks/interpreter_line.h"

#include "tools/permissions/shell_programs.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <string_view>
#include <system_error>

namespace tools {
namespace {

constexpr std::size_t k_longest_interpreter_line = 255;  // the kernel cuts what is longer
constexpr std::string_view k_between_words = " \t";

std::vector<std::string> words_between_blanks(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(k_between_words), line.size()));
    if (line.empty()) {
      return words;
    }
    words.emplace_back(line.substr(0, line.find_first_of(k_between_words)));
    line.remove_prefix(words.back().size());
  }
}

bool is_plain_word(const std::string& word) {
  static const RE2 pattern("[A-Za-z0-9_./@%+:,=-]+");
  return RE2::FullMatch(word, pattern);
}

bool is_name(const std::string& word) {
  return !word.starts_with('-') && !word.contains('=');
}

// Without `-S`, which only says that there are several; empty: it is none of the forms.
std::vector<std::string> run_by(std::vector<std::string> words) {
  if (words.empty() || !words[0].starts_with('/') || !std::ranges::all_of(words, is_plain_word)) {
    return {};
  }
  const bool is_env = base_name(words[0]) == "env";
  if (is_env && words.size() > 2 && words[1] == "-S" && is_name(words[2])) {
    words.erase(words.begin() + 1);
    return words;
  }
  const bool is_one = words.size() < 3 && !is_env;
  return is_one || (is_env && words.size() == 2 && is_name(words[1])) ? words
                                                                      : std::vector<std::string>();
}

}  // namespace

InterpreterLine interpreter_line(const std::filesystem::path& file) {
  constexpr std::string_view k_python = "'''exec' ";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return {};  // a pipe would be waited for
  }
  std::array<char, 4096> begin{};
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), begin.size());
  std::string_view text(begin.data(), static_cast<std::size_t>(in.gcount()));
  if (!text.starts_with("#!")) {
    return {};
  }
  const std::size_t end = std::min(text.find('\n'), text.size());
  InterpreterLine line{.words = words_between_blanks(text.substr(2, end - 2))};
  line.runs = end > k_longest_interpreter_line ? std::vector<std::string>() : run_by(line.words);
  line.is_plain = !line.runs.empty() || line.words.empty();
  const std::string_view next = text.substr(std::min(end + 1, text.size()));
  if (next.starts_with(k_python)) {
    std::string_view path = next.substr(k_python.size());
    const bool is_quoted = path.starts_with('"');
    path.remove_prefix(is_quoted ? 1 : 0);
    line.words.emplace_back(path.substr(0, path.find_first_of(is_quoted ? "\"\n" : " \n")));
  }
  return line;
}

}  // namespace tools
