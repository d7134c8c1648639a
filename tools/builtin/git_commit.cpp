// Files of the working folder into a commit.
#include "agent/json.h"
#include "agent/text.h"
#include "tools/builtin/builtins.h"
#include "tools/builtin/git.h"
#include "tools/feedback.h"
#include "tools/files/regular_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <system_error>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
namespace fs = std::filesystem;

constexpr std::size_t k_most_files_shown = 50;

constexpr const char* k_git_commit_parameters = R"({
  "type": "object",
  "properties": {
    "message": {"type": "string", "minLength": 1, "maxLength": 65536, "description": "The whole message: a subject line, then an empty line and the rest if there is one."},
    "paths": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string", "minLength": 1}, "description": "Commit the changes of these files and folders alone, new and deleted files included. Names, not patterns."},
    "all": {"type": "boolean", "description": "Commit every change in the working folder, new files included. Without it and without paths: what is staged."}
  },
  "required": ["message"],
  "additionalProperties": false
})";

// Also of arguments that nobody has checked yet.
std::vector<std::string> paths_of(const agent::Json& arguments) {
  std::vector<std::string> paths;
  if (const agent::Json* const named = agent::find(arguments, "paths")) {
    for (const agent::Json& path : *named) {
      if (const auto* text = path.get_ptr<const std::string*>()) {
        paths.push_back(*text);
      }
    }
  }
  return paths;
}

// One commit: what goes into it, and what has to be said of it.
class Commit {
 public:
  Commit(const CallContext& context, const Git& git) : context_(context), git_(git) {}

  Result<std::string> make(const agent::Json& arguments) {
    named_ = paths_of(arguments);
    const bool is_all = agent::bool_at(arguments, "all");
    TRY(name_relatively());
    TRY(check_conflicts());
    TRY(find_changes(is_all || !named_.empty()));
    TRY(check_changes());
    TRY(git_.check_filters(files_, false));
    TRY(check_identity());
    if (is_of_files_) {
      TRY(git_.run({"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"},
                   joined_by_nul(files_)));
    }
    TRY(record(agent::text_at(arguments, "message")));
    return report();
  }

 private:
  Result<void> name_relatively() {
    for (std::string& path : named_) {
      std::error_code error;
      const fs::path top = fs::canonical(context_.cwd, error);
      const fs::path inner = (top / path).lexically_normal().lexically_relative(top);
      if (path.contains('\0') || inner.empty() || *inner.begin() == "..") {
        return fail(Code::sandbox_violation,
                    fmt::format("`{}` is outside the working folder", one_line(path, 400)),
                    "Use paths in the working folder.");
      }
      path = inner.filename().empty() ? inner.parent_path().string() : inner.string();
    }
    return {};
  }

  Result<void> check_conflicts() const {
    TRY_ASSIGN(const auto entries, git_.list({"ls-files", "--unmerged", "-z"}));
    std::vector<std::string> unmerged;
    for (const std::string& entry : entries) {  // "MODE ID STAGE\tFILE", up to three of a file
      std::string file = entry.substr(std::min(entry.find('\t'), entry.size() - 1) + 1);
      if (unmerged.empty() || unmerged.back() != file) {
        unmerged.push_back(std::move(file));
      }
    }
    if (!unmerged.empty()) {
      return fail(Code::tool_failed,
                  fmt::format("a merge has left conflicts in {}", some_of(unmerged)),
                  "Say that a person has to end the merge with git.");
    }
    return {};
  }

  Result<void> find_changes(bool is_of_files) {
    std::set<std::string> found;
    const auto add = [&](Git::Words words) -> Result<void> {
      words.emplace_back("--");
      words.insert(words.end(), named_.begin(), named_.end());
      TRY_ASSIGN(const auto names, git_.list(std::move(words)));
      found.insert(names.begin(), names.end());
      return {};
    };
    TRY(add({"diff", "--cached", "--name-only", "--no-renames", "-z"}));
    if (is_of_files) {
      TRY(add({"ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"}));
    }
    files_.assign(found.begin(), found.end());
    is_of_files_ = is_of_files;
    return {};
  }

  bool is_named(const std::string& file) const {
    return std::ranges::find(named_, file) != named_.end();
  }

