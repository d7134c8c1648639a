// Tables of prices: the one that is built in, and those that a user imports. A table is text; one
// model is found by reading lines, the rest is never parsed.
#pragma once
#include "agent/price.h"
#include "agent/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace providers {

// Whose price is asked for.
struct PriceQuery {
  std::string_view provider;  // a preset's name or an id of the table; empty: by the address
  std::string_view base_url;
  std::string_view model;
};

struct FoundPrice {
  agent::Tariff tariff;
  std::string provider;  // their ids in the table
  std::string model;
  std::string match;        // the words that the name fits; empty: it is the id
  std::int64_t window = 0;  // tokens that the model can take; 0: unknown
};

class PriceTable {
 public:
  struct Size {
    std::size_t providers = 0;
    std::size_t models = 0;
  };

  // Borrows the text. `file` stands in messages. config.invalid where it is no table.
  static agent::Result<PriceTable> open(std::string_view text, std::string file);

  std::chrono::sys_days date() const { return date_; }
  const std::string& file() const { return file_; }
  Size size() const;

  // The first model whose match holds, of the provider or of those that it falls back to; nullopt:
  // unknown. config.invalid where a line that is read is broken.
  agent::Result<std::optional<FoundPrice>> find(const PriceQuery& query) const;

 private:
  PriceTable(std::string_view text, std::string file, std::chrono::sys_days date)
      : text_(text), file_(std::move(file)), date_(date) {}

  std::unexpected<agent::Error> broken(std::string_view line) const;
  agent::Result<bool> is_provider(std::string_view line, const PriceQuery& query) const;
  // The text from the provider's line on; empty where it has none.
  agent::Result<std::string_view> find_provider(const PriceQuery& query) const;
  agent::Result<std::optional<FoundPrice>> find_model(std::string_view lines,
                                                      std::string_view model) const;

  std::string_view text_;
  std::string file_;
  std::chrono::sys_days date_;
};

// The text of the table that is part of the program, as it stands in providers/prices/prices.txt.
std::string_view built_in_prices();

}  // namespace providers
