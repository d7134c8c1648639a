#include "cli/guardrail_set.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace cli {

using agent::GuardrailSpec;
namespace fs = std::filesystem;

agent::Result<GuardrailSet> open_guardrails(const Plan& plan,
                                            const fs::path& kill_file,
                                            agent::Provider& own,
                                            const providers::Dependencies& dependencies,
                                            tools::UserProgramsOf programs_of,
                                            const agent::Redactor& redactor,
                                            agent::Clock& clock,
                                            agent::Clock::Wall now) {
  GuardrailSet guarded;
  const agent::GuardrailsSpec& spec = plan.agent.guardrails;
  if (spec.checks.empty() && spec.kill_switch.empty()) {
    return guarded;
  }
  tools::GuardrailWorld world{.programs_of = std::move(programs_of),
                              .redactor = &redactor,
                              .clock = &clock,
                              .judges = {},
                              .file = plan.agent.file};
  auto choice = plan.judges.begin();
  for (const GuardrailSpec& check : spec.checks) {
    if (check.kind != GuardrailSpec::Kind::judge) {
      continue;
    }
    if (!check.model) {
      world.judges.push_back(
          {.model = plan.model().name(), .provider = &own, .prices = prices_of(plan.chain, now)});
      continue;
    }
    TRY_ASSIGN(auto provider, providers::make(*choice, plan.agent.retry, dependencies));
    world.judges.push_back({.model = choice->resolved.name(),
                            .provider = provider.get(),
                            .prices = prices_of(std::span(&*choice, 1), now)});
    guarded.judges.push_back(std::move(provider));
    ++choice;
  }
  guarded.interceptor = std::make_unique<tools::Guardrails>(spec, kill_file, std::move(world));
  return guarded;
}

std::optional<agent::Warning> kill_switch_warning(const fs::path& kill_file,
                                                  const tools::Sandbox* sandbox) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(kill_file, error);
  if (kill_file.empty() || sandbox == nullptr ||
      sandbox->policy().writing(error ? kill_file : real) != tools::sandbox::Verdict::allowed) {
    return std::nullopt;
  }
  return agent::Warning{
      .message = fmt::format("tools can write where the kill switch is, and could remove it: `{}`",
                             kill_file.string()),
      .help = "name a file outside the working folder, such as ~/stop-errand"};
}

}  // namespace cli
