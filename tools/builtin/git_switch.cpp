// Another branch in the working folder.
#include "agent/json.h"
#include "agent/text.h"
#include "tools/builtin/builtins.h"
#include "tools/builtin/git.h"
#include "tools/feedback.h"
#include "tools/files/regular_file.h"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
namespace fs = std::filesystem;

constexpr std::string_view k_no_file = "000000";  // modes
constexpr std::string_view k_submodule = "160000";

constexpr const char* k_git_switch_parameters = R"({
  "type": "object",
  "properties": {
    "branch": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The name of a branch of this repository, without refs/heads/."},
    "create": {"type": "boolean", "description": "Make the branch where HEAD is now; false if left out."}
  },
  "required": ["branch"],
  "additionalProperties": false
})";

Result<void> check_name(const Git& git, const std::string& branch) {
  const bool is_plain = !branch.contains('\0') && !branch.starts_with('-');
  TRY_ASSIGN(const Git::Said said,
             git.ask({"check-ref-format", "refs/heads/" + (is_plain ? branch : "")}));
  if (said.status != 0) {
    return fail(Code::tool_invalid_parameters,
                fmt::format("`{}` is not a name that git allows for a branch", one_line(branch)),
                "Use letters, digits, `-`, `_`, `.` and `/`.");
  }
  return {};
}

// What the branch has that differs from what is checked out now.
struct Changes {
  std::vector<std::string> files;
  std::vector<std::string> contents;     // their ids, where they are files in the branch
  std::vector<std::string> new_modules;  // submodules in the branch alone
};

Result<Changes> changes_of(const Git& git, const std::string& ref) {
  TRY_ASSIGN(const Git::Said head, git.ask({"rev-parse", "--verify", "--quiet", "HEAD"}));
  std::string base = "HEAD";
  if (head.status != 0) {  // nothing is committed yet: all of it differs
    TRY_ASSIGN(base, git.run({"hash-object", "-t", "tree", "--stdin"}, std::string()));
  }
  TRY_ASSIGN(const auto parts,
             git.list({"diff-tree",
                       "-r",
                       "-z",
                       "--raw",
                       "--no-abbrev",
                       "--no-renames",
                       std::string(agent::trimmed(base)),
                       ref,
                       "--"}));
  Changes changes;
  for (std::size_t at = 0; at + 1 < parts.size(); at += 2) {
    std::istringstream words(parts[at]);  // ":OLD_MODE NEW_MODE OLD_ID NEW_ID STATUS"
    std::string old_mode;
    std::string mode;
    std::string id;
    words >> old_mode >> mode >> id >> id;
    if (mode == k_submodule && !old_mode.ends_with(k_submodule)) {
      changes.new_modules.push_back(parts[at + 1]);
    }
    changes.files.push_back(parts[at + 1]);
    if (mode != k_no_file && mode != k_submodule) {
      changes.contents.push_back(std::move(id));
    }
  }
  return changes;
}

// Git would fetch what a partial clone lacks; where it cannot, it leaves the file out.
Result<void> check_contents(const Git& git, const std::vector<std::string>& ids) {
  std::string input;
  for (const std::string& id : ids) {
    input += id + "\n";
  }
  TRY_ASSIGN(const Git::Said said, git.ask({"cat-file", "--batch-check"}, std::move(input)));
  if (said.status != 0 || said.text.contains(" missing\n")) {
    return fail(Code::tool_failed,
                "the repository does not have all files of the branch, and errand fetches none",
                "Say that a person has to switch to it, or to fetch it.");
  }
  return {};
}

// A branch brings no file that a tool could not have written itself.
Result<void> check_files(const CallContext& context, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (context.may_write && !context.may_write(context.cwd / file)) {
      return fail(
          Code::tool_policy_blocked,
          fmt::format("the branch has another `{}`, which a rule of `deny` forbids to change",
                      one_line(file)),
          "Say that a person has to switch to it.");
    }
  }
  if (context.policy == nullptr) {
    return {};
  }
  for (const std::string& file : files) {
    TRY_ASSIGN(const NamedPath name, resolve(file, context));
    const auto verdict = context.policy->writing_by_file_tools(context.cwd / file);
    if (verdict == sandbox::Verdict::locked) {
      return fail(
          Code::sandbox_violation,
          fmt::format("the branch has another `{}`, which tools must not change", one_line(file)),
          "Say that a person has to switch to it.");
    }
    TRY(check_verdict(verdict, "change", name));
  }
  if (const fs::path made = context.policy->new_git_folder(context.cwd, files); !made.empty()) {
    return fail(Code::sandbox_violation,
                fmt::format("the branch makes of `{}` what git takes for a repository",
                            one_line(made.string())),
                "Say that a person has to switch to it.");
  }
  return {};
}

