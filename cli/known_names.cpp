#include "cli/known_names.h"

#include "providers/registry.h"
#include "tools/registry.h"

namespace cli {

config::Known known_names() {
  return {.tools = tools::builtin_names(),
          .program_tools = tools::program_tools(),
          .protocols = providers::protocol_names()};
}

}  // namespace cli
