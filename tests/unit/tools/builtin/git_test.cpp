// git_commit and git_switch with the system's git and real repositories.
#include "agent/json.h"
#include "tests/unit/tools/process/process_support.h"
#include "tools/builtin/builtins.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using agent::Code;
using agent::Json;
using Catch::Matchers::Contains;
using tools::Output;

namespace {

class Repository {
 public:
  Repository() {
    world_.environment["HOME"] = home_.path().string();
    world_.temporary = scratch_.path();
    sh("git init -q -b main . && git config user.name Tester && git config user.email t@example.com"
       " && echo one >file && git add file && git commit -qm one");
  }

  // Outside of the tools; what it prints.
  std::string sh(const std::string& command) {
    tools::ProgramRequest request{.argv = {"/bin/sh", "-c", command},
                                  .environment = world_.environment,
                                  .cwd = world_.folder.path(),
                                  .temporary = world_.temporary};
    const tools::ProgramResult result = world_.program_runner->run(request, {.stop = {}});
    INFO(result.output.text);
    CHECK(result.has_exited_cleanly());
    return result.output.text;
  }
  Output commit(const Json& arguments) { return call(tools::make_git_commit({}), arguments); }
  Output commit_all() { return commit({{"message", "next"}, {"all", true}}); }
  Output commit_paths(const std::vector<std::string>& paths) {
    return commit({{"message", "next"}, {"paths", paths}});
  }
  Output change_to(const std::string& branch, bool is_new = false) {
    return call(tools::make_git_switch({}), {{"branch", branch}, {"create", is_new}});
  }
  bool has(const std::string& name) const {
    return std::filesystem::exists(world_.folder.path() / name);
  }
  std::string subject() { return sh("git log -1 --format=%s"); }

  std::function<bool(const std::filesystem::path&)> may_read;

 private:
  Output call(std::unique_ptr<tools::Tool> tool, const Json& arguments) {
    tools::CallContext context = world_.context();
    context.git_runner = world_.program_runner.get();
    context.may_read = may_read;
    return tool->call(arguments, context);
  }

  tests::ProcessWorld world_;
  tests::TemporaryFolder home_;
  tests::TemporaryFolder scratch_;
};

void check_refused(const Output& output, const std::string& words, Code code = Code::tool_failed) {
  INFO(output.text);
  CHECK(output.code == code);
  CHECK_THAT(output.message, Contains(words));
}

void check_done(const Output& output, const std::string& words) {
  INFO(output.message);
  CHECK_FALSE(output.code);
  CHECK_THAT(output.text, Contains(words));
}

}  // namespace

TEST_CASE("git_commit: commits the files that are named, and no others", "[tools]") {
  Repository repository;
  repository.sh("echo two >>file; echo x >other; echo y >staged; git add staged");
  check_done(repository.commit_paths({"file"}), "M file\n");
  CHECK(repository.sh("git show --name-only --format=%s") == "next\n\nfile\n");
  CHECK(repository.sh("git status --short") == "A  staged\n?? other\n");
}

TEST_CASE("git_commit: commits everything, but for what .gitignore names", "[tools]") {
  Repository repository;
  repository.sh("echo ignored >.gitignore; echo x >ignored; echo x >new; rm file");
  const Output output = repository.commit_all();
  check_done(output, "A .gitignore\nD file\nA new\n");
  CHECK_THAT(output.text, Contains(" next on main\n"));
  check_refused(repository.commit_all(), "no file has changed");
  check_refused(repository.commit_paths({"ignored"}), "nothing to commit in `ignored`");
}

TEST_CASE("git_commit: commits what is staged where nothing is named", "[tools]") {
  Repository repository;
  repository.sh("echo x >a; echo x >b; git add a");
  check_done(repository.commit({{"message", "# kept\n\nbody"}}), "A a\n");
  CHECK(repository.sh("git log -1 --format=%B") == "# kept\n\nbody\n\n");
  check_refused(repository.commit({{"message", "again"}}), "nothing is staged");
}

TEST_CASE("git_commit: names are names, whatever is in them", "[tools]") {
  Repository repository;
  repository.sh(
      "mkdir -- -d; echo x >'-d/a b'; printf x >\"$(printf 'new\\nline')\"; echo x >'*'; "
      "echo x >:top; echo x >'\"'; echo two >>file");
  check_done(repository.commit_paths({"-d", "new\nline", "*", ":top", "./\""}), "A -d/a b\n");
  CHECK(repository.sh("git status --short") == " M file\n");
}

TEST_CASE("git_commit: thousands of files are one commit", "[tools]") {
  Repository repository;
  repository.sh("for i in $(seq 5000); do echo $i >a-rather-long-name-of-a-file-$i; done");
  check_done(repository.commit_all(), "[4950 more files]");
  CHECK(repository.sh("git ls-files | wc -l") == "5001\n");
}

