// The command line as a value, checked against the table of options.h.
#pragma once
#include "agent/environment.h"
#include "agent/result.h"
#include "cli/options.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct Parsed {
  const Command* command = nullptr;  // null only where `help` is asked of the program or a group
  std::map<std::string, std::vector<std::string>, std::less<>> values;  // by the long name
  std::vector<std::string> positionals;
  bool help = false;
  // Options that the command line left open, and the variables that say them.
  std::map<std::string, std::string, std::less<>> of_variables;
  std::string group;  // the first word of the commands of which help is asked, as "tools"

  bool has(std::string_view name) const;
  bool is_given(std::string_view name) const;      // on the command line itself
  std::size_t count(std::string_view name) const;  // how often it was given
  std::optional<std::string> value(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
};

// `arguments` without the program's name. What an option leaves open is taken from its variable.
// Every mistake is cli.usage, and says how to mend it. Values have the kind that the table says.
agent::Result<Parsed> parse(std::span<const std::string> arguments,
                            const agent::Environment& environment);

}  // namespace cli
