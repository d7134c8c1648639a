#include "cli/manual/man.h"

#include "cli/manual/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

// The texts, taken over byte for byte by the assembler: nothing is done with them at the start.
// CMakeLists.txt says where they are.
asm(".macro errand_page symbol, file\n"
    ".global errand_page_\\symbol, errand_page_\\symbol\\()_end\n"
    "errand_page_\\symbol:\n"
    ".incbin \"" ERRAND_MAN
    "/\\file\"\n"
    "errand_page_\\symbol\\()_end:\n"
    ".endm\n"
    ".pushsection .rodata\n"
    "errand_page errand, errand.1.in\n"
    "errand_page agent, errand-agent.5.in\n"
    "errand_page test, errand-test.5.in\n"
    "errand_page exit_codes, errand-exit-codes.7.in\n"
    "errand_page hooks, errand-hooks.7.in\n"
    ".popsection\n");

extern "C" {
extern const char errand_page_errand, errand_page_errand_end;
extern const char errand_page_agent, errand_page_agent_end;
extern const char errand_page_test, errand_page_test_end;
extern const char errand_page_exit_codes, errand_page_exit_codes_end;
extern const char errand_page_hooks, errand_page_hooks_end;
}

namespace cli {
namespace {

// Where the name of the place that begins at `at` ends, with both signs; `at` where none begins.
std::size_t end_of_place(std::string_view text, std::size_t at) {
  const auto end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
  return end != std::string_view::npos && end > at + 1 && text[end] == '@' ? end + 1 : at;
}

}  // namespace

std::span<const ManPage> man_pages() {
  static const std::array pages = {
      ManPage{"errand.1", {&errand_page_errand, &errand_page_errand_end}},
      ManPage{"errand-agent.5", {&errand_page_agent, &errand_page_agent_end}},
      ManPage{"errand-test.5", {&errand_page_test, &errand_page_test_end}},
      ManPage{"errand-exit-codes.7", {&errand_page_exit_codes, &errand_page_exit_codes_end}},
      ManPage{"errand-hooks.7", {&errand_page_hooks, &errand_page_hooks_end}},
  };
  return pages;
}

agent::Result<std::string> with_tables(std::string_view text) {
  std::string page;
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    page += text.substr(0, at);
    const auto end = end_of_place(text, at);
    if (end == at) {
      page += '@';
      text.remove_prefix(at + 1);
      continue;
    }
    const std::string_view place = text.substr(at + 1, end - at - 2);
    const auto table = std::ranges::find(man_tables(), place, &ManTable::name);
    if (table == man_tables().end()) {
      return agent::fail(agent::Code::internal,
                         fmt::format("a manual page has a place @{}@ that no table is for", place));
    }
    page += table->text();
    page.resize(page.size() - (page.ends_with('\n') ? 1 : 0));  // the place's own line ends it
    text.remove_prefix(end);
  }
  return page.append(text);
}

agent::Result<std::string> man_page(std::string_view name) {
  const auto page = std::ranges::find(man_pages(), name, &ManPage::name);
  if (page == man_pages().end()) {
    return agent::fail(agent::Code::internal, fmt::format("there is no manual page {}", name));
  }
  TRY_ASSIGN(std::string source, with_tables(page->text));
  return fmt::format(
      ".\\\" Made by `./dev docs` from man/{}.in and the program's tables.\n{}", name, source);
}

}  // namespace cli