TEST_CASE("git_commit: what cannot be committed is refused by its name", "[tools]") {
  Repository repository;
  repository.sh(
      "echo two >>file; mkdir -p inner && git init -q inner && touch inner/x; mkdir -p deep; "
      "ln -s / deep/link");
  check_refused(repository.commit_paths({"file", "missing"}), "nothing to commit in `missing`");
  check_refused(
      repository.commit_paths({"../x"}), "outside the working folder", Code::sandbox_violation);
  check_refused(repository.commit_paths({"/etc/passwd"}), "outside", Code::sandbox_violation);
  check_refused(repository.commit_paths({"inner"}), "a repository of its own");
  check_refused(repository.commit_paths({"deep/link/etc/passwd"}), "nothing to commit in");
  check_refused(repository.commit({{"message", " \n"}}), "blank", Code::tool_invalid_parameters);
  check_refused(repository.commit({{"message", "x"}, {"all", true}, {"paths", {"file"}}}),
                "both",
                Code::tool_invalid_parameters);
  CHECK(repository.subject() == "one\n");
  CHECK(repository.sh("git diff --cached --name-only").empty());
}

TEST_CASE("git_commit: a rule that forbids reading a file forbids committing it", "[tools]") {
  Repository repository;
  repository.sh("echo key >secret");
  repository.may_read = [](const std::filesystem::path& file) {
    return file.filename() != "secret";
  };
  check_refused(repository.commit_all(), "forbids reading `secret`", Code::tool_policy_blocked);
}

TEST_CASE("git_commit: says whose name is missing", "[tools]") {
  Repository repository;
  repository.sh("git config --unset user.name; echo two >>file");
  const Output output = repository.commit_all();
  check_refused(output, "whose commits");
  CHECK_THAT(output.suggestion, Contains("user.name"));
  CHECK(repository.sh("git diff --cached --name-only").empty());
}

TEST_CASE("git_commit: what git would run does not run", "[tools]") {
  Repository repository;
  repository.sh(
      "for hook in pre-commit prepare-commit-msg commit-msg post-commit post-index-change "
      "reference-transaction; do printf '#!/bin/sh\\ntouch ran\\nexit 1\\n' "
      ">.git/hooks/$hook; chmod +x .git/hooks/$hook; done; "
      "git config core.fsmonitor 'touch ran;'; git config core.editor 'touch ran;'; "
      "git config commit.gpgSign true; git config gpg.program \"$PWD/.git/hooks/pre-commit\"; "
      "git config log.showSignature true; git config core.pager 'touch ran'; echo two >>file");
  const Output output = repository.commit_all();
  check_done(output, "M file\n");
  CHECK_THAT(output.text, Contains("not signed"));
  CHECK_FALSE(repository.has("ran"));
}

TEST_CASE("git_commit: a file with a filter is refused, and the filter does not run", "[tools]") {
  Repository repository;
  const std::string key = GENERATE("clean", "process");
  repository.sh(
      "echo '*.bin filter=evil' >.gitattributes; echo x >a.bin; git add .; git commit -qm two; "
      "git config filter.evil." +
      key +
      " 'touch ran; cat'; echo xx >a.bin; echo y >b.bin; "
      "echo z >file");
  check_refused(repository.commit_all(), "a filter of git is set for `a.bin`, `b.bin`");
  check_done(repository.commit_paths({"file"}), "M file\n");
  CHECK_FALSE(repository.has("ran"));
}

TEST_CASE("git tools: the first commit of an empty repository", "[tools]") {
  Repository repository;
  repository.sh(
      "rm -rf .git && git init -q -b main . && git config user.name A && git config "
      "user.email a@example.com");
  check_done(repository.change_to("first", true), "made the branch `first`");
  check_done(repository.commit_all(), "next on first\nA file\n");
}

TEST_CASE("git tools: a detached HEAD is said", "[tools]") {
  Repository repository;
  repository.sh("git checkout -q --detach; echo two >>file");
  check_done(repository.commit_all(), "on a detached HEAD at ");
  check_done(repository.change_to("main"), "switched to `main` (from a detached HEAD at ");
}

TEST_CASE("git tools: conflicts are a person's", "[tools]") {
  Repository repository;
  repository.sh(
      "git switch -qc other; echo a >file; git commit -qam a; git switch -q main; "
      "echo b >file; git commit -qam b; git merge -q other || true");
  check_refused(repository.commit_all(), "conflicts in `file`");
  check_refused(repository.change_to("other"), "while merging");
}

TEST_CASE("git tools: another git at work is said", "[tools]") {
  Repository repository;
  repository.sh("echo two >>file; git branch other; touch .git/index.lock");
  for (const Output& output : {repository.commit_all(), repository.change_to("other")}) {
    check_refused(output, "index.lock");
    CHECK_THAT(output.suggestion, Contains("Another git is at work"));
  }
}

TEST_CASE("git tools: the working folder is the top of a repository", "[tools]") {
  Repository repository;
  repository.sh("mv .git elsewhere");
  check_refused(repository.commit_all(), "not the top of a git repository");
  repository.sh("mv elsewhere/* . && rm -rf elsewhere");  // as a bare one
  check_refused(repository.commit_all(), "not the top of a git repository");
}

