#include "agent/secrets/guess_secrets.h"

#include "agent/secrets/guess_words.h"
#include "agent/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace agent {
namespace {

constexpr std::size_t k_shortest_bare = 32;  // with nothing around it that says what it is
constexpr std::size_t k_shortest_user = 20;  // https://TOKEN@host

bool is_alnum(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}
bool is_name_char(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.';
}
// Of words that stand for themselves: base64 in both alphabets, and what holds names together.
bool is_word_char(char c) {
  return is_name_char(c) || c == '+' || c == '/' || c == '=';
}
// Of a value that no quotes enclose.
bool is_open_value_char(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != 0x7f &&
         !std::string_view("\"'`,;()[]{}<>|&\\").contains(c);
}

class Guesser {
 public:
  Guesser(std::string_view text, std::size_t from)
      : text_(text), from_(from), guesses_{.found = {}, .open = text.size()} {}

  Guesses run() {
    find_values();
    find_bare();
    join();
    return std::move(guesses_);
  }

 private:
  struct Value {
    std::size_t begin = 0;
    std::size_t end = 0;
    Ground ground = Ground::literal;
  };

  char at(std::size_t index) const { return index < text_.size() ? text_[index] : '\0'; }
  bool has_ended(std::size_t index) const { return index >= text_.size(); }

  void find_values();
  std::size_t judge_value(std::size_t separator);
  std::size_t judge_option(std::size_t dashes);
  std::size_t judge_address(std::size_t authority);
  std::string_view name_before(std::size_t separator) const;
  std::optional<Value> value_behind(std::size_t begin, Ground ground);
  Ground ground_of(const Value& value, char separator) const;
  std::size_t judge(std::string_view name, const Value& value);

  void find_bare();
  void judge_run(std::size_t begin, std::size_t end);
  void judge_word(std::size_t begin, std::size_t end);
  bool is_public_here(std::size_t begin, std::size_t end) const;
  bool fills_lines_of_base64(std::size_t begin, std::size_t end) const;

  void add(std::size_t begin, std::size_t end) {
    if (begin >= from_) {
      guesses_.found.push_back({begin, end});
    }
  }
  // Nothing before the end of the text ends what begins here.
  void leave_open(std::size_t begin) {
    if (begin >= from_ && text_.size() - begin <= k_longest_guess) {
      guesses_.open = std::min(guesses_.open, begin);
    }
  }
  void join();

  std::string_view text_;
  std::size_t from_;
  Guesses guesses_;
};

std::string_view Guesser::name_before(std::size_t separator) const {
  constexpr std::size_t k_most_between = 8;
  constexpr std::size_t k_longest_name = 64;
  std::size_t end = separator;
  const std::size_t nearest = separator - std::min(separator, k_most_between);
  while (end > nearest && (is_blank(text_[end - 1]) || is_quote(text_[end - 1]) ||
                           text_[end - 1] == '\\' || text_[end - 1] == ']')) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && end - begin < k_longest_name && is_name_char(text_[begin - 1])) {
    --begin;
  }
  return text_.substr(begin, end - begin);
}

// Where quotes or what may not stand in it end the value; nullopt where the text ends before.
std::optional<Guesser::Value> Guesser::value_behind(std::size_t begin, Ground ground) {
  while (is_blank(at(begin))) {
    ++begin;
  }
  std::size_t escapes = 0;
  while (at(begin + escapes) == '\\') {
    ++escapes;
  }
  const char quote = is_quote(at(begin + escapes)) ? at(begin + escapes) : '\0';
  begin += quote != '\0' ? escapes + 1 : 0;
  std::size_t end = begin;
  while (!has_ended(end) && end - begin <= k_longest_guess) {
    const char c = text_[end];
    const bool ends_here = quote == '\0' ? !is_open_value_char(c)
                                         : c == quote || c == '\n' || (c == '\\' && escapes > 0);
    if (ends_here) {
      break;
    }
    ++end;
  }
  if (has_ended(end)) {
    leave_open(begin);  // what is there may be all of it: it is judged, too
  }
  if (quote != '\0' && !has_ended(end) && at(end) != quote && at(end) != '\\') {
    return std::nullopt;
  }
  while (quote == '\0' && end > begin && std::string_view(".:!?").contains(text_[end - 1])) {
    --end;
  }
  return Value{begin, end, quote != '\0' ? Ground::literal : ground};
}

// Behind "Bearer " and such words the value begins.
std::size_t behind_scheme(std::string_view value) {
  for (const std::string_view scheme : {"bearer ", "basic ", "token ", "apikey "}) {
    if (to_lower(value.substr(0, scheme.size())) == scheme) {
      return scheme.size();
    }
  }
  return 0;
}