// Git would look into it from then on, and obey what tools may have changed there.
Result<void> check_modules(const CallContext& context, const std::vector<std::string>& modules) {
  const auto is_there = [&](const std::string& module) {
    std::error_code error;
    return fs::exists(fs::symlink_status(context.cwd / module / ".git", error));
  };
  if (const auto module = std::ranges::find_if(modules, is_there); module != modules.end()) {
    return fail(Code::sandbox_violation,
                fmt::format("the branch makes a submodule of the repository `{}`, which git does "
                            "not know yet",
                            one_line(*module)),
                "Say that a person has to switch to it.");
  }
  return {};
}

Result<std::string> create_branch(const Git& git, const std::string& branch) {
  TRY(git.run({"switch", "--quiet", "--no-track", "--no-guess", "--create", branch}));
  return fmt::format("made the branch `{}` and switched to it\n", one_line(branch));
}

Result<std::string> switch_to(const CallContext& context,
                              const Git& git,
                              const std::string& branch) {
  const std::string ref = "refs/heads/" + branch;
  TRY_ASSIGN(const Git::Said found,
             git.ask({"rev-parse", "--verify", "--quiet", ref + "^{commit}"}));
  if (found.status != 0) {
    TRY_ASSIGN(const std::string branches,
               git.run({"for-each-ref", "--count=20", "--format=%(refname:short)", "refs/heads"}));
    return fail(Code::tool_failed,
                fmt::format("there is no branch `{}`", one_line(branch)),
                fmt::format("There are: {}. `create` makes a new one.", one_line(branches)));
  }
  TRY_ASSIGN(const std::string before, git.position());
  TRY_ASSIGN(const Changes changes, changes_of(git, ref));
  const std::vector<std::string>& files = changes.files;
  TRY(check_files(context, files));
  TRY(check_modules(context, changes.new_modules));
  TRY(check_contents(git, changes.contents));
  // As the attributes are there, and as they are here, by which git looks for changes.
  const fs::path index = git.temporary() / "git-switch.index";
  std::error_code ignored;
  fs::remove(index, ignored);
  const Git other = git.with_index(index);
  TRY(other.run({"read-tree", ref}));
  const auto filters = other.check_filters(files, true);
  fs::remove(index, ignored);
  TRY(filters);
  TRY(git.check_filters(files, false));
  TRY(git.run({"switch",
               "--quiet",
               "--no-guess",
               "--no-progress",
               "--no-recurse-submodules",
               "--no-overwrite-ignore",
               branch}));
  return fmt::format("switched to `{}` (from {}); {} file{} changed\n",
                     one_line(branch),
                     before,
                     files.size(),
                     files.size() == 1 ? "" : "s");
}

Result<std::string> git_switch(const agent::Json& arguments, const CallContext& context) {
  const std::string branch(agent::text_at(arguments, "branch"));
  TRY_ASSIGN(const Git git, Git::open(context));
  TRY(check_name(git, branch));
  return agent::bool_at(arguments, "create") ? create_branch(git, branch)
                                             : switch_to(context, git, branch);
}

Output call_git_switch(const agent::Json& arguments, const CallContext& context) {
  auto report = git_switch(arguments, context);
  return report ? Output{.text = std::move(*report)} : failed_by_git(report.error());
}

}  // namespace

std::unique_ptr<Tool> make_git_switch(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{.name = "git_switch",
                      .description = "Switches the working folder's git repository to another of "
                                     "its branches, or makes a branch where HEAD is. Fails where "
                                     "changes that are not committed would be lost.",
                      .parameters = k_git_switch_parameters,
                      .repeatable = spec.repeatable},
      FunctionTool::Policy{.access = Access::Kind::writes},
      call_git_switch);
}

}  // namespace tools
