// `errand exit-codes`: the contract, or what one code means.
#include "agent/error.h"
#include "agent/outcome.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using agent::CodeRow;
using agent::ExitRow;
using agent::Json;

struct Rows {
  std::vector<const ExitRow*> exits;
  std::vector<const CodeRow*> errors;
};

Rows all_rows() {
  Rows rows;
  for (const ExitRow& row : agent::exit_table()) {
    rows.exits.push_back(&row);
  }
  for (const CodeRow& row : agent::error_table()) {
    rows.errors.push_back(&row);
  }
  return rows;
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// An exit code with the errors that end in it.
Rows rows_of_exit(const ExitRow& exit) {
  Rows rows{.exits = {&exit}, .errors = {}};
  for (const CodeRow& row : agent::error_table()) {
    if (row.exit_code == exit.exit_code && row.exit_code != 0) {
      rows.errors.push_back(&row);
    }
  }
  return rows;
}

Rows rows_of_error(const CodeRow& error) {
  Rows rows{.exits = {}, .errors = {&error}};
  if (error.exit_code != 0) {
    rows.exits.push_back(&agent::exit_row(error.exit_code));
  }
  return rows;
}

std::unexpected<agent::Error> unknown(const std::string& code) {
  std::vector<std::string_view> names;
  for (const ExitRow& row : agent::exit_table()) {
    names.push_back(row.name);
  }
  for (const CodeRow& row : agent::error_table()) {
    names.push_back(row.name);
  }
  const auto near = agent::nearest(code, names);
  std::string help = "`errand exit-codes` lists all of them";
  if (near) {
    help = fmt::format("did you mean `{}`?", *near);
  } else if (const auto number = number_of(code); number && *number > 128 && *number < 193) {
    help = fmt::format("a shell shows 128 + N where signal N ended a program: this is signal {}",
                       *number - 128);
  }
  return agent::fail(agent::Code::cli_usage,
                     number_of(code) ? fmt::format("errand never exits with {}", code)
                                     : fmt::format("unknown code `{}`", code),
                     std::move(help));
}

agent::Result<Rows> rows_of(const std::string& code) {
  const auto number = number_of(code);
  for (const ExitRow& row : agent::exit_table()) {
    if (row.name == code || (number && row.exit_code == *number)) {
      return rows_of_exit(row);
    }
  }
  if (const auto error = agent::code_from_name(code)) {
    return rows_of_error(agent::row(*error));
  }
  return unknown(code);
}

Json to_json(const ExitRow& row) {
  return {{"exit_code", row.exit_code},
          {"name", row.name},
          {"when", row.when},
          {"retry", row.retry},
          {"resumable", row.resumable}};
}

Json to_json(const CodeRow& row) {
  return {{"code", row.name},
          {"domain", agent::to_string(row.domain)},
          {"retry", agent::to_string(row.retry)},
          {"seen", row.seen},
          {"exit_code", row.exit_code == 0 ? Json(nullptr) : Json(row.exit_code)},
          {"advice", row.advice},
          {"since", row.since.empty() ? Json(nullptr) : Json(row.since)}};
}

Json to_json(const Rows& rows) {
  Json json = {
      {"schema", "errand.exit_codes/1"}, {"exits", Json::array()}, {"errors", Json::array()}};
  for (const ExitRow* row : rows.exits) {
    json["exits"].push_back(to_json(*row));
  }
  for (const CodeRow* row : rows.errors) {
    json["errors"].push_back(to_json(*row));
  }
  return json;
}

constexpr std::size_t k_width = 80;

void write_exits(const Rows& rows, std::ostream& out) {
  constexpr std::size_t k_indent = 44;
  out << fmt::format("{:>4}  {:<21}{:<9}{:<8}{}\n", "EXIT", "NAME", "RETRY", "RESUME", "WHEN");
  for (const ExitRow* row : rows.exits) {
    out << fmt::format(
        "{:>4}  {:<21}{:<9} {:<7}{}\n",
        row->exit_code,
        row->name,
        row->retry,
        row->resumable,
        wrapped(std::string(row->when) + (agent::is_built(*row) ? "" : " (Not implemented yet.)"),
                k_width - k_indent,
                k_indent));
  }
}

void write_errors(const Rows& rows, std::ostream& out) {
  constexpr std::size_t k_indent = 45;
  out << fmt::format("{:<29}{:<6}{:<10}{}\n", "ERROR", "EXIT", "RETRY", "WHAT TO DO");
  for (const CodeRow* row : rows.errors) {
    const std::string exit = row->exit_code == 0  ? "-"
                             : row->only_if_fatal ? fmt::format("({})", row->exit_code)
                                                  : std::to_string(row->exit_code);
    const std::string later = row->since.empty() ? " (Not implemented yet.)" : "";
    out << fmt::format("{:<29}{:<6}{:<10}{}\n",
                       row->name,
                       exit,
                       agent::to_string(row->retry),
                       wrapped(std::string(row->advice) + later, k_width - k_indent, k_indent));
  }
  out << "\nA code in ( ) counts only where the error ends the run.\n";
}

}  // namespace

agent::Result<int> command_exit_codes(const Parsed& parsed, Context& context) {
  Rows rows = all_rows();
  if (!parsed.positionals.empty()) {
    TRY_ASSIGN(rows, rows_of(parsed.positionals.front()));
  }
  if (parsed.value("--output") == "json") {
    context.out << agent::dump(to_json(rows)) << "\n";
    return 0;
  }
  if (!rows.exits.empty()) {
    write_exits(rows, context.out);
  }
  if (!rows.errors.empty()) {
    context.out << (rows.exits.empty() ? "" : "\n");
    write_errors(rows, context.out);
  }
  return 0;
}

}  // namespace cli
