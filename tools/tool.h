// One tool: a name, a schema, a policy and a call. What every call goes through (repair,
// validation, caps, parallel runs) is runner.h's; where programs run, program_runner.h's.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "agent/http.h"
#include "agent/json.h"
#include "agent/outcome.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "agent/state.h"
#include "agent/toolbox.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace agent {
class Redactor;
}

namespace tools {

namespace sandbox {
class Policy;
}
class ProgramRunner;
class Questioner;
class SeenFiles;

// Why a call may not use the file or folder that its path has led to (absolute, without links), by
// the rules of permissions; nullopt: it may.
using FileJudge = std::function<std::optional<std::string>(const std::filesystem::path& real)>;

// What a call may use. Borrowed for the length of the call.
struct CallContext {
  const std::filesystem::path& cwd;                 // relative paths start here
  const std::filesystem::path& temporary;           // the run's own folder, made on first use
  const agent::Environment& environment;            // already without provider keys
  ProgramRunner* program_runner = nullptr;          // runs programs; null only in tests
  ProgramRunner* git_runner = nullptr;              // runs git, which may write `.git`
  const sandbox::Policy* policy = nullptr;          // what files it may reach; null: all
  std::stop_token stop;                             // end soon: TERM, after 1 s KILL
  std::stop_token kill;                             // end now
  std::function<void(std::string_view)> on_output;  // live output; any thread, may be empty
  // Whether a file below the one that was named may be read, too; any thread, empty: all may.
  std::function<bool(const std::filesystem::path&)> may_read = {};
  // Whether a file that nobody has named may be written, by the rules for write_file and for this
  // tool; likewise.
  std::function<bool(const std::filesystem::path&)> may_write = {};
  FileJudge refuses_file = {};       // any thread, empty: it may use all
  SeenFiles* seen = nullptr;         // what may be changed; null: also what was never read
  Questioner* questioner = nullptr;  // who asks the person; null: nobody is there
  agent::Http* http = nullptr;       // null only in tests
  // Why a redirect must not be followed to this URL (canonical), on the same host or on another;
  // nullopt: it may. Any thread, empty: all may.
  std::function<std::optional<std::string>(const std::string& url, bool is_same_host)>
      refuses_redirect = {};
  const agent::Redactor* redactor = nullptr;  // what the model reads; null: it reads all
  // What the model was shown as the result of that number; empty: nothing is kept.
  std::function<std::optional<std::string>(std::int64_t)> earlier_result = {};
  std::size_t result_page = 0;  // bytes of it to show at once
  std::string call_id = {};     // the model's
  // Whether programs have something of their own there, whatever `policy` says; empty: nothing.
  std::function<bool(const std::filesystem::path&)> is_programs_own = {};
  // Of a call that runs another agent. Any thread, empty only in tests.
  std::function<agent::SubAgentRecord()> sub_agent = {};  // ToolWatcher's
  // Both come back when the run's log has it. False: it has not, and the other must not begin.
  std::function<bool(const agent::MemberStarted&)> on_began = {};
  std::function<void(const agent::MemberFinished&)> on_ended = {};
  // ToolWatcher's. Any thread, empty only in tests.
  std::function<agent::Conversation()> conversation = {};
};

// What came of a call, before the runner caps and words it for the model.
struct Output {
  std::string text;                 // bytes; the runner makes them valid UTF-8
  std::optional<agent::Code> code;  // tool.*; absent when it worked
  std::string message;              // what went wrong, one line; also shown to the model
  bool quotes = false;              // `message` has somebody else's words, and `text` all of them,
                                    // where it is not empty: the model reads them in a fence alone
  std::string suggestion;           // for the model; empty: the code's own
  std::string help = {};            // for the user, where the failure ends the run
  std::optional<std::int64_t> exit_status = {};  // of its program; nullopt: none has ended
  bool task_failed = false;
  bool is_fatal = false;    // the run cannot go on after it
  bool idempotent = false;  // its tool is: a call that may be done can be made again
  // There is no result yet, and the run ends with this: the call goes on where the run does.
  std::optional<agent::Ending> suspended = {};
  std::vector<std::string> found_tools = {};  // that the model is to have from now on
  // Where the output was too long for memory: how many bytes the tool produced in all, and the file
  // in the run's folder that has them (empty where the disk refused it). `text` is then the head
  // and the tail, at least 100 kB each, joined without a mark. 0: `text` is the whole.
  std::uint64_t total_bytes = 0;
  std::string spill_path;
};

inline Output failure(agent::Code code, std::string message, std::string suggestion = {}) {
  return Output{
      .text = {}, .code = code, .message = std::move(message), .suggestion = std::move(suggestion)};
}

// What a call would touch, for permissions.
struct Access {
  enum class Kind : std::uint8_t {
    nothing,   // not even files
    names,     // names of files below `target`
    reads,     // the file `target`, or files below it
    writes,    // the file `target`
    commands,  // what the command line `target` does
    fetches,   // the URL `target`, in its canonical form
    program,   // a program's own business; `target` are the arguments, in canonical JSON
    server,    // the same of a server, which is in nobody's sandbox
  };
  Kind kind = Kind::program;
  std::string target;                     // a path as it was written
  std::vector<std::string> further = {};  // more files of the same kind
};

class Tool {
 public:
  virtual ~Tool() = default;
  virtual const agent::ToolInfo& info() const = 0;
  // Of arguments that `call` would take.
  virtual Access access(const agent::Json& arguments) const {
    return {.target = agent::canonical(arguments)};
  }
  // What the call would change in files, as a unified diff for the person who is asked for a yes;
  // empty: nothing, or it is not files that it changes. An error says why that cannot be known.
  virtual agent::Result<std::string> changes(const agent::Json& /*arguments*/,
                                             const CallContext& /*context*/) const {
    return std::string();
  }
  // What the schema cannot say of arguments that pass it: the errors are those of `call`, and known
  // before anybody is asked about the call.
  virtual agent::Result<void> check_arguments(const agent::Json& /*arguments*/) const { return {}; }
  // What would stop the call though permissions let it run, as far as that is known without running
  // it; the errors are those of `call`.
  virtual agent::Result<void> check(const agent::Json& /*arguments*/,
                                    const CallContext& /*context*/) const {
    return {};
  }
  virtual bool parallel() const { return false; }    // may run beside other parallel calls
  virtual bool idempotent() const { return false; }  // may be repeated after a transient failure
  // What an earlier process of the run has left in the tool itself: told before the first call,
  // call by call of those that went well.
  virtual void recall(const agent::Json& /*arguments*/) {}
  // Told of each call right before it, in the order of a reply's: calls may come to be made in
  // another one.
  virtual void line_up(const std::string& /*call_id*/) {}
  // `arguments` is an object that has passed the tool's schema. Must come back soon after
  // context.stop; never throws.
  virtual Output call(const agent::Json& arguments, const CallContext& context) = 0;
};

}  // namespace tools
