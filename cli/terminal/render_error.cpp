#include "cli/terminal/render_error.h"

#include "agent/duration.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/terminal/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace cli {
namespace {

constexpr std::string_view k_bold_red = "1;31";
constexpr std::string_view k_bold_yellow = "1;33";
constexpr std::string_view k_blue = "1;34";
constexpr std::string_view k_bold = "1";

// A long line is shown around the place that is meant.
constexpr std::size_t k_before = 60;
constexpr std::size_t k_after = 60;

// The characters of valid UTF-8, each with its bytes.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(first_character(text));
    text.remove_prefix(parts.back().size());
  }
  return parts;
}

std::size_t width(std::string_view character, std::string_view shown) {
  if (shown != character) {  // a control character made visible
    return shown.size();
  }
  return columns_of_character(character);
}

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(std::string_view style, std::string_view text) const {
    return cli::paint(style, text, color_);
  }

 private:
  bool color_;
};

constexpr std::size_t k_longest_words = 4'000;  // bytes, as the next
constexpr std::size_t k_longest_fact = 200;

// What a stranger wrote stands in it: it writes no line of its own.
std::string clean(std::string_view text) {
  return agent::one_line(agent::to_valid_utf8(text), k_longest_words);
}

// The differences to a recording are lines of ours, in which the values are written as JSON.
std::string clean_message(const agent::Error& error) {
  return error.code == agent::Code::replay_miss
             ? agent::printable(agent::to_valid_utf8(error.message))
             : clean(error.message);
}

// The lines after the first one are moved under it.
std::string hanging(std::string text, std::size_t indent) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, indent, ' ');
  }
  return text;
}

struct Snippet {
  std::string line;
  std::string padding;  // what stands before the caret
  std::string caret;
};

// The caret stands under the place whatever is left of it: tabs stay tabs, a wide character is two
// columns.
Snippet snippet(const agent::Where& where) {
  const std::string excerpt = agent::to_valid_utf8(where.excerpt);
  const auto parts = characters(excerpt);
  const std::size_t begin =
      std::min(static_cast<std::size_t>(std::max(where.column - 1, 0)), parts.size());
  const std::size_t end =
      std::max(begin + 1,
               std::min(begin + static_cast<std::size_t>(std::max(where.length, 1)), parts.size()));
  const std::size_t first = begin > k_before ? begin - k_before : 0;
  const std::size_t last = std::min(parts.size(), begin + k_after);
  Snippet snippet;
  if (first > 0) {
    snippet.line = "…";
    snippet.padding = " ";
  }
  for (std::size_t at = first; at < last; ++at) {
    const std::string shown = agent::printable(parts[at]);
    const std::size_t columns = width(parts[at], shown);
    snippet.line += shown;
    if (at < begin) {
      snippet.padding += parts[at] == "\t" ? "\t" : std::string(columns, ' ');
    } else if (at < end) {
      snippet.caret += std::string(columns, '^');
    }
  }
  if (last < parts.size()) {
    snippet.line += "…";
  }
  if (snippet.caret.empty()) {
    snippet.caret = "^";
  }
  return snippet;
}

std::string place(const agent::Where& where) {
  std::string text = clean(where.file);
  if (where.line > 0) {
    text += fmt::format(":{}", where.line);
  }
  if (where.line > 0 && where.column > 0) {
    text += fmt::format(":{}", where.column);
  }
  return text;
}

std::string source_lines(const agent::Where& where,
                         std::size_t gutter,
                         std::string_view style,
                         const Painter& paint) {
  const std::string margin(gutter, ' ');
  std::string text = fmt::format("\n {}{} {}", margin, paint(k_blue, "-->"), place(where));
  if (where.line == 0 || where.excerpt.empty()) {
    return text;
  }
  const std::string bar = paint(k_blue, "|");
  const Snippet shown = snippet(where);
  text += fmt::format("\n {} {}", margin, bar);
  text += fmt::format("\n {} {} {}", paint(k_blue, std::to_string(where.line)), bar, shown.line);
  if (where.column > 0) {
    text += fmt::format("\n {} {} {}{}", margin, bar, shown.padding, paint(style, shown.caret));
  }
  return text;
}

// What an operator needs to find the failed call in somebody else's logs.
std::string provider_facts(const agent::Error& error) {
  std::vector<std::string> facts;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) {
      facts.push_back(fmt::format("{}{}", label, agent::one_line(value, k_longest_fact)));
    }
  };
  add("", error.provider);
  add("model ", error.model);
  add("HTTP ", error.http_status == 0 ? "" : std::to_string(error.http_status));
  add("request ", error.request_id);
  if (error.attempts > 0) {
    facts.push_back(fmt::format("{} attempt{}", error.attempts, error.attempts == 1 ? "" : "s"));
  }
  if (error.retry_after > agent::Milliseconds{0}) {
    facts.push_back("try again in " + agent::format_duration(*error.retry_after));
  }
  return fmt::format("{}", fmt::join(facts, ", "));
}

// The title line is `kind`, painted; `advice` is the help where the error has none of its own.
struct Frame {
  std::string kind;
  std::string_view style;
  std::string_view advice;
};