TEST_CASE("git_commit: another commit of a submodule is committed, and nothing in it runs",
          "[tools]") {
  Repository repository;
  repository.sh(
      "git init -q -b main sub && cd sub && git config user.name A && git config user.email "
      "a@b && touch x && git add x && git commit -qm sub");
  repository.sh(
      "git -c protocol.file.allow=always submodule add -q ./sub part 2>&1 && rm -rf sub && "
      "git commit -qam part && cd part && git config user.name A && git config user.email a@b "
      "&& echo 2 >x && git config core.fsmonitor 'touch ran;' && cd .. && git config "
      "submodule.part.ignore none");
  check_refused(repository.commit_paths({"part"}), "nothing to commit in `part`");
  repository.sh("cd part && git -c core.fsmonitor=false commit -qam two; rm -f ran");
  check_done(repository.commit_paths({"part"}), "M part\n");
  CHECK_FALSE(repository.has("part/ran"));
}

TEST_CASE("git_switch: switches, and makes branches", "[tools]") {
  Repository repository;
  check_done(repository.change_to("new", true), "made the branch `new`");
  repository.sh("echo two >>file");
  check_done(repository.commit_all(), "next on new\n");
  check_done(repository.change_to("main"), "switched to `main` (from new); 1 file changed");
  CHECK(repository.sh("cat file") == "one\n");
  check_refused(repository.change_to("new", true), "already exists");
  const Output missing = repository.change_to("nothing");
  check_refused(missing, "no branch `nothing`");
  CHECK_THAT(missing.suggestion, Contains("main new"));
}

TEST_CASE("git_switch: takes names of branches alone", "[tools]") {
  Repository repository;
  const std::string name =
      GENERATE("-f", "--orphan", "@{-1}", "a..b", "a b", "a\nb", "HEAD^", "x.lock");
  check_refused(repository.change_to(name), "not a name", Code::tool_invalid_parameters);
  check_refused(repository.change_to(name, true), "not a name", Code::tool_invalid_parameters);
}

TEST_CASE("git_switch: keeps what is not committed", "[tools]") {
  Repository repository;
  repository.sh(
      "git switch -qc other; echo two >file; echo x >new; echo i >ignored; git add new ignored; "
      "git commit -qam two; git switch -q main");
  const std::string change =
      GENERATE("echo mine >file", "echo mine >new", "echo ignored >.gitignore; echo mine >ignored");
  repository.sh(change);
  check_refused(repository.change_to("other"), "would be overwritten");
  CHECK_THAT(repository.sh("cat file new ignored 2>/dev/null; true"), Contains("mine"));
}

TEST_CASE("git_switch: a filter of either branch does not run", "[tools]") {
  Repository repository;
  repository.sh(
      "git switch -qc other; echo '*.bin filter=evil' >.gitattributes; echo x >a.bin; "
      "git add .; git commit -qm two; git switch -q main; "
      "git config filter.evil.smudge 'touch ran; cat'");
  check_refused(repository.change_to("other"), "a filter of git is set for `a.bin`");
  CHECK_FALSE(repository.has("ran"));
  CHECK_FALSE(repository.has("a.bin"));
}

TEST_CASE("git_switch: a missing object is not fetched", "[tools]") {
  Repository repository;
  repository.sh(
      "git switch -qc other; echo two >file; git commit -qam two; git switch -q main; "
      "rm -f .git/objects/$(git rev-parse other:file | sed 's,..,&/,'); "
      "git config remote.origin.url ssh://host/x; git config remote.origin.promisor true; "
      "git config remote.origin.partialclonefilter blob:none; "
      "git config core.sshCommand 'touch ran;'");
  check_refused(repository.change_to("other"), "does not have all files");
  CHECK_FALSE(repository.has("ran"));
  CHECK(repository.sh("cat file; git branch --show-current") == "one\nmain\n");
}

TEST_CASE("git tools: a linked worktree and a module are repositories, too", "[tools]") {
  Repository repository;
  const bool is_worktree = GENERATE(true, false);
  repository.sh(is_worktree
                    ? "git config extensions.worktreeConfig true && mkdir main && mv .git main "
                      "&& git -C main worktree add -q ../tree -b new && mv tree/.git . && "
                      "rm -rf tree && git -C main worktree repair .. 2>/dev/null"
                    : "mkdir -p main/modules && mv .git main/modules/it && echo 'gitdir: "
                      "main/modules/it' >.git && git config core.worktree ../../..");
  repository.sh("echo two >>file");
  check_done(repository.commit_paths({"file"}), "M file\n");
}

TEST_CASE("git tools: permissions see the files, and the working folder where none is named",
          "[tools]") {
  const auto tool = tools::make_git_commit({});
  const tools::Access named = tool->access({{"message", "x"}, {"paths", {"a", "b"}}});
  CHECK(named.kind == tools::Access::Kind::writes);
  CHECK(named.target == "a");
  CHECK(named.further == std::vector<std::string>{"b"});
  CHECK(tool->access({{"message", "x"}, {"all", true}}).target == ".");
  CHECK(tool->access({{"paths", {1}}}).target == ".");
  CHECK(tools::make_git_switch({})->access({{"branch", "x"}}).target == ".");
}
