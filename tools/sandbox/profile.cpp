#include "tools/sandbox/profile.h"

#include <charconv>
#include <concepts>
#include <cstddef>
#include <system_error>

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

bool take(Profile& profile, char tag, std::string_view value) {
  switch (tag) {
    case 'w':
      profile.writable.emplace_back(value);
      return true;
    case 'l':
      profile.locked.emplace_back(value);
      return true;
    case 's':
      profile.held.emplace_back(value);
      return true;
    case 'd':
      profile.hidden.emplace_back(value);
      return true;
    case 'x':
      profile.reading.closed.emplace_back(value);
      return true;
    case 'r':
      profile.reading.open.emplace_back(value);
      return true;
    case 'h':
      profile.homes.emplace_back(value);
      return true;
    case 'n':
      profile.network = true;
      return true;
    case 'o':
      profile.egress_proxy = true;
      return true;
    case 'm':
      profile.memory = number_of<std::uint64_t>(value);
      return profile.memory.has_value();
    case 'p':
      profile.processes = number_of<std::uint64_t>(value);
      return profile.processes.has_value();
    case 'c':
      profile.cpu_time = number_of<std::uint64_t>(value);
      return profile.cpu_time.has_value();
    case 'g':
      profile.generation = number_of<std::uint64_t>(value).value_or(0);
      return profile.generation > 0;
    case 'u':
      profile.untouchable.push_back(number_of<pid_t>(value).value_or(0));
      return profile.untouchable.back() > 0;
    default:
      return false;
  }
}

}  // namespace

std::string encode(const Profile& profile) {
  std::string text;
  put_all(text, 'w', profile.writable);
  put_all(text, 'l', profile.locked);
  put_all(text, 's', profile.held);
  put_all(text, 'd', profile.hidden);
  put_all(text, 'x', profile.reading.closed);
  put_all(text, 'r', profile.reading.open);
  put_all(text, 'h', profile.homes);
  if (profile.network) {
    put(text, 'n', "");
  }
  if (profile.egress_proxy) {
    put(text, 'o', "");
  }
  put_number(text, 'm', profile.memory);
  put_number(text, 'p', profile.processes);
  put_number(text, 'c', profile.cpu_time);
  if (profile.generation > 0) {
    put(text, 'g', std::to_string(profile.generation));
  }
  for (const pid_t pid : profile.untouchable) {
    put(text, 'u', std::to_string(pid));
  }
  return text;
}

std::optional<Profile> decode(std::string_view text) {
  Profile profile;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos || end == 0 ||
        !take(profile, text.front(), text.substr(1, end - 1))) {
      return std::nullopt;
    }
    text.remove_prefix(end + 1);
  }
  return profile;
}

}  // namespace tools::sandbox