// Where to go on.
std::size_t Guesser::judge(std::string_view name, const Value& value) {
  const bool is_secret = is_secret_name(name);
  if (!is_secret && !is_key_name(name)) {
    return value.begin;
  }
  const Ground ground = is_secret ? value.ground : Ground::key;
  std::size_t end = value.end;
  if (value.end - value.begin <= k_longest_guess) {
    const std::size_t begin =
        value.begin + behind_scheme(text_.substr(value.begin, value.end - value.begin));
    const std::string_view word = text_.substr(begin, end - begin);
    if (!word.empty() && !word.contains(' ') && looks_like_secret(word, ground)) {
      add(begin, end);
    } else if (word.contains("://") || word.contains('=')) {
      return value.begin;  // there may be one in it
    }
  }
  return std::max(end, value.begin);
}

std::size_t Guesser::judge_value(std::size_t separator) {
  const std::string_view name = name_before(separator);
  const std::string_view ahead =
      text_.substr(0, static_cast<std::size_t>(name.data() - text_.data()));
  if ((!is_secret_name(name) && !is_key_name(name)) || ahead.ends_with("nexpected ")) {
    return separator + 1;  // or a parser that tells of a token
  }
  std::size_t begin = separator + 1;
  while (std::string_view("=:>").contains(at(begin)) && !has_ended(begin)) {
    ++begin;
  }
  const bool is_tight = !is_blank(at(begin)) && separator > 0 && !is_blank(text_[separator - 1]);
  const bool is_element = at(separator) == '>';
  if (is_element && (name.data() == text_.data() || *(name.data() - 1) != '<')) {
    return separator + 1;
  }
  auto value = value_behind(begin, is_tight ? Ground::literal : Ground::loose);
  if (!value) {
    return separator + 1;
  }
  const std::string_view first = text_.substr(value->begin, value->end - value->begin);
  if (!first.empty() && behind_scheme(std::string(first) + ' ') == first.size() + 1) {
    value = value_behind(value->end, Ground::literal);
    if (!value) {
      return separator + 1;
    }
  }
  value->ground = ground_of(*value, at(separator));
  return judge(name, *value);
}

// What follows a value tells whether it may be code.
Ground Guesser::ground_of(const Value& value, char separator) const {
  std::size_t behind = value.end;
  while (std::string_view(".:!?").contains(at(behind)) && !has_ended(behind)) {
    ++behind;
  }
  const char next = at(behind);
  const bool is_call = next == '(' || next == '[';
  const bool ends_line = next == '\n' || next == '\r' || next == '\0' || next == '#';
  if (ends_line && separator == ':') {
    return Ground::literal;
  }
  return is_call && !is_quote(at(value.begin - 1)) ? Ground::loose : value.ground;
}

// --password VALUE
std::size_t Guesser::judge_option(std::size_t dashes) {
  std::size_t end = dashes + 2;
  while (is_name_char(at(end)) && end - dashes < 64) {
    ++end;
  }
  if (!is_blank(at(end)) || !is_secret_name(text_.substr(dashes, end - dashes))) {
    return end;
  }
  const auto value = value_behind(end, Ground::literal);
  return value && at(value->begin) != '-' ? judge(text_.substr(dashes, end - dashes), *value) : end;
}

// scheme://user:password@host, scheme://token@host
std::size_t Guesser::judge_address(std::size_t authority) {
  std::size_t end = authority;
  std::size_t host = 0;
  std::size_t colon = 0;
  while (!has_ended(end) && end - authority <= k_longest_guess &&
         static_cast<unsigned char>(text_[end]) > ' ' &&
         !std::string_view("/?#\"'`<>|\\").contains(text_[end])) {
    if (text_[end] == '@') {
      host = end;
    } else if (text_[end] == ':' && colon == 0) {
      colon = end;
    }
    ++end;
  }
  if (has_ended(end)) {
    leave_open(authority);
  }
  if (host == 0) {
    return authority;
  }
  if (colon == 0 || colon > host) {
    const std::string_view user = text_.substr(authority, host - authority);
    if (user.size() >= k_shortest_user && looks_like_secret(user, Ground::key)) {
      add(authority, host);
    }
  } else {
    const std::string_view user = text_.substr(authority, colon - authority);
    const std::string_view password = text_.substr(colon + 1, host - colon - 1);
    if (!password.empty() && !password.contains(']') && !is_usual_password(password, user)) {
      add(colon + 1, host);
    }
  }
  return host;
}

