#include "cli/manual/mdoc.h"

#include "cli/help.h"

#include <fmt/format.h>

#include <cstddef>

namespace cli::mdoc {
namespace {

// Text that mdoc takes as it is: no line is a request, no backslash an escape.
std::string plain(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    if (starts_line && (text[at] == '.' || text[at] == '\'')) {
      escaped += "\\&";
    }
    if (text[at] == '\\') {
      escaped += "\\e";
    } else if (text.substr(at).starts_with("…")) {
      escaped += "...";
      at += std::string_view("…").size() - 1;
    } else {
      escaped += text[at];
    }
  }
  return escaped;
}

constexpr std::size_t k_width = 76;

}  // namespace

std::string prose(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const auto end = text.find(". ");
    const std::string_view sentence =
        end == std::string_view::npos ? text : text.substr(0, end + 1);
    lines += wrapped(sentence, k_width, 0) + "\n";
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  }
  return plain(lines);
}

std::string sentence(std::string_view phrase) {
  std::string text(phrase);
  const std::string_view first = phrase.substr(0, phrase.find(' '));
  const bool is_name = first.find_first_of("./-") != std::string_view::npos;
  if (!is_name && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text + ".";
}

std::string literal(std::string_view text) {
  std::string escaped;
  for (const char byte : plain(text)) {
    escaped += byte == '-' ? "\\-" : std::string(1, byte);
  }
  return escaped;
}

std::string in_quotes(std::string_view text) {
  std::string escaped;
  for (const char byte : literal(text)) {
    escaped += byte == '"' ? "\\(dq" : std::string(1, byte);
  }
  return "\"" + escaped + "\"";
}

std::string display(std::string_view code) {
  return fmt::format(
      ".Bd -literal -offset indent\n{}{}.Ed\n", literal(code), code.ends_with('\n') ? "" : "\n");
}

}  // namespace cli::mdoc
