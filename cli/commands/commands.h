// What a command gets, and the commands themselves, one file each.
#pragma once
#include "agent/cancellation.h"
#include "agent/environment.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "cli/parse.h"

#include <filesystem>
#include <ostream>

namespace cli {

// The world of one command. Borrowed; the streams' failures are looked at by the caller.
struct Context {
  const agent::Environment& environment;
  std::filesystem::path cwd;
  std::ostream& out;  // the product, and nothing else
  std::ostream& err;
  agent::Cancellation& cancellation;
  agent::Redactor& redactor;  // of what the environment holds, and what the command adds
  bool color_out = false;
  bool color_err = false;
  // Set by a command whose product has styles, which are its own: words of anybody else in it went
  // through agent::one_line or agent::printable.
  bool has_styles = false;
};

// Each returns the exit code of an ending that is no error (normally 0), or the error.
agent::Result<int> command_run(const Parsed& parsed, Context& context);
agent::Result<int> command_resume(const Parsed& parsed, Context& context);
agent::Result<int> command_fork(const Parsed& parsed, Context& context);
agent::Result<int> command_batch(const Parsed& parsed, Context& context);
agent::Result<int> command_check(const Parsed& parsed, Context& context);
agent::Result<int> command_test(const Parsed& parsed, Context& context);
agent::Result<int> command_init(const Parsed& parsed, Context& context);
agent::Result<int> command_tools_list(const Parsed& parsed, Context& context);
agent::Result<int> command_tools_call(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_list(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_tools(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_call(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_test(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_serve(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_login(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_logout(const Parsed& parsed, Context& context);
agent::Result<int> command_mcp_lock(const Parsed& parsed, Context& context);
agent::Result<int> command_policy_check(const Parsed& parsed, Context& context);
agent::Result<int> command_models(const Parsed& parsed, Context& context);
agent::Result<int> command_prices_show(const Parsed& parsed, Context& context);
agent::Result<int> command_prices_import(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_list(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_show(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_context(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_pending(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_export(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_import(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_rm(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_prune(const Parsed& parsed, Context& context);
agent::Result<int> command_runs_doctor(const Parsed& parsed, Context& context);
agent::Result<int> command_exit_codes(const Parsed& parsed, Context& context);
agent::Result<int> command_doctor(const Parsed& parsed, Context& context);
agent::Result<int> command_schema(const Parsed& parsed, Context& context);
agent::Result<int> command_completions(const Parsed& parsed, Context& context);
agent::Result<int> command_man(const Parsed& parsed, Context& context);
agent::Result<int> command_help(const Parsed& parsed, Context& context);
agent::Result<int> command_version(const Parsed& parsed, Context& context);

}  // namespace cli
