// The mistakes that are found in one file, gathered so that all are reported at once.
#pragma once
#include "agent/error.h"
#include "config/yaml/source.h"

#include <cstddef>
#include <string>
#include <vector>

namespace config {

class Problems {
 public:
  explicit Problems(const Source& source) : source_(source) {}

  // A mistake that was already reported at the same place (an alias repeats its anchor) is dropped.
  void add(Span span,
           std::string message,
           std::string help = {},
           agent::Code code = agent::Code::config_invalid);
  void warn(Span span, std::string message, std::string help = {});

  bool is_empty() const { return errors_.empty(); }
  bool are_many() const { return errors_.size() > k_most_shown; }
  const Source& source() const { return source_; }

  // In file order; of more than 100 the rest is only counted.
  std::vector<agent::Error> take_errors();
  std::vector<agent::Error> take_warnings();

 private:
  static constexpr std::size_t k_most_shown = 100;

  struct Found {
    Span span;
    agent::Code code;
    std::string message;
    std::string help;
  };
  std::vector<agent::Error> located(std::vector<Found>& found) const;

  const Source& source_;
  std::vector<Found> errors_;
  std::vector<Found> warnings_;
};

}  // namespace config
