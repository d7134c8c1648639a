#include "tools/permissions/plain_command.h"

#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tools {
namespace {

constexpr std::size_t k_longest_line = 65'536;
constexpr std::size_t k_most_plain_words = 5'000;
constexpr std::size_t k_most_wrappers = 8;  // of one command

// Variables that change how a program speaks, not what it does.
constexpr auto k_harmless_variables = std::to_array<std::string_view>({"CARGO_TERM_COLOR",
                                                                       "CI",
                                                                       "CLICOLOR",
                                                                       "COLUMNS",
                                                                       "FORCE_COLOR",
                                                                       "LANG",
                                                                       "LC_ALL",
                                                                       "LC_COLLATE",
                                                                       "LC_CTYPE",
                                                                       "LC_MESSAGES",
                                                                       "LC_NUMERIC",
                                                                       "LC_TIME",
                                                                       "LINES",
                                                                       "NO_COLOR",
                                                                       "PYTHONUNBUFFERED",
                                                                       "RUST_BACKTRACE",
                                                                       "TERM",
                                                                       "TZ"});

// What a shell takes for something else than the name of a program, at the beginning of a command.
constexpr auto k_keywords = std::to_array<std::string_view>({"!",
                                                             "case",
                                                             "coproc",
                                                             "do",
                                                             "done",
                                                             "elif",
                                                             "else",
                                                             "esac",
                                                             "fi",
                                                             "for",
                                                             "if",
                                                             "function",
                                                             "select",
                                                             "then",
                                                             "in",
                                                             "until",
                                                             "while"});
// Its own commands that change what later ones mean, read or run. Those that do not (`echo`,
// `test`, `true`, …) are judged as programs are.
constexpr auto k_shells_own = std::to_array<std::string_view>(
    {".",       "alias",     "bg",       "bind",     "break",   "builtin", "caller", "chdir",
     "compgen", "complete",  "compopt",  "continue", "declare", "dirs",    "disown", "enable",
     "eval",    "exec",      "export",   "fc",       "fg",      "getopts", "hash",   "help",
     "history", "jobs",      "let",      "local",    "logout",  "mapfile", "popd",   "pushd",
     "read",    "readarray", "readonly", "return",   "set",     "shift",   "shopt",  "source",
     "suspend", "times",     "trap",     "type",     "typeset", "ulimit",  "umask",  "unalias",
     "unset",   "wait"});

// Programs that run the rest of their words and change nothing about what it does, where they are
// given no options.
struct PlainWrapper {
  std::string_view name;
  bool has_duration = false;  // `timeout 5`
  bool is_of_shell = false;   // the shell itself reads what follows
};
constexpr auto k_plain_wrappers =
    std::to_array<PlainWrapper>({{.name = "command", .is_of_shell = true},
                                 {.name = "env"},
                                 {.name = "nice"},
                                 {.name = "nohup"},
                                 {.name = "time", .is_of_shell = true},
                                 {.name = "timeout", .has_duration = true}});

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

template <std::size_t count>
bool is_among(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "5", "2.5m"
bool is_duration(std::string_view word) {
  if (word.size() > 1 && std::string_view("smhd").contains(word.back())) {
    word.remove_suffix(1);
  }
  return !word.empty() && word.front() != '.' &&
         std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

bool climbs(std::string_view path) {
  return path == ".." || path.starts_with("../") || path.ends_with("/..") || path.contains("/../");
}

// `cd -x` and `cd -` are no folders.
bool is_below_here(std::string_view path) {
  return !path.empty() && path.front() != '/' && path.front() != '-' &&
         !path.contains(k_unknown_name) && !climbs(path);
}

struct PlainWord {
  std::string text;
  bool is_bare = true;  // no quotes
  bool has_wildcard = false;
};

// Every member that reads returns whether it could; `why` says why not.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : text_(text) {}

  bool read() {
    if (!has_plain_characters()) {
      return false;
    }
    skip_lines();
    while (!done()) {
      if (!read_command() || !read_separator()) {
        return false;
      }
    }
    return commands.empty() ? fail("it is empty") : stays_or_means_the_same();
  }

  std::vector<PlainCommand> commands;
  std::string why;

 private:
  bool fail(std::string reason) {
    why = std::move(reason);
    return false;
  }
  bool done() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    const bool is_here = text_.substr(at_).starts_with(what);
    at_ += is_here ? what.size() : 0;
    return is_here;
  }
  bool at_blank() const { return peek() == ' ' || peek() == '\t'; }
  bool at_word_end() const { return done() || std::string_view(" \t\n;&|<>()").contains(peek()); }

  // And a comment, which begins where a word could.
  void skip_blanks() {
    while (at_blank() || (peek() == '\\' && peek(1) == '\n')) {
      at_ += at_blank() ? 1 : 2;
    }
    if (peek() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }
  void skip_lines() {
    for (skip_blanks(); peek() == '\n'; skip_blanks()) {
      ++at_;
    }
  }

  // Control characters mean nothing good. In some character sets `\`, a backtick or `|` is the
  // second half of a character: what stands in front of one is never half of one.
  bool has_plain_characters() {
    if (text_.size() > k_longest_line) {
      return fail("it is too long");
    }
    bool is_wide = false;  // the character before
    for (const char c : text_) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
        return fail("it holds a control character");
      }
      if (is_wide && (c == '\\' || c == '`' || c == '|')) {
        return fail(fmt::format("it holds a `{}` right behind a letter beyond ASCII", c));
      }
      is_wide = byte >= 0x80;
    }
    return agent::is_valid_utf8(text_) || fail("it is not valid UTF-8");
  }