  // Who has staged something has looked at it: no program of a tool can.
  sandbox::Verdict verdict_on(const fs::path& path) const {
    return context_.policy == nullptr ? sandbox::Verdict::allowed
           : is_of_files_             ? context_.policy->writing_by_file_tools(path)
                                      : context_.policy->writing(path);
  }

  // With what earlier commits have, too: the parts of a repository may come one after the other.
  Result<void> check_for_repositories() const {
    if (context_.policy == nullptr || !is_of_files_) {
      return {};
    }
    TRY_ASSIGN(std::vector<std::string> all, git_.list({"ls-files", "-z"}));
    const std::set<std::string> before(all.begin(), all.end());
    all.insert(all.end(), files_.begin(), files_.end());
    const fs::path made = context_.policy->new_git_folder(context_.cwd, all);
    const bool is_new = !made.empty() && std::ranges::any_of(files_, [&](const std::string& file) {
      return !before.contains(file) &&
             (made == "." || fs::path(file).string().starts_with(made.string() + "/"));
    });
    if (is_new) {
      return fail(Code::sandbox_violation,
                  fmt::format("the commit makes of `{}` what git takes for a repository",
                              one_line(made.string(), 400)),
                  "Leave out its HEAD, commondir, objects or refs.");
    }
    return {};
  }

  // What tools must not change is left out of a folder, and refused by its own name.
  Result<void> check_changes() {
    std::vector<std::string> kept;
    for (std::string& file : files_) {
      const bool is_repository = file.ends_with('/');
      const fs::path path = context_.cwd / file;
      const auto verdict = verdict_on(path);
      const bool is_left_out =
          is_of_files_ && (is_repository || verdict == sandbox::Verdict::locked ||
                           verdict == sandbox::Verdict::git_folder);
      if (is_left_out && !is_named(is_repository ? file.substr(0, file.size() - 1) : file)) {
        left_out_.push_back(std::move(file));
        continue;
      }
      if (is_left_out && is_repository) {
        return fail(Code::tool_failed,
                    fmt::format("`{}` is a repository of its own", one_line(file, 400)),
                    "Leave it out.");
      }
      TRY_ASSIGN(const NamedPath name, resolve(file, context_));
      TRY(check_verdict(verdict, "commit", name));
      if (context_.may_read && !context_.may_read(path)) {
        return fail(Code::tool_policy_blocked,
                    fmt::format("a rule forbids reading `{}`", one_line(file, 400)),
                    "Leave it out: name the other paths.");
      }
      if (context_.may_write && !context_.may_write(path)) {
        return fail(Code::tool_policy_blocked,
                    fmt::format("a rule forbids changing `{}`", one_line(file, 400)),
                    "Leave it out: name the other paths.");
      }
      kept.push_back(std::move(file));
    }
    files_ = std::move(kept);
    TRY(check_for_repositories());
    for (const std::string& path : named_) {
      TRY(check_named(path));
    }
    if (files_.empty()) {
      return fail(Code::tool_failed,
                  is_of_files_ ? "there is nothing to commit: no file has changed"
                               : "there is nothing to commit: nothing is staged",
                  is_of_files_ ? "Change something first; files that .gitignore names do not count."
                               : "Name the files in `paths`, or set `all`.");
    }
    return {};
  }

  Result<void> check_named(const std::string& path) const {
    const bool has_changes = std::ranges::any_of(files_, [&](const std::string& file) {
      return path == "." || file == path || file.starts_with(path + "/");
    });
    if (!has_changes) {
      return fail(Code::tool_failed,
                  fmt::format("there is nothing to commit in `{}`", one_line(path, 400)),
                  "It has not changed, does not exist, or .gitignore names it: leave it out.");
    }
    return {};
  }

  Result<void> check_identity() const {
    for (const char* who : {"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"}) {
      TRY_ASSIGN(const Git::Said said, git_.ask({"var", who}));
      if (said.status != 0) {
        return fail(Code::tool_failed,
                    "git does not know whose commits these are",
                    "Say that a person has to set user.name and user.email: git config --global "
                    "user.name NAME, git config --global user.email ADDRESS.");
      }
    }
    return {};
  }

