#include "cli/agents_at_work.h"

#include "agent/id.h"
#include "tests/unit/cli/command_support.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

namespace fs = std::filesystem;

TEST_CASE("agents at work: where those of a recorded run could write, by its record", "[cli]") {
  const Folder folder;
  const fs::path root = fs::canonical(folder.path);
  for (const char* name : {"work", "shared", "elsewhere"}) {
    fs::create_directory(root / name);
  }
  const agent::Environment environment = {{"HOME", (root / "home").string()}};
  std::ostringstream out;
  agent::Cancellation cancellation;
  agent::Redactor redactor(environment);
  const cli::Context context{.environment = environment,
                             .cwd = root / "elsewhere",
                             .out = out,
                             .err = out,
                             .cancellation = cancellation,
                             .redactor = redactor};
  cli::RecordedRun run{};
  run.store = root / "journal.db";
  run.run_id = agent::new_run_id();
  run.is_own = true;
  run.begun.cwd = (root / "work").string();
  run.begun.agent_file = "agent.yaml";
  run.begun.made_from.agent_folder = run.begun.cwd;
  run.begun.made_from.agent_text = fmt::format(R"(version: 1
name: worker
model: anthropic/claude-sonnet-4-5
instructions: Work.
tools: [write_file]
sandbox: {{required: [], write: ["{}"]}}
)",
                                               (root / "shared").string());
  const auto written = [&] {
    const cli::IsWritten is_written = cli::written_by_recorded(run, context);
    std::string names;
    for (const char* name : {"work", "shared", "elsewhere"}) {
      names += is_written(root / name) ? std::string(name) + " " : "";
    }
    return names;
  };
  CHECK(written() == "work shared ");
  run.begun.made_from.options = {"--sandbox=read_only"};
  CHECK(written().empty());
  run.is_own = false;  // what a stranger's record says does not count
  CHECK(written() == "work shared elsewhere ");
}
