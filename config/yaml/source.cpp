#include "config/yaml/source.h"

#include "agent/descriptor.h"
#include "agent/refusal.h"
#include "agent/shortage.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <iterator>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_longest_excerpt = 1'000;
constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";

// The first byte that YAML does not allow in a text: control characters but tab and line ends.
std::optional<std::size_t> find_control_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_line_end =
        byte == '\n' || (byte == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if (byte == 0x7F || (byte < 0x20 && byte != '\t' && !is_line_end)) {
      return at;
    }
  }
  return std::nullopt;
}

std::string control_character_message(unsigned char byte) {
  if (byte == 0) {
    return "a NUL byte in the text";
  }
  if (byte == '\r') {
    return "a carriage return without a line feed";
  }
  return fmt::format("the control character 0x{:02X} in the text", byte);
}

agent::Error file_error(const std::filesystem::path& file, std::string message, std::string help) {
  return agent::Error{.code = agent::Code::config_invalid,
                      .message = std::move(message),
                      .help = std::move(help),
                      .where = agent::Where{.file = file.string(), .excerpt = {}}};
}

// What is in the same folder under nearly this name, if there is one and it is unique.
std::optional<std::string> file_near(const std::filesystem::path& file) {
  constexpr std::size_t k_longest_name = 255;
  constexpr std::size_t k_most_names = 10'000;
  const std::string name = file.filename().string();
  if (name.size() > k_longest_name) {
    return std::nullopt;
  }
  std::error_code error;
  const std::filesystem::path folder = file.parent_path();
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end && names.size() < k_most_names;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  const auto near = agent::nearest(name, names);
  return near && *near != name ? std::optional((folder / *near).string()) : std::nullopt;
}

agent::Error open_error(const std::filesystem::path& file, int number) {
  const std::string name = agent::one_line(file.string());
  std::error_code error;
  if (number == ENOENT && std::filesystem::is_symlink(file, error)) {
    const auto target = std::filesystem::read_symlink(file, error);
    return file_error(
        file,
        fmt::format(
            "`{}` is a link that leads nowhere, to `{}`", name, agent::one_line(target.string())),
        "put the file there, or remove the link");
  }
  if (number == ENOENT || number == ENOTDIR) {
    const auto near = file_near(file);
    return file_error(file,
                      fmt::format("there is no file `{}`", name),
                      near ? fmt::format("did you mean `{}`?", agent::one_line(*near))
                           : "check the path and the folder it starts from");
  }
  return agent::error_of(
      number,
      file_error(file,
                 fmt::format("cannot open `{}`: {}", name, std::generic_category().message(number)),
                 "check the file's permissions"));
}

agent::Result<void> check_is_readable(const std::filesystem::path& file,
                                      const struct stat& status,
                                      std::size_t limit) {
  const std::string name = agent::one_line(file.string());
  if (S_ISDIR(status.st_mode)) {
    return agent::fail(
        file_error(file, fmt::format("`{}` is a folder", name), "name a file in it"));
  }
  if (!S_ISREG(status.st_mode)) {
    return agent::fail(file_error(file,
                                  fmt::format("`{}` is not a regular file", name),
                                  "pipes and devices are not read; write the text to a file"));
  }
  if (static_cast<std::size_t>(status.st_size) > limit) {
    return agent::fail(file_error(
        file,
        fmt::format("`{}` is {} bytes long; at most {} are read", name, status.st_size, limit),
        "check that this is the right file"));
  }
  return {};
}