  bool read_separator() {
    if (done()) {
      return true;
    }
    if (peek() == '\n' || peek() == ';') {
      ++at_;
      skip_lines();
      return true;
    }
    if (!take("&&") && !take("||") && (peek() != '|' || peek(1) == '&' || !take("|"))) {
      return fail(fmt::format("it holds a `{}` that is not in a simple list of commands", peek()));
    }
    skip_lines();
    return !done() || fail("it ends where a command should stand");
  }

  bool read_command() {
    PlainCommand command;
    skip_blanks();
    if (peek() == '!' && (peek(1) == ' ' || peek(1) == '\t')) {
      ++at_;  // it turns round how the command ends
    }
    for (skip_blanks(); !done() && !std::string_view("\n;&|").contains(peek()); skip_blanks()) {
      if (at_redirection()) {
        if (!read_redirection(command)) {
          return false;
        }
        continue;
      }
      if (!command.files.empty() || duplicates_) {
        return fail("words stand behind a redirection");
      }
      PlainWord word;
      if (!read_word(word) || !add(std::move(word), command)) {
        return false;
      }
    }
    duplicates_ = false;
    if (command.words.empty()) {
      return fail(command.assignments.empty() ? "a command is missing"
                                              : "an assignment stands without a command");
    }
    if (!find_starts(command)) {
      return false;
    }
    commands.push_back(std::move(command));
    return true;
  }

  bool add(PlainWord word, PlainCommand& command) {
    if (++words_ > k_most_plain_words) {
      return fail("it has too many words");
    }
    if (command.words.empty() && word.text.contains('=')) {
      return add_assignment(word, command);
    }
    command.words.push_back(std::move(word.text));
    return true;
  }

  bool add_assignment(PlainWord& word, PlainCommand& command) {
    const std::string_view text = word.text;
    const std::size_t equals = text.find('=');
    if (!word.is_bare || !is_among(k_harmless_variables, text.substr(0, equals))) {
      return fail(fmt::format("it sets `{}` for a program", text.substr(0, equals)));
    }
    if (!std::ranges::all_of(text.substr(equals + 1), [](char c) {
          return is_alphanumeric(c) || std::string_view("._:+-@").contains(c);
        })) {
      return fail(
          fmt::format("it sets `{}` to more than letters and digits", text.substr(0, equals)));
    }
    command.assignments.push_back(std::move(word.text));
    return true;
  }

  // Where a redirection begins: a digit right in front of `<` or `>` belongs to it.
  bool at_redirection() const {
    const std::size_t digit = peek() >= '0' && peek() <= '9' ? 1 : 0;
    return peek(digit) == '<' || peek(digit) == '>';
  }

  bool read_redirection(PlainCommand& command) {
    const char digit = peek() == '<' || peek() == '>' ? '\0' : text_[at_++];
    const bool writes = text_[at_++] == '>';
    if (digit != '\0' && !(writes ? digit == '1' || digit == '2' : digit == '0')) {
      return fail("a redirection has an unusual number");
    }
    if (writes && (take("&1") || take("&2"))) {
      duplicates_ = true;
      return at_word_end() && peek() != '<' && peek() != '>'
                 ? true
                 : fail("a `>&` is followed by more than a number");
    }
    if (writes) {
      take(">");
    }
    if (std::string_view("|<>&(").contains(peek()) && !done()) {
      return fail("a redirection is not a plain `<`, `>` or `>>`");
    }
    skip_blanks();
    PlainWord target;
    if (at_word_end() || !read_word(target)) {
      return why.empty() ? fail("a redirection has no target") : false;
    }
    const std::string_view path = target.text;
    const bool is_special =
        path.starts_with("/dev") || path.starts_with("/proc") || path.starts_with("//");
    if (path.empty() || target.has_wildcard || climbs(path) ||
        (is_special && path != "/dev/null")) {
      return fail("a redirection leads to more than a file in the working folder or /dev/null");
    }
    command.files.push_back({.path = std::move(target.text), .writes = writes});
    return true;
  }

