#include "tools/builtin/git.h"

#include "agent/text.h"
#include "tools/feedback.h"
#include "tools/files/regular_file.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>
#include <system_error>
#include <unistd.h>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
namespace fs = std::filesystem;

// In front of every command: what git would run or fetch for it otherwise.
constexpr auto k_settings = std::to_array<std::string_view>({
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=true",
    "core.sshCommand=false",
    "core.alternateRefsCommand=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "commit.status=false",
    "commit.verbose=false",
    "log.showSignature=false",
    "diff.external=",
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "credential.helper=",
    "safe.bareRepository=explicit",
    "user.useConfigOnly=true",
});

// Of the user's environment; nothing else of it comes to git.
constexpr auto k_taken_over = std::to_array<std::string_view>({"GIT_AUTHOR_DATE",
                                                               "GIT_AUTHOR_EMAIL",
                                                               "GIT_AUTHOR_NAME",
                                                               "GIT_COMMITTER_DATE",
                                                               "GIT_COMMITTER_EMAIL",
                                                               "GIT_COMMITTER_NAME",
                                                               "HOME",
                                                               "TZ",
                                                               "XDG_CONFIG_HOME"});

constexpr std::size_t k_most_said = 64u << 20;  // bytes: the names of a million files
constexpr std::size_t k_most_named = 10;        // of files in a message

// Not one that a tool could have put there.
std::string find_git(const CallContext& context) {
  for (const auto part : std::views::split(agent::value_of(context.environment, "PATH"), ':')) {
    const fs::path folder(std::string_view(part.begin(), part.end()));
    std::error_code error;
    const fs::path real = fs::canonical(folder / "git", error);
    if (error || folder.is_relative() || ::access(real.c_str(), X_OK) != 0) {
      continue;
    }
    const auto is_writable = [&](const fs::path& file) {
      return context.policy != nullptr &&
             context.policy->writing(file) != sandbox::Verdict::outside;
    };
    if (!is_writable(real) && !is_writable(fs::canonical(folder, error) / "git")) {
      return (folder / "git").string();
    }
  }
  return {};
}

agent::Environment environment_of(const CallContext& context, const fs::path& top) {
  agent::Environment environment{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                 {"LC_ALL", "C"},
                                 {"GIT_CEILING_DIRECTORIES", top.parent_path().string()},
                                 {"GIT_EDITOR", "true"},
                                 {"GIT_NO_LAZY_FETCH", "1"},
                                 {"GIT_OPTIONAL_LOCKS", "0"},
                                 {"GIT_TERMINAL_PROMPT", "0"}};
  for (const std::string_view name : k_taken_over) {
    if (const auto found = context.environment.find(name); found != context.environment.end()) {
      environment.insert(*found);
    }
  }
  const agent::Environment own = context.git_runner->environment();
  if (const auto temporary = own.find("TMPDIR"); temporary != own.end()) {
    environment.insert(*temporary);
  }
  return environment;
}

std::vector<std::string> split_at(std::string_view text, char end) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, end)) {
    if (std::string_view one(part.begin(), part.end()); !one.empty()) {
      parts.emplace_back(one);
    }
  }
  return parts;
}

// Git's advice speaks to a person with a shell.
std::string words_of(std::string_view errors) {
  std::string words;
  for (const std::string& line : split_at(errors, '\n')) {
    std::string_view rest = line;
    if (rest.starts_with("hint:")) {
      continue;
    }
    for (const std::string_view label : {"fatal: ", "error: "}) {
      rest = rest.starts_with(label) ? rest.substr(label.size()) : rest;
    }
    words += (words.empty() ? "" : "\n") + std::string(rest);
  }
  return words;
}

}  // namespace

std::string joined_by_nul(std::span<const std::string> texts) {
  std::string joined;
  for (const std::string& text : texts) {
    joined += text;
    joined += '\0';
  }
  return joined;
}