agent::Result<std::string> read_all(int descriptor,
                                    const std::filesystem::path& file,
                                    std::size_t limit,
                                    std::size_t expected) {
  std::string text(std::min(limit, std::max<std::size_t>(expected, 65'536)) + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(descriptor, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return agent::fail(open_error(file, errno));
    }
    if (got == 0) {
      break;
    }
    length += static_cast<std::size_t>(got);
  }
  if (length == text.size()) {
    return agent::fail(
        file_error(file,
                   fmt::format("`{}` grew while it was read", agent::one_line(file.string())),
                   "check that this is the right file"));
  }
  text.resize(length);
  return text;
}

// Non-blocking: opening a pipe must not wait for its other end.
constexpr int k_reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

agent::Result<std::string> read_opened(const agent::Descriptor& descriptor,
                                       const std::filesystem::path& file,
                                       std::size_t limit,
                                       const JudgeOpened& judge = {}) {
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) {
    return agent::fail(open_error(file, errno));
  }
  if (judge) {
    std::error_code error;
    TRY(judge(
        std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor.get()), error)));
  }
  TRY(check_is_readable(file, status, limit));
  return read_all(descriptor.get(), file, limit, static_cast<std::size_t>(status.st_size));
}

std::optional<unsigned> unit_at(std::string_view text, std::size_t at) {
  constexpr std::string_view k_begin = "\\u";
  unsigned unit = 0;
  const std::string_view digits =
      text.substr(std::min(at + k_begin.size(), text.size())).substr(0, 4);
  const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), unit, 16);
  const bool is_one = text.substr(std::min(at, text.size())).starts_with(k_begin) &&
                      failure == std::errc() && end == digits.end() && digits.size() == 4;
  return is_one ? std::optional(unit) : std::nullopt;
}

// JSON writes what is beyond U+FFFF as two escapes; YAML, as which it is read, has one for that.
std::string with_whole_characters(std::string_view text) {
  constexpr std::size_t k_escape = 6;  // bytes of one
  std::string whole;
  for (std::size_t at = 0; at < text.size();) {
    const auto high = unit_at(text, at);
    const auto low = high ? unit_at(text, at + k_escape) : std::nullopt;
    const bool are_pair =
        low && *high >= 0xD800 && *high < 0xDC00 && *low >= 0xDC00 && *low < 0xE000;
    if (are_pair) {
      whole += fmt::format("\\U{:08x}", 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
      at += 2 * k_escape;
    } else {
      const std::size_t length = text[at] == '\\' ? 2 : 1;  // an escaped backslash begins nothing
      whole += text.substr(at, length);
      at += length;
    }
  }
  return whole;
}

}  // namespace

Source::Source(std::string text, std::string file)
    : text_(std::move(text)), file_(std::move(file)), line_begins_{0} {
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (text_[at] == '\n') {
      line_begins_.push_back(at + 1);
    }
  }
}

agent::Result<Source> Source::create(std::string text, std::string file) {
  if (text.starts_with(k_byte_order_mark)) {
    text.erase(0, k_byte_order_mark.size());
  }
  if (file.ends_with(".json")) {
    text = with_whole_characters(text);
  }
  const bool is_utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  Source source(std::move(text), std::move(file));
  const auto refuse = [&](std::size_t offset, std::string message, std::string help) {
    auto where = source.where({offset, 1});
    where.excerpt = agent::printable(agent::to_valid_utf8(where.excerpt));
    return agent::fail({.code = agent::Code::config_invalid,
                        .message = std::move(message),
                        .help = std::move(help),
                        .where = std::move(where)});
  };
  if (is_utf16) {
    return refuse(0, "the file is UTF-16", "save it as UTF-8");
  }
  if (const std::size_t valid = agent::valid_utf8_prefix(source.text_);
      valid < source.text_.size()) {
    return refuse(valid, "the text is not valid UTF-8", "save it as UTF-8");
  }
  if (const auto at = find_control_character(source.text_)) {
    return refuse(*at,
                  control_character_message(static_cast<unsigned char>(source.text_[*at])),
                  "take it out; in double quotes it can be written as an escape such as \"\\x1B\"");
  }
  return source;
}

std::size_t Source::line_of(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(line_begins_, offset);
  return static_cast<std::size_t>(after - line_begins_.begin());
}

