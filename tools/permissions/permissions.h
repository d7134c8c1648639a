// Whether a tool call may run: allowed, asked for or denied, and by which rule. Rules are `TOOL` or
// `TOOL(ARGUMENT)`: `read_*`, `shell(git diff *)`, `write_file(src/**)`,
// `web_fetch(https://docs.example.com/*)`. Decides; never asks, never runs.
#pragma once
#include "agent/hook_decision.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/permissions/command_pattern.h"
#include "tools/permissions/path_pattern.h"
#include "tools/permissions/text_pattern.h"
#include "tools/permissions/url_pattern.h"
#include "tools/tool.h"

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

class CommandLine;

enum class Verdict : std::uint8_t { allow, ask, deny };
std::string_view to_string(Verdict verdict);

struct PermissionDecision {
  Verdict verdict = Verdict::allow;
  std::string reason;    // "`deny: shell(rm *)` (agent.yaml) forbids it", for people and the model
  std::string yes_rule;  // asked for: the rule that says yes to this very call; may be empty
  bool may_always = true;      // asked for: a rule in `allow` would be enough
  bool may_be_denied = false;  // asked for: it cannot be told that no rule in `deny` is about it
};

// What holds calls back where no rule speaks of them, so that `auto` can allow them.
struct Confined {
  // Programs read no secrets, write in the workspace alone, and have no network.
  bool processes = false;
  bool files = false;        // the same of the file tools
  bool has_network = false;  // programs may reach it, or some of its hosts
};

// What rules of `deny` keep whole from the file tools: files, and folders with all that is in them.
// Absolute; they need not exist, and links in them are not followed.
struct DeniedPlaces {
  std::vector<std::filesystem::path> reading;
  std::vector<std::filesystem::path> writing;
};

struct PermissionWorld {
  std::filesystem::path cwd;        // the workspace; absolute
  std::filesystem::path temporary;  // the run's own folder; tools may read it
  std::filesystem::path home;       // may be empty
  Confined confined;
  std::vector<std::filesystem::path>
      guarded;  // in the workspace, and not to be written without a yes
  // Whether the sandbox keeps programs from reading (or writing) what is denied; empty: it does
  // not.
  std::function<bool(const std::filesystem::path& place, bool is_writing)> keeps = {};
};

// config.invalid where a rule is none. `tool_names`: those that exist; a rule without wildcards
// that names none of them is a typing error; of the tools of an MCP server the beginning of their
// names is among them ("mcp__docs__"). Empty: not checked.
agent::Result<void> check_rule(std::string_view rule, std::span<const std::string> tool_names);
// Of rules that have a wildcard in the tool's name, and are about none of these, nor about a tool
// that errand adds by itself: a typing error, which allows or forbids nothing. A name that ends in
// `__` is what those of a server begin with.
std::vector<agent::Warning> idle_patterns(std::span<const agent::PermissionRule> rules,
                                          std::span<const std::string> tool_names);

class Permissions {
 public:
  // config.invalid where a rule is none.
  static agent::Result<Permissions> create(const agent::PermissionSpec& spec,
                                           PermissionWorld world);

  // Of several files the strictest verdict. `hook`: what hooks and guardrails have said to the
  // call.
  PermissionDecision judge(std::string_view tool,
                           const Access& access,
                           const agent::HookDecision& hook = {}) const;
  // Whatever the arguments are: not worth offering.
  bool always_denies(std::string_view tool) const;
  // The same, and no rule that allows it would help.
  bool denies_by_rule(std::string_view tool) const;
  // Whether a rule in `deny` or `ask` is about one tool and not about the other: who calls
  // `written` is then not taken to mean `meant`.
  bool tells_apart(std::string_view written, std::string_view meant) const;
  // Whether a rule that a person said yes to, or would have in `allow`, is about the call.
  bool covers(std::string_view rule, std::string_view tool, const Access& access) const;
  // Why rules of `deny` that name paths keep a file from being read, in a sentence; nullopt: they
  // do not. For what goes through folders, or reads what nobody's call has named.
  std::optional<std::string> reading_denied(const std::filesystem::path& file) const;
  bool may_read(const std::filesystem::path& file) const { return !reading_denied(file); }
  // The same of writing, by a tool that changes what nobody has named: rules for it count, too.
  bool may_write(const std::filesystem::path& file, std::string_view tool) const;
  DeniedPlaces denied_places() const;
  // A person said yes, for as long as this object lives.
  agent::Result<void> grant(std::string rule);
  // From now on nothing is allowed that `above` does not allow, too: the stricter verdict counts.
  void stay_below(Permissions above) { above_.push_back(std::move(above)); }

 private:
  struct Rule {
    agent::PermissionRule source;
    TextPattern tool;
    std::optional<TextPattern> text = {};        // of the argument, where it has one
    std::optional<TextPattern> json = {};        // the same, for arguments in JSON
    std::optional<CommandPattern> command = {};  // the same, for commands that are allowed
    std::optional<PathPattern> path;             // the same, where that is one
    std::optional<UrlPattern> url;               // likewise
  };
  struct Call;

  explicit Permissions(PermissionWorld world) : world_(std::move(world)) {}
  static agent::Result<Rule> parse(const agent::PermissionRule& source,
                                   const PermissionWorld& world);
  agent::Result<void> read(const std::vector<agent::PermissionRule>& from,
                           std::vector<Rule>& to) const;

  Match forbids(const Rule& rule, const Call& call) const;
  bool allows(const Rule& rule, const Call& call) const;
  static bool is_exact(const Rule& rule, const Call& call);
  bool is_granted(const Call& call) const;
  PermissionDecision judge_own(std::string_view tool,
                               const Access& access,
                               const agent::HookDecision& hook) const;
  PermissionDecision judge_one(std::string_view tool,
                               const Access& access,
                               const agent::HookDecision& hook) const;  // of one target
  std::expected<void, std::string> is_allowed_line(const Call& call) const;
  bool is_kept_from_programs(const Rule& rule) const;
  bool is_allowed_to_write(const std::filesystem::path& file) const;
  std::string unclear_reason(const Call& call) const;
  PermissionDecision by_default(const Call& call) const;
  PermissionDecision automatic(const Call& call) const;
  std::string yes_rule(const Call& call) const;
  bool stands_for(const std::string& rule, const Call& call, bool is_in_doubt) const;
  PermissionDecision asked_for(std::string_view tool,
                               const std::vector<std::filesystem::path>& files,
                               PermissionDecision decision) const;

  PermissionWorld world_;
  agent::PermissionSpec::Standard standard_ = agent::PermissionSpec::Standard::automatic;
  std::string standard_origin_;
  std::vector<Rule> deny_;
  std::vector<Rule> granted_;
  std::vector<Rule> ask_;
  std::vector<Rule> allow_;
  std::vector<Permissions> above_;  // of the agents that this one works for
};

}  // namespace tools
