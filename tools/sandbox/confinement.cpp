#include "tools/sandbox/confinement.h"

#include <charconv>
#include <concepts>

namespace tools::sandbox {
namespace {

void put(std::string& text, char tag, std::string_view value) {
  text += tag;
  text += value;
  text += '\0';
}

void put_all(std::string& text, char tag, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    put(text, tag, value);
  }
}

void put_number(std::string& text, char tag, const std::optional<std::uint64_t>& number) {
  if (number) {
    put(text, tag, std::to_string(*number));
  }
}

template <std::integral Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

bool take(Confinement& confinement, char tag, std::string_view value) {
  switch (tag) {
    case 'w':
      confinement.writable.emplace_back(value);
      return true;
    case 'l':
      confinement.locked.emplace_back(value);
      return true;
    case 'h':
      confinement.hidden.emplace_back(value);
      return true;
    case 'n':
      confinement.network = true;
      return true;
    case 'o':
      confinement.outlet = true;
      return true;
    case 'm':
      confinement.memory = number_of<std::uint64_t>(value);
      return confinement.memory.has_value();
    case 'p':
      confinement.processes = number_of<std::uint64_t>(value);
      return confinement.processes.has_value();
    case 'c':
      confinement.cpu_time = number_of<std::uint64_t>(value);
      return confinement.cpu_time.has_value();
    case 'u':
      confinement.untouchable.push_back(number_of<pid_t>(value).value_or(0));
      return confinement.untouchable.back() > 0;
    default:
      return false;
  }
}

}  // namespace

std::string encode(const Confinement& confinement) {
  std::string text;
  put_all(text, 'w', confinement.writable);
  put_all(text, 'l', confinement.locked);
  put_all(text, 'h', confinement.hidden);
  if (confinement.network) {
    put(text, 'n', "");
  }
  if (confinement.outlet) {
    put(text, 'o', "");
  }
  put_number(text, 'm', confinement.memory);
  put_number(text, 'p', confinement.processes);
  put_number(text, 'c', confinement.cpu_time);
  for (const pid_t pid : confinement.untouchable) {
    put(text, 'u', std::to_string(pid));
  }
  return text;
}

std::optional<Confinement> decode(std::string_view text) {
  Confinement confinement;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos || end == 0 ||
        !take(confinement, text.front(), text.substr(1, end - 1))) {
      return std::nullopt;
    }
    text.remove_prefix(end + 1);
  }
  return confinement;
}

}  // namespace tools::sandbox