  Result<void> record(std::string_view message) const {
    Git::Words words{"commit",
                     "--quiet",
                     "--no-verify",
                     "--no-gpg-sign",
                     "--cleanup=whitespace",
                     fmt::format("--message={}", message)};
    std::optional<std::string> input;
    if (is_of_files_) {  // not what else is staged
      words.insert(words.end(), {"--only", "--pathspec-from-file=-", "--pathspec-file-nul"});
      input = joined_by_nul(files_);
    }
    TRY(git_.run(std::move(words), std::move(input)));
    return {};
  }

  Result<std::string> report() const {
    TRY_ASSIGN(const std::string place, git_.position());
    TRY_ASSIGN(const std::string subject, git_.run({"log", "-1", "--format=%h %s"}));
    TRY_ASSIGN(const auto names,
               git_.list({"diff-tree",
                          "-r",
                          "--root",
                          "-m",
                          "--first-parent",
                          "--no-commit-id",
                          "--name-status",
                          "--no-renames",
                          "-z",
                          "HEAD"}));
    std::string text =
        fmt::format("committed {} on {}\n", one_line(agent::trimmed(subject), 200), place);
    const std::size_t count = names.size() / 2;
    for (std::size_t at = 0; at < std::min(count, k_most_files_shown); ++at) {
      text += fmt::format("{} {}\n", names[2 * at], one_line(names[2 * at + 1], 400));
    }
    if (count > k_most_files_shown) {
      text += fmt::format("[{} more files]\n", count - k_most_files_shown);
    }
    if (!left_out_.empty()) {
      text += fmt::format("[left out, as tools must not change them: {}]\n", some_of(left_out_));
    }
    TRY_ASSIGN(const bool wants_signature, git_.wants_signatures());
    if (wants_signature) {
      text += "[not signed: commit.gpgSign is set, but errand runs no program that signs]\n";
    }
    return text;
  }

  const CallContext& context_;
  const Git& git_;
  std::vector<std::string> named_;  // from the top
  bool is_of_files_ = false;        // else of what is staged
  std::vector<std::string> files_;
  std::vector<std::string> left_out_;
};

class GitCommit final : public Tool {
 public:
  explicit GitCommit(const agent::ToolSpec& spec)
      : info_{.name = "git_commit",
              .description =
                  "Commits files of the working folder to the current branch of its "
                  "git repository. Hooks do not run, and commits are not signed.",
              .parameters = k_git_commit_parameters,
              .repeatable = spec.repeatable} {}

  const agent::ToolInfo& info() const override { return info_; }

  Access access(const agent::Json& arguments) const override {
    std::vector<std::string> paths = paths_of(arguments);
    if (paths.empty()) {
      return {.kind = Access::Kind::writes, .target = "."};
    }
    Access access{.kind = Access::Kind::writes, .target = paths.front()};
    access.further.assign(paths.begin() + 1, paths.end());
    return access;
  }

  agent::Result<void> check(const agent::Json& /*arguments*/,
                            const CallContext& context) const override {
    return Git::check_place(context);
  }

  agent::Result<void> check_arguments(const agent::Json& arguments) const override {
    if (agent::bool_at(arguments, "all") && agent::find(arguments, "paths") != nullptr) {
      return fail(Code::tool_invalid_parameters,
                  "`all` and `paths` are both given",
                  "Leave one of them out.");
    }
    if (agent::trimmed(agent::text_at(arguments, "message")).empty()) {
      return fail(Code::tool_invalid_parameters, "`message` is blank", "Say what was changed.");
    }
    return {};
  }

  Output call(const agent::Json& arguments, const CallContext& context) override {
    if (const auto fit = check_arguments(arguments); !fit) {
      return failure(fit.error());
    }
    const auto git = Git::open(context);
    if (!git) {
      return failure(git.error());
    }
    auto report = Commit(context, *git).make(arguments);
    return report ? Output{.text = std::move(*report)} : failed_by_git(report.error());
  }

 private:
  agent::ToolInfo info_;
};

}  // namespace

std::unique_ptr<Tool> make_git_commit(const agent::ToolSpec& spec) {
  return std::make_unique<GitCommit>(spec);
}

}  // namespace tools