std::size_t Source::line_begin(std::size_t line) const {
  return line_begins_[std::min(line, line_begins_.size()) - 1];
}

std::string_view Source::line_text(std::size_t line) const {
  const std::size_t begin = line_begin(line);
  std::string_view rest = std::string_view(text_).substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) {
    rest.remove_suffix(1);
  }
  return rest;
}

bool Source::is_hidden(std::size_t offset) const {
  return std::ranges::any_of(hidden_, [&](const Span& span) {
    return offset >= span.offset && offset < span.offset + span.length;
  });
}

agent::Where Source::where(Span span) const {
  const std::size_t offset = std::min(span.offset, text_.size());
  const std::size_t line = line_of(offset);
  const std::size_t begin = line_begin(line);
  const std::string_view content = line_text(line);
  const std::size_t from = std::min(offset - begin, content.size());
  const std::string_view marked = content.substr(from, span.length);
  agent::Where where{
      .file = file_,
      .line = static_cast<int>(line),
      .column = static_cast<int>(agent::character_count(content.substr(0, from))) + 1,
      .excerpt = {},
      .length = std::max(1, static_cast<int>(agent::character_count(marked)))};
  if (content.size() <= k_longest_excerpt) {
    where.excerpt = content;
    for (std::size_t at = 0; at < where.excerpt.size() && !hidden_.empty(); ++at) {
      if (is_hidden(begin + at)) {
        where.excerpt[at] = '*';
      }
    }
  }
  return where;
}

agent::Result<std::string> read_text_file(const std::filesystem::path& file,
                                          std::size_t limit,
                                          const JudgeOpened& judge) {
  const agent::Descriptor descriptor(::open(file.c_str(), k_reading));
  if (!descriptor) {
    return agent::fail(open_error(file, errno));
  }
  return read_opened(descriptor, file, limit, judge);
}

bool hide_text_behind_link(const std::filesystem::path& file, std::vector<agent::Error>& mistakes) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  const std::filesystem::path below = (here / file).lexically_relative(here);
  bool is_linked = std::filesystem::is_symlink(file, error);
  std::filesystem::path at = here;
  for (const std::filesystem::path& part : below) {
    at /= part;
    is_linked = is_linked || (part != ".." && std::filesystem::is_symlink(at, error));
  }
  if (!is_linked) {
    return false;
  }
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  for (agent::Error& mistake : mistakes) {
    mistake.message = "a mistake in a file that is reached by a symbolic link";
    mistake.help = fmt::format("its text is shown only where the file itself is named: {}",
                               agent::one_line(real.string()));
    if (mistake.where) {
      mistake.where->excerpt.clear();
    }
  }
  return true;
}

agent::Result<std::optional<std::string>> read_file_inside(const std::filesystem::path& root,
                                                           const std::filesystem::path& relative,
                                                           std::size_t limit) {
  const std::filesystem::path file = root / relative;
  agent::Descriptor at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (auto part = relative.begin(); at && part != relative.end(); ++part) {
    const bool is_last = std::next(part) == relative.end();
    at = agent::Descriptor(
        ::openat(at.get(),
                 part->c_str(),
                 O_NOFOLLOW | (is_last ? k_reading : O_PATH | O_DIRECTORY | O_CLOEXEC)));
  }
  if (at) {
    TRY_ASSIGN(std::string text, read_opened(at, file, limit));
    return text;
  }
  const int number = errno;
  if (number == ELOOP || number == ENOTDIR) {
    return agent::fail(file_error(
        file,
        fmt::format("`{}` is reached by a symbolic link, or is in something that is not a folder",
                    agent::one_line(file.string())),
        "put the file itself there: links are not followed, because they could lead to "
        "files that its writer may not read"));
  }
  return number == ENOENT ? agent::Result<std::optional<std::string>>(std::nullopt)
                          : agent::fail(open_error(file, number));
}

}  // namespace config