void Guesser::find_values() {
  for (std::size_t index = 0; index < text_.size();) {
    const char c = text_[index];
    if (c == ':' && text_.substr(index, 3) == "://") {
      index = judge_address(index + 3);
    } else if (c == '=' || c == ':' || (c == '>' && index > 0 && is_alnum(text_[index - 1]))) {
      index = judge_value(index);
    } else if (c == '-' && at(index + 1) == '-' && is_alnum(at(index + 2))) {
      index = judge_option(index);
    } else {
      ++index;
    }
  }
}

// Words of enough characters: where the last of them would be, there is none in most texts.
void Guesser::find_bare() {
  constexpr std::size_t k_step = k_shortest_bare;
  std::size_t begin = 0;  // no word goes on from before it
  while (begin + k_step <= text_.size()) {
    std::size_t back = begin + k_step;
    while (back > begin && is_word_char(text_[back - 1])) {
      --back;
    }
    if (back > begin) {
      begin = back;
      continue;
    }
    std::size_t end = begin + k_step;
    while (!has_ended(end) && is_word_char(text_[end])) {
      ++end;
    }
    judge_run(begin, end);
    begin = end;
  }
}

// Without what only encloses it; the whole where it is base64 with its slashes, else its parts.
void Guesser::judge_run(std::size_t begin, std::size_t end) {
  if (end - begin <= k_longest_guess) {
    const std::string_view run = text_.substr(begin, end - begin);
    std::size_t size = run.size();
    while (size > 0 && run[size - 1] == '=') {
      --size;
    }
    const bool is_base64 = run.find_first_of("-_.=") >= size && run.front() != '/' &&
                           run.contains('/') && (run.size() % 4 == 0 || size % 4 != 1);
    if (is_base64 && run.size() >= 40) {
      judge_word(begin, begin + size);
      return;
    }
  }
  std::size_t word = begin;
  for (std::size_t index = begin; index <= end; ++index) {
    const char c = index < end ? text_[index] : '\0';
    if (index < end && c != '/' && c != '.' && c != '=') {
      continue;
    }
    const bool is_in_path = c == '/' || (c == '.' && index + 1 < end) ||
                            (word > begin && (text_[word - 1] == '/' || text_[word - 1] == '.'));
    if (!is_in_path) {
      judge_word(word, index);
    }
    word = index + 1;
  }
}

void Guesser::judge_word(std::size_t begin, std::size_t end) {
  const std::size_t size = end - begin;
  if (size < k_shortest_bare || size > k_longest_guess) {
    return;
  }
  const std::string_view word = text_.substr(begin, size);
  if (is_random(word) && !is_public_here(begin, end)) {
    add(begin, end);
  }
}

bool Guesser::is_public_here(std::size_t begin, std::size_t end) const {
  if (fills_lines_of_base64(begin, end)) {
    return true;
  }
  std::size_t before = begin;
  while (
      before > 0 && begin - before < 4 &&
      (is_blank(text_[before - 1]) || is_quote(text_[before - 1]) || text_[before - 1] == '\\')) {
    --before;
  }
  if (before == 0 || !std::string_view(":=,").contains(text_[before - 1])) {
    return false;
  }
  return is_public_name(name_before(before - 1));
}

// Base64 of a file comes in lines of one length, and a last one that is shorter.
bool Guesser::fills_lines_of_base64(std::size_t begin, std::size_t end) const {
  constexpr std::size_t k_shortest_line = 60;
  constexpr std::size_t k_longest_line = 76;
  while (at(end) == '=') {
    ++end;
  }
  std::size_t line = begin;
  while (line > 0 && is_blank(text_[line - 1])) {
    --line;
  }
  const bool is_whole = (line == 0 || text_[line - 1] == '\n') &&
                        (has_ended(end) || at(end) == '\n' || at(end) == '\r');
  if (!is_whole) {
    return false;
  }
  const std::size_t size = end - begin;
  if (size >= k_shortest_line && size <= k_longest_line && size % 4 == 0) {
    return true;
  }
  std::size_t last = line;
  while (last > 0 && (text_[last - 1] == '\n' || text_[last - 1] == '\r')) {
    --last;
  }
  std::size_t first = last;
  while (first > 0 && last - first < k_longest_line && is_word_char(text_[first - 1])) {
    --first;
  }
  return last - first >= k_shortest_line;
}

void Guesser::join() {
  auto& found = guesses_.found;
  std::ranges::sort(found, {}, &Guess::begin);
  std::vector<Guess> apart;
  for (const Guess& guess : found) {
    if (!apart.empty() && guess.begin < apart.back().end) {
      apart.back().end = std::max(apart.back().end, guess.end);
    } else {
      apart.push_back(guess);
    }
  }
  found = std::move(apart);
}

}  // namespace

Guesses guess_secrets(std::string_view text, std::size_t from) {
  return Guesser(text, from).run();
}

}  // namespace agent
