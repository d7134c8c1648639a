#include "cli/price_book.h"

#include "agent/duration.h"
#include "tests/unit/cli/command_support.h"

#include <chrono>

namespace {

using std::chrono::days;

std::string table_of(std::chrono::sys_days day) {
  return "errand-prices 1 " + agent::format_day(day) + "\n";
}

}  // namespace

TEST_CASE("price book: the newer table counts, of the same day the imported one", "[cli]") {
  const Folder folder;
  const auto file = folder.path / "prices.txt";
  const auto built_in = cli::open_table(file);
  REQUIRE(built_in);
  CHECK_FALSE((*built_in)->is_imported);
  const auto today = (*built_in)->table->date();
  const auto is_imported = [&](std::chrono::sys_days day) {
    folder.write("prices.txt", table_of(day));
    return cli::open_table(file).value()->is_imported;
  };
  CHECK_FALSE(is_imported(today - days(1)));
  CHECK(is_imported(today));
  CHECK(is_imported(today + days(1)));
}

TEST_CASE("price book: a cost limit without a price names the model, one of several", "[cli]") {
  const cli::PriceBook book({.file = "/etc/config.yaml", .config = {}}, {});
  agent::AgentSpec agent{.model = {.name = "auto"}};
  const auto check = [&] {
    return cli::check_cost_limit(agent, "acme/m-2", std::nullopt, book, {});
  };
  CHECK(check());
  agent.limits.max_cost_usd = agent::Money::parse("1");
  const auto kept = check();
  REQUIRE_FALSE(kept);
  CHECK(kept.error().message ==
        "the cost limit cannot be enforced: the price of the model `acme/m-2` is not known");
  CHECK(kept.error().help ==
        "give its price in US dollars per million tokens beside its name, as in `{name: acme/m-2, "
        "cost: {input: 3, output: 15}}`, or for all agents in "
        "/etc/config.yaml: `prices: {acme/m-2: {input: 3, output: 15}}`");
}
