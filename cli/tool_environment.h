// Where the tools of one command work: a folder of their own, the sandbox, the web, the person at
// the terminal.
#pragma once
#include "agent/clock.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "cli/commands/commands.h"
#include "cli/open_sandbox.h"
#include "cli/run_folder.h"
#include "providers/http/curl_dialer.h"
#include "providers/http/http_client.h"
#include "tools/process/local_program_runner.h"
#include "tools/process/sandbox.h"
#include "tools/questioner.h"
#include "tools/runner/runner.h"

#include <memory>
#include <string>
#include <vector>

namespace cli {

class Progress;

class ToolEnvironment {
 public:
  struct Options {
    std::string folder_id;        // what the folder is called by
    IsWritten is_written;         // by any tool of the whole: the folder is elsewhere (written_by)
    agent::Http* http = nullptr;  // borrowed; null: one of its own
    tools::sandbox::Outputs outputs = {};
    std::vector<std::filesystem::path> obeyed = {};  // see Workplace
    bool is_attended = true;                         // where a person is there, they may be asked
    Progress* progress = nullptr;                    // see QuestionerOptions
    std::string who = {};                            // the same
  };

  // sandbox.setup. All borrowed but for the agent.
  static agent::Result<std::unique_ptr<ToolEnvironment>> open(const agent::AgentSpec& agent,
                                                              Options options,
                                                              const Context& context,
                                                              tools::Supervisor& supervisor,
                                                              const agent::Redactor& redactor);

  // What a runner needs of it. No tool sees the variables in `scrub`.
  tools::RunnerOptions runner_options(std::vector<std::string> scrub);

  std::vector<std::string> warnings() const;  // of the sandbox, in sentences
  RunFolder& folder() { return folder_; }
  const Workplace& place() const { return place_; }
  tools::Sandbox* sandbox() { return sandbox_.get(); }  // null: no sandbox
  agent::Dialer& dialer() { return dialer_; }
  agent::Http& http() { return *http_; }
  agent::Clock& clock() { return clock_; }
  tools::Questioner* questioner() { return questioner_.get(); }  // null: nobody is there

 private:
  ToolEnvironment(const std::filesystem::path& temporary,
                  Options options,
                  const Context& context,
                  tools::Supervisor& supervisor,
                  const agent::Redactor& redactor);

  const Context& context_;
  const agent::Redactor& redactor_;
  RunFolder folder_;
  Workplace place_;
  std::unique_ptr<tools::Sandbox> sandbox_;
  providers::CurlDialer dialer_;
  std::unique_ptr<tools::ProgramRunner> program_runner_;
  std::unique_ptr<tools::Sandbox> git_sandbox_;
  std::unique_ptr<tools::ProgramRunner> git_runner_;  // null: the same as the others
  std::unique_ptr<tools::Questioner> questioner_;     // null: nobody is there
  std::unique_ptr<providers::HttpClient> own_http_;   // null: another is used
  agent::Http* http_;
  agent::SystemClock clock_;
};

}  // namespace cli
