// `guardrails` of an agent file: checks on the prompt, on calls and their results and on the
// answer, and the kill switch. What each check looks for is guardrail_check.h's.
#pragma once
#include "agent/interceptor.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/guardrails/guardrail_check.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct GuardrailWorld {
  UserProgramsOf programs_of;
  const agent::Redactor* redactor = nullptr;  // borrowed, required
  agent::Clock* clock = nullptr;              // borrowed, required where a model judges
  std::vector<Judge> judges;                  // one for each `judge`, in the order of the checks
  std::string file;                           // the agent file, for messages
};

// The kill switch as an absolute path, where there is one. config.invalid: it is below `~/`, and
// there is no home.
agent::Result<std::filesystem::path> kill_file(const agent::AgentSpec& agent,
                                               const agent::Environment& environment);

// While the file of the kill switch is there, or nobody can tell: guardrail.killed. One stat.
std::optional<agent::Error> killed_by(const std::filesystem::path& kill_file);

// Whether something is looked for in answers: they are not to be shown before.
bool has_output_checks(const agent::GuardrailsSpec& spec);

class Guardrails final : public agent::Interceptor {
 public:
  Guardrails(const agent::GuardrailsSpec& spec,
             std::filesystem::path kill_file,
             GuardrailWorld world);
  ~Guardrails() override;

  // The checks of the point, in the order of the file, each on the text that the one before it
  // left; the first that refuses is the last. One that breaks refuses what it could have refused.
  // Of an answer at an ending (is_partial) only `pattern` and `find` look; it is refused where
  // others would have had to.
  agent::HookDecision judge(const agent::HookContext& hook_context,
                            const agent::Emit& emit,
                            std::stop_token stop) override;
  std::optional<agent::Error> killed() override { return killed_by(kill_file_); }

 private:
  struct Row;

  bool applies(const Row& row, const agent::HookContext& hook_context) const;
  Finding look(Row& row,
               const agent::HookContext& hook_context,
               std::string_view text,
               const std::stop_token& stop);
  void act(const Row& row,
           const agent::HookContext& hook_context,
           Finding finding,
           const agent::Emit& emit,
           agent::HookDecision& decision) const;
  void refuse(const Row& row,
              const agent::HookContext& hook_context,
              const std::string& reason,
              agent::HookDecision& decision) const;
  agent::Error error(agent::Code code, std::string message, const Row& row) const;

  std::filesystem::path kill_file_;
  int retries_;
  std::string file_;
  std::vector<Row> rows_;
};

}  // namespace tools