// Before anything is cut or escaped: then a secret is no longer known.
agent::Error without_secrets(agent::Error error, const agent::Redactor& redactor) {
  std::vector<std::string*> texts = {
      &error.message, &error.help, &error.provider, &error.model, &error.request_id};
  std::ranges::transform(
      error.context, std::back_inserter(texts), [](auto& text) { return &text; });
  if (error.where) {
    texts.insert(texts.end(), {&error.where->file, &error.where->excerpt});
  }
  if (error.cause) {
    texts.insert(texts.end(), {&error.cause->message, &error.cause->help});
  }
  for (std::string* text : texts) {
    *text = redactor.apply(*text);
  }
  return error;
}

std::string_view help_of(const agent::Error& error, std::string_view advice) {
  return !error.help.empty()                         ? std::string_view(error.help)
         : error.cause && !error.cause->help.empty() ? std::string_view(error.cause->help)
                                                     : advice;
}

std::string render_in(const Frame& frame, const agent::Error& error, bool color) {
  const Painter paint(color);
  const std::size_t gutter =
      error.where && error.where->line > 0 ? std::to_string(error.where->line).size() : 1;
  std::string text = fmt::format("{}: {}",
                                 paint(frame.style, frame.kind),
                                 paint(k_bold, hanging(clean_message(error), gutter + 4)));
  if (error.where) {
    text += source_lines(*error.where, gutter, frame.style, paint);
  }
  const auto note = [&](std::string_view label, std::string_view words) {
    text += fmt::format("\n {} {} {}: {}",
                        std::string(gutter, ' '),
                        paint(k_blue, "="),
                        paint(k_bold, label),
                        clean(words));
  };
  for (const std::string& doing : error.context) {
    note("while", doing);
  }
  if (error.cause) {
    note("cause", fmt::format("{}: {}", agent::row(error.cause->code).name, error.cause->message));
  }
  if (const std::string facts = provider_facts(error); !facts.empty()) {
    note("call", facts);
  }
  if (const std::string_view help = help_of(error, frame.advice); !help.empty()) {
    note("help", help);
  }
  return text;
}

// What needs lines of its own: a place in a file, or the differences to a recording.
bool is_block(const agent::Error& error) {
  return error.where.has_value() || error.code == agent::Code::replay_miss;
}

std::string in_one_line(const agent::Error& error, bool color) {
  std::vector<std::string> facts;
  for (const std::string& doing : error.context) {
    facts.push_back("while " + clean(doing));
  }
  if (std::string call = provider_facts(error); !call.empty()) {
    facts.push_back(std::move(call));
  }
  if (error.cause) {
    facts.push_back(fmt::format(
        "cause: {}: {}", agent::row(error.cause->code).name, clean(error.cause->message)));
  }
  const Painter paint(color);
  return fmt::format("{}: {}{}",
                     paint(k_bold_red, fmt::format("error[{}]", agent::row(error.code).name)),
                     paint(k_bold, clean(error.message)),
                     facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, "; ")));
}

}  // namespace

std::string render_ending(std::span<const agent::Error> errors,
                          int exit_code,
                          std::string_view bill,
                          bool color,
                          const agent::Redactor& redactor) {
  const bool is_short = errors.size() == 1 && !is_block(errors.front());
  std::string text;
  std::string help;
  for (const agent::Error& one : errors) {
    const agent::Error error = is_short ? without_secrets(one, redactor) : one;
    text += (is_short ? in_one_line(error, color) : render(error, color, redactor)) + '\n';
    help = !is_short ? "" : clean(help_of(error, agent::row(error.code).advice));
  }
  const agent::ExitRow& row = agent::exit_row(exit_code);
  std::string verdict = fmt::format("errand: {} ({})", row.name, row.exit_code);
  if (exit_code == 0) {
    return text + paint("32", verdict + (bill.empty() ? "" : ": ") + std::string(bill), color);
  }
  const auto server_says = errors.empty() ? std::nullopt : errors.front().server_says_retry;
  if (row.retry != "-") {  // nobody can say
    verdict += fmt::format(", retry: {}", !server_says ? row.retry : *server_says ? "yes" : "no");
  }
  text += paint("31", verdict, color);
  text += help.empty() ? "" : ": " + help;
  return text + (bill.empty() ? "" : fmt::format(" ({})", bill));
}

std::string render(const agent::Error& error, bool color, const agent::Redactor& redactor) {
  const agent::CodeRow& row = agent::row(error.code);
  return render_in(
      {.kind = fmt::format("error[{}]", row.name), .style = k_bold_red, .advice = row.advice},
      without_secrets(error, redactor),
      color);
}

std::string render_warning(const agent::Error& warning,
                           bool color,
                           const agent::Redactor& redactor) {
  return render_in({.kind = "warning", .style = k_bold_yellow, .advice = {}},
                   without_secrets(warning, redactor),
                   color);
}

std::string paint(std::string_view style, std::string_view text, bool color) {
  return color && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : std::string(text);
}

}  // namespace cli
