// What a prepared agent is to do, said by neither its command line nor its file: an input of a
// batch, a call of a client. Its words may be somebody else's.
#pragma once
#include "agent/result.h"
#include "cli/parse.h"
#include "cli/plan.h"
#include "config/named_files.h"
#include "config/prompt.h"

#include <map>
#include <optional>
#include <string>

namespace cli {

struct OutsideInput {
  std::optional<std::string> prompt;  // nullopt: the agent's own
  std::map<std::string, std::string> parameters;
};

// What the model reads. `common`: parameters that hold where the input does not say otherwise.
// cli.no_input where nobody says what is to be done; the errors of config::render().
agent::Result<config::Rendered> texts_of(const OutsideInput& input,
                                         const std::map<std::string, std::string>& common,
                                         const Plan& plan,
                                         const config::ReadingPolicy& reading);

// As if the run had been begun by itself: what is recorded of it carries it on.
Parsed command_line_of(const OutsideInput& input,
                       const std::map<std::string, std::string>& common,
                       Parsed parsed);

}  // namespace cli