  bool read_word(PlainWord& word) {
    for (; !at_word_end();) {
      const char c = text_[at_++];
      switch (c) {
        case '\'':
          if (!read_single_quotes(word)) {
            return false;
          }
          break;
        case '"':
          if (!read_double_quotes(word)) {
            return false;
          }
          break;
        case '\\':
          if (!read_backslash(word)) {
            return false;
          }
          break;
        case '*':
        case '?':
          if (word.text.empty() || word.text.front() == '-') {
            return fail(fmt::format(
                "a word that begins with `{}` may become an option; `./{}` cannot", c, c));
          }
          word.has_wildcard = true;
          word.text += k_unknown_name;
          break;
        case '~':
          if (word.text.empty() || word.text.ends_with('=') || word.text.ends_with(':')) {
            return fail("it holds a `~` that may be somebody's home");
          }
          word.text += c;
          break;
        case '{':
        case '[':
        case ']':
          if (!is_alone(c, word)) {
            return fail(fmt::format("it holds a `{}` outside of quotes", c));
          }
          break;
        case '}':
        case '$':
        case '`':
          return fail(fmt::format("it holds a `{}` outside of quotes", c));
        default:
          word.text += c;
      }
    }
    return peek() != '<' && peek() != '>' && peek() != '(' && peek() != ')'
               ? true
               : fail(fmt::format("it holds a `{}` right behind a word", peek()));
  }

  // The words `{}`, `[` and `]` mean themselves.
  bool is_alone(char c, PlainWord& word) {
    const bool is_first = word.text.empty() && word.is_bare;
    word.text += c;
    if (c == '{') {
      word.text += '}';
      if (!take("}")) {
        return false;
      }
    }
    return is_first && at_word_end();
  }

  bool read_single_quotes(PlainWord& word) {
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) {
      return fail("a quote is not closed");
    }
    word.is_bare = false;
    word.text += text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool read_double_quotes(PlainWord& word) {
    word.is_bare = false;
    while (!done() && peek() != '"') {
      if (peek() == '$' || peek() == '`') {
        return fail(fmt::format("it holds a `{}` outside of single quotes", peek()));
      }
      if (peek() == '\\' && peek(1) == '\n') {
        at_ += 2;
        continue;
      }
      if (peek() == '\\' && std::string_view("$`\"\\").contains(peek(1)) &&
          at_ + 1 < text_.size()) {
        ++at_;
      }
      word.text += done() ? '\0' : text_[at_++];
    }
    return take("\"") || fail("a quote is not closed");
  }

  bool read_backslash(PlainWord& word) {
    if (done()) {
      return fail("it ends with a backslash");
    }
    if (!take("\n")) {
      word.is_bare = false;
      word.text += text_[at_++];
    }
    return true;
  }

  bool find_starts(PlainCommand& command) {
    const auto& words = command.words;
    for (std::size_t at = 0; command.starts.size() < k_most_wrappers;) {
      command.starts.push_back(at);
      if (!is_program(words[at])) {
        return false;
      }
      if (words[at] == "cd" && (words.size() != at + 2 || !is_below_here(words[at + 1]))) {
        return fail("`cd` leads to more than a folder in the working folder");
      }
      const auto wrapper = std::ranges::find(k_plain_wrappers, words[at], &PlainWrapper::name);
      if (wrapper == k_plain_wrappers.end()) {
        return true;
      }
      const std::size_t inner = at + (wrapper->has_duration ? 2 : 1);
      const bool wraps = inner < words.size() && !words[inner].starts_with('-') &&
                         !words[inner].contains('=') &&
                         (!wrapper->has_duration || is_duration(words[at + 1]));
      if (!wraps) {
        const bool looks_up = words[at] == "command" && inner < words.size() &&
                              (words[inner] == "-v" || words[inner] == "-V");
        return !wrapper->is_of_shell || looks_up ||
               fail(fmt::format("`{}` is followed by more than a command", words[at]));
      }
      at = inner;
    }
    return fail("it has too many programs that run others");
  }

  bool is_program(std::string_view name) {
    const bool is_plain =
        name == "[" || name == ":" ||
        (!name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
          return is_alphanumeric(c) || std::string_view("._/+-").contains(c);
        }));
    if (is_among(k_keywords, name) || is_among(k_shells_own, name)) {
      return fail(fmt::format("`{}` changes what the shell does", name));
    }
    return (is_plain && !climbs(name)) || fail("the name of a command is not a plain one");
  }

  // Behind `cd`, a relative path is another one.
  bool stays_or_means_the_same() {
    const auto any_start = [&](auto&& is_so) {
      return std::ranges::any_of(commands, [&](const PlainCommand& command) {
        return std::ranges::any_of(command.starts,
                                   [&](std::size_t at) { return is_so(command.words[at]); });
      });
    };
    if (!any_start([](std::string_view name) { return name == "cd"; })) {
      return true;
    }
    const auto is_relative = [](std::string_view path) { return !path.starts_with('/'); };
    if (any_start([&](std::string_view name) { return name.contains('/') && is_relative(name); }) ||
        std::ranges::any_of(commands, [&](const PlainCommand& command) {
          return std::ranges::any_of(command.files, is_relative, &ShellFile::path);
        })) {
      return fail("a relative path means another one behind a `cd`");
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t words_ = 0;
  bool duplicates_ = false;  // the command at hand has a `>&`
};

}  // namespace

std::expected<std::vector<PlainCommand>, std::string> read_plain(std::string_view text) {
  PlainReader reader(text);
  if (!reader.read()) {
    return std::unexpected(std::move(reader.why));
  }
  return std::move(reader.commands);
}

}  // namespace tools
