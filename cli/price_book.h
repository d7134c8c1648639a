// What a model costs, from the first of four that says it: the agent file, the user's config.yaml,
// the kind of the provider (a local server costs nothing), the newer of two tables: the one that is
// built in and the one that the user imported.
#pragma once
#include "agent/environment.h"
#include "agent/price.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "cli/settings.h"
#include "providers/prices/price_table.h"
#include "providers/registry.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace cli {

struct ModelPrice {
  agent::Tariff tariff;
  std::string
      source;  // "the agent file", "/home/…/config.yaml", "the built-in table of 2026-08-21"
  std::optional<providers::FoundPrice> row = std::nullopt;  // of a table
};

// Bytes of a table of prices, and of what one is imported from.
constexpr std::size_t k_largest_price_file = 64 * std::size_t{1'048'576};

// Where `errand prices import` puts a table; empty where there is no home.
std::filesystem::path imported_prices_file(const agent::Environment& environment);

// A table together with its text.
struct OpenTable {
  std::string text;  // of an imported one
  bool is_imported = false;
  std::optional<providers::PriceTable> table = std::nullopt;

  std::string name() const;  // "the built-in table of 2026-08-21"
};

// The table that counts: the newer one; of the same day, the imported one.
agent::Result<std::unique_ptr<OpenTable>> open_table(const std::filesystem::path& imported);

class PriceBook {
 public:
  PriceBook(const UserSettings& user, const agent::Environment& environment);

  // nullopt: unknown. config.invalid where the imported table is broken. The table is opened for
  // the first model whose price only a table may say.
  agent::Result<std::optional<ModelPrice>> find(const agent::ModelSpec& spec,
                                                const providers::Resolved& resolved);

  // Tokens that the model can take; 0: unknown. Errors as those of find().
  agent::Result<std::int64_t> window(const agent::ModelSpec& spec,
                                     const providers::Resolved& resolved);

  const std::filesystem::path& config_file() const { return config_file_; }

 private:
  agent::Result<std::optional<providers::FoundPrice>> row_of(const providers::Resolved& resolved);

  std::filesystem::path config_file_;
  std::map<std::string, agent::Price, std::less<>> own_prices_;  // that config.yaml names
  std::filesystem::path imported_file_;
  std::unique_ptr<OpenTable> table_;  // null: not asked yet
  // Window and price of a model are asked for one after the other.
  struct Asked {
    std::string provider;
    std::string base_url;
    std::string model;
    std::optional<providers::FoundPrice> row;
  };
  std::optional<Asked> last_;
};

// config.invalid where there is a cost limit that cannot be kept, because nobody knows the price of
// `model`, one of the agent's, as PROVIDER/MODEL.
agent::Result<void> check_cost_limit(const agent::AgentSpec& agent,
                                     const std::string& model,
                                     const std::optional<ModelPrice>& price,
                                     const PriceBook& book,
                                     std::chrono::system_clock::time_point now);

}  // namespace cli
