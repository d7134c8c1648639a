#include "tools/permissions/shell_script.h"

#include "tools/permissions/shell_reader.h"

#include <array>

namespace tools {
namespace shell {
namespace {

constexpr std::size_t k_nobody = static_cast<std::size_t>(-1);

// Words that only give structure where a command could begin; what follows them is a command again.
constexpr std::array<std::string_view, 13> k_keywords = {
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "coproc"};

}  // namespace

void Reader::read_list(Closing closing) {
  for (;;) {
    skip_blanks();
    if (done()) {
      if (closing == Closing::parenthesis) {
        unclear("a `(` has no `)`");
      }
      return;
    }
    switch (peek()) {
      case '\n':
        end_pipe();
        end_line();
        break;
      case '#':
        skip_line();
        break;
      case ';':
        end_pipe();
        if (closing == Closing::case_item && peek(1) == ';') {
          skip(peek(2) == '&' ? 3 : 2);
          return;
        }
        if (closing == Closing::case_item && peek(1) == '&') {
          skip(2);
          return;
        }
        skip();
        break;
      case '&':
        end_pipe();
        skip(peek(1) == '&' ? 2 : 1);
        break;
      case '|':
        end_pipe();
        is_piped_ = is_piped_ || peek(1) != '|';
        skip(peek(1) == '|' || peek(1) == '&' ? 2 : 1);
        break;
      case '(':
        read_subshell();
        break;
      case ')':
        skip();
        if (closing == Closing::parenthesis) {
          return;
        }
        unclear("a `)` has no `(`");
        break;
      default:
        const std::size_t before = at_;
        if (!read_command(closing)) {
          return;
        }
        if (at_ == before) {
          unclear("a character stands where no shell expects it");
          skip();
        }
    }
  }
}

void Reader::read_subshell() {
  const Level level(*this);
  begin_block();
  skip();
  read_list(Closing::parenthesis);
}

// A command, or a keyword in front of one.
bool Reader::read_command(Closing closing) {
  ShellCommand command{.is_behind_pipe = is_piped_};
  while (read_redirection(command)) {
    skip_blanks();
  }
  if (at_word_end()) {
    if (command.files.empty() && command.inputs.empty()) {
      return true;
    }
    script_.commands.push_back(std::move(command));
    return true;
  }
  Word word = read_word();
  if (word.is_bare() && command.files.empty()) {
    if (std::ranges::find(k_keywords, word.text) != k_keywords.end()) {
      begin_block();
      return true;
    }
    if (word.text == "esac" && closing == Closing::case_item) {
      return false;
    }
    if (word.text == "case") {
      begin_block();
      read_case();
      return true;
    }
    if (word.text == "for" || word.text == "select") {
      begin_block();
      read_for();
      return true;
    }
    if (word.text == "function") {
      read_function();
      return true;
    }
  }
  skip_blanks();
  if (peek() == '(' && !word.is_assignment()) {
    skip();
    skip_blanks();
    if (!take(")")) {
      unclear("a `(` stands where no shell expects it");
    }
    return true;  // a function: its body is read as what it is
  }
  if (word.is_assignment()) {
    command.assignments.push_back(std::move(word.text));
  } else {
    command.words.push_back(std::move(word.text));
  }
  read_rest_of_command(std::move(command));
  return true;
}

void Reader::read_rest_of_command(ShellCommand command) {
  const std::size_t index = script_.commands.size();
  script_.commands.emplace_back();  // its place, before those in its substitutions
  bool is_split = false;            // by `&>`, which some shells take for `&` and `>`
  for (;;) {
    skip_blanks();
    is_split = is_split || (peek() == '&' && peek(1) == '>');
    if (peek() == '(') {
      unclear("a `(` stands where no shell expects it");
      break;
    }
    if (peek() == '#') {
      skip_line();
      break;
    }
    if (read_redirection(command)) {
      if (!documents_.empty() && documents_.back().command == k_nobody) {
        documents_.back().command = index;
      }
      continue;
    }
    if (at_word_end()) {
      break;
    }
    if (is_split) {
      unclear("words stand behind a `&>`");
    }
    Word word = read_word();
    if (command.words.empty() && word.is_assignment()) {
      command.assignments.push_back(std::move(word.text));
    } else {
      command.words.push_back(std::move(word.text));
    }
  }
  auto& inputs = script_.commands[index].inputs;
  inputs.insert(inputs.end(), command.inputs.begin(), command.inputs.end());
  command.inputs = std::move(inputs);
  script_.commands[index] = std::move(command);
}

// `2>&1`, `>file`, `<<END`; false: there is none here.
bool Reader::read_redirection(ShellCommand& command) {
  std::size_t digits = 0;
  while (is_digit(peek(digits))) {
    ++digits;
  }
  if (peek(digits) != '<' && peek(digits) != '>' &&
      !(digits == 0 && peek() == '&' && peek(1) == '>')) {
    return false;
  }
  if ((peek(digits) == '<' || peek(digits) == '>') && peek(digits + 1) == '(') {
    return false;  // a process substitution: a word
  }
  skip(digits);
  if (take("<<<")) {
    skip_blanks();
    command.inputs.push_back(read_word().text);
    return true;
  }
  if (take("<<")) {
    const bool strips = take("-");
    skip_blanks();
    const Word end = read_word();
    documents_.push_back(
        {.command = k_nobody, .end = end.text, .is_literal = end.is_quoted, .strips_tabs = strips});
    if (command.words.empty() && command.assignments.empty()) {
      unclear("a here-document stands in front of its command");
    }
    return true;
  }
  const bool does_both = peek() == '<' && peek(1) == '>';
  const bool writes = does_both || peek() != '<';
  const bool copies = take(">&") || take("<&");
  if (!copies && !take("&>>") && !take("&>") && !take(">>") && !take(">|") && !take("<>")) {
    skip();
  }
  skip_blanks();
  const Word target = read_word();
  const bool is_number =
      std::ranges::all_of(target.text, [](char c) { return is_digit(c) || c == '-'; });
  if (target.text.empty() && !target.is_quoted) {
    unclear("a redirection has no target");
  } else if (!copies || !is_number) {
    command.files.push_back({.path = target.text, .writes = writes});
    if (does_both) {
      command.files.push_back({.path = target.text});
    }
  }
  return true;
}

// `case WORD in PATTERN) …;; esac`
void Reader::read_case() {
  const Level level(*this);
  skip_blanks();
  read_word();
  skip_blank_lines();
  if (!take("in")) {
    unclear("a `case` has no `in`");
    return;
  }
  for (;;) {
    skip_blank_lines();
    if (done()) {
      unclear("a `case` has no `esac`");
      return;
    }
    const std::size_t before = at_;
    if (const Word word = read_word(); word.is_bare() && word.text == "esac") {
      return;
    }
    at_ = before;
    take("(");
    while (!done() && peek() != ')') {
      skip_blanks();
      if (!take("|") && peek() != ')') {
        const std::size_t at = at_;
        read_word();
        if (at_ == at) {
          unclear("a pattern of `case` has no `)`");
          return;
        }
      }
    }
    take(")");
    const std::size_t body = at_;
    read_list(Closing::case_item);
    if (text_.substr(body, at_ - body).ends_with("esac")) {
      return;
    }
  }
}

// `for NAME in WORDS`, up to its `;`, or `for NAME`, up to its `do`.
void Reader::read_for() {
  skip_blanks();
  std::string name = peek() == '(' ? std::string() : read_word().text;
  if (!is_name(name)) {
    unclear("a `for` that not every shell knows");
    return;
  }
  script_.loop_variables.push_back(std::move(name));
  skip_blanks();
  if (peek() == ';') {
    return;
  }
  skip_blank_lines();
  const std::size_t before = at_;
  const Word word = read_word();
  if (word.is_bare() && word.text == "do") {
    at_ = before;
    return;
  }
  if (!word.is_bare() || word.text != "in") {
    unclear("a `for` has no `in`");
    at_ = before;
    return;
  }
  for (skip_blanks(); !at_word_end(); skip_blanks()) {
    read_word();
  }
}

void Reader::read_function() {
  skip_blanks();
  read_word();
  skip_blanks();
  if (take("(")) {
    skip_blanks();
    take(")");
  }
}

// The bodies of the here-documents that the line before announced.
void Reader::read_documents() {
  for (const Document& document : std::exchange(documents_, {})) {
    std::string body;
    bool is_closed = false;
    while (!done() && !is_closed) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (document.strips_tabs) {
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      }
      is_closed = line == document.end;
      if (!is_closed) {
        body += line;
        body += '\n';
      }
    }
    if (!is_closed) {
      unclear("a here-document has no end");
    }
    if (!document.is_literal) {
      read_document_text(body);
    }
    if (document.command < script_.commands.size()) {
      script_.commands[document.command].inputs.push_back(std::move(body));
    }
  }
}

// Substitutions work in a here-document whose end is not quoted.
void Reader::read_document_text(std::string_view body) {
  Reader reader(body, script_, depth_ + 1);
  Word ignored;
  while (!reader.done()) {
    if (reader.peek() == '\\') {
      reader.skip(2);
    } else if (reader.peek() == '$' && reader.peek(1) != '\'' && reader.peek(1) != '"') {
      reader.read_dollar(ignored, true);
    } else if (reader.peek() == '`') {
      reader.read_backticks(false);
    } else {
      ++reader.at_;
    }
  }
}

}  // namespace shell

ShellScript read_shell(std::string_view text) {
  ShellScript script;
  shell::Reader(text, script, 0).read_all();
  return script;
}

}  // namespace tools