std::string some_of(std::span<const std::string> names) {
  std::vector<std::string> shown;
  std::ranges::transform(names.first(std::min(names.size(), k_most_named)),
                         std::back_inserter(shown),
                         [](const std::string& name) { return "`" + one_line(name, 400) + "`"; });
  const std::string more = names.size() > k_most_named
                               ? fmt::format(" and {} more", names.size() - k_most_named)
                               : std::string();
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

Result<void> Git::check_place(const CallContext& context) {
  if (context.policy == nullptr) {
    return {};
  }
  std::error_code error;
  TRY_ASSIGN(const NamedPath name, resolve(".", context));
  return check_verdict(
      context.policy->writing(fs::canonical(context.cwd, error)), "change the repository of", name);
}

Result<Git> Git::open(const CallContext& context) {
  if (context.git_runner == nullptr) {
    return fail(Code::tool_failed, "programs cannot be started here");
  }
  std::error_code error;
  const fs::path top = fs::canonical(context.cwd, error);
  TRY(check_place(context));
  Git git(context);
  git.program_ = find_git(context);
  if (git.program_.empty()) {
    return fail(Code::tool_failed,
                "git is not installed in a folder of PATH that tools cannot write",
                "Say that git has to be installed.");
  }
  git.environment_ = environment_of(context, top);
  git.settings_.assign(k_settings.begin(), k_settings.end());
  TRY_ASSIGN(const Said said, git.ask({"rev-parse", "--show-toplevel", "--absolute-git-dir"}));
  const std::vector<std::string> lines = split_at(said.text, '\n');
  if (said.status != 0 || lines.size() != 2 || fs::path(lines[0]) != top) {
    return fail(Code::tool_failed,
                fmt::format("the working folder is not the top of a git repository{}{}",
                            said.status != 0 ? ": " : "",
                            said.status != 0 ? words_of(said.errors) : ""),
                "It works only where errand was started in the folder that has `.git`; say so.");
  }
  git.folder_ = lines[1];
  TRY(git.switch_filters_off());
  return git;
}

// Looking whether a file has changed may run its filter already.
Result<void> Git::switch_filters_off() {
  TRY_ASSIGN(
      const Said said,
      ask({"config",
           "--null",
           "--name-only",
           "--get-regexp",
           R"(^(filter\..*\.(clean|smudge|process|required)|diff\..*\.(textconv|command))$)"}));
  for (const std::string& key : split_at(said.text, '\0')) {
    if (key.contains('=')) {
      return fail(Code::tool_failed,
                  fmt::format("the setting `{}` of git cannot be switched off", one_line(key)),
                  "Say that its name must not have a `=`.");
    }
    settings_.push_back(key + (key.ends_with(".required") ? "=false" : "="));
  }
  return {};
}

Result<Git::Said> Git::ask(Words arguments, std::optional<std::string> input) const {
  ProgramRequest request{.argv = {program_, "--no-pager", "--literal-pathspecs"},
                         .environment = environment_,
                         .cwd = context_->cwd,
                         .temporary = context_->temporary,
                         .input = std::move(input),
                         .merge_stderr = false,
                         .limits = {.memory = k_most_said, .file = 0}};
  for (const std::string& setting : settings_) {
    request.argv.emplace_back("-c");
    request.argv.push_back(setting);
  }
  std::ranges::move(arguments, std::back_inserter(request.argv));
  ProgramResult result =
      context_->git_runner->run(request, {.stop = context_->stop, .kill = context_->kill});
  if (!result.has_exited_cleanly()) {
    request.argv = {"git"};
    const Output output = failed_end(result, request);
    return fail(output.code.value_or(Code::tool_failed), output.message, output.suggestion);
  }
  if (!result.output.is_whole) {
    return fail(Code::tool_failed,
                fmt::format("git said more than can be looked through: {} bytes",
                            result.output.total_bytes),
                "Name fewer files.");
  }
  return Said{.status = result.exit_status,
              .text = std::move(result.output.text),
              .errors = std::move(result.errors.text)};
}

agent::Error Git::failed(const Said& said) const {
  std::error_code ignored;
  const bool is_locked = fs::exists(folder_ / "index.lock", ignored);
  const std::string words = words_of(said.errors);
  return {.code = Code::tool_failed,
          .message = words.empty() ? fmt::format("git ended with exit status {}", said.status)
                                   : "git: " + words,
          .help = is_locked ? "Another git is at work in this repository, or one has left its "
                              "`index.lock` behind: try again later, or say so."
                            : ""};
}

Result<std::string> Git::run(Words arguments, std::optional<std::string> input) const {
  TRY_ASSIGN(Said said, ask(std::move(arguments), std::move(input)));
  if (said.status != 0) {
    return fail(failed(said));
  }
  return std::move(said.text);
}

Result<std::vector<std::string>> Git::list(Words arguments,
                                           std::optional<std::string> input) const {
  TRY_ASSIGN(const std::string text, run(std::move(arguments), std::move(input)));
  return split_at(text, '\0');
}

Result<void> Git::check_filters(std::span<const std::string> files, bool is_of_index) const {
  if (files.empty()) {
    return {};
  }
  Words words{"check-attr", "--stdin", "-z"};
  if (is_of_index) {
    words.emplace_back("--cached");
  }
  words.emplace_back("filter");
  TRY_ASSIGN(const auto answers, list(std::move(words), joined_by_nul(files)));
  std::vector<std::string> filtered;
  for (std::size_t at = 0; at + 2 < answers.size(); at += 3) {
    const std::string& value = answers[at + 2];  // after the path and the attribute's name
    if (value != "unspecified" && value != "unset") {
      filtered.push_back(answers[at]);
    }
  }
  if (!filtered.empty()) {
    return fail(Code::tool_failed,
                fmt::format("a filter of git is set for {}, which is a program that errand does "
                            "not run",
                            some_of(filtered)),
                "Leave them out; say that a person has to do this with git.");
  }
  return {};
}

Result<bool> Git::wants_signatures() const {
  Git plain = *this;  // without the setting that says no
  plain.settings_.clear();
  TRY_ASSIGN(const Said said,
             plain.ask({"config", "--type=bool", "--default=false", "--get", "commit.gpgSign"}));
  return agent::trimmed(said.text) == "true";
}

Result<std::string> Git::position() const {
  TRY_ASSIGN(const Said branch, ask({"symbolic-ref", "--quiet", "--short", "HEAD"}));
  if (branch.status == 0) {
    return std::string(agent::trimmed(branch.text));
  }
  TRY_ASSIGN(const std::string commit, run({"rev-parse", "--short", "HEAD"}));
  return fmt::format("a detached HEAD at {}", agent::trimmed(commit));
}

fs::path Git::temporary() const {
  const std::string_view folder = agent::value_of(environment_, "TMPDIR");
  std::error_code ignored;
  fs::create_directories(context_->temporary, ignored);
  return folder.empty() ? context_->temporary : fs::path(folder);
}

Git Git::with_index(const fs::path& index) const {
  Git other = *this;
  other.environment_.insert_or_assign("GIT_INDEX_FILE", index.string());
  return other;
}

Output failed_by_git(const agent::Error& error) {
  Output output = failure(error);
  output.is_fatal = error.code == Code::os_failed;
  return output;
}

}  // namespace tools
