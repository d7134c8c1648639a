#include "tools/sandbox/protected_files.h"

#include "tests/support/few_descriptors.h"
#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using tools::sandbox::ProtectedChange;
using tools::sandbox::ProtectedFiles;
using tools::sandbox::Sight;
using Outcome = ProtectedChange::Outcome;

namespace {

// A workspace with a repository that has a module, and an agent beside the one that runs.
class Project {
 public:
  explicit Project(std::vector<std::string> allowed = {}) {
    for (const char* name : {".git/hooks",
                             ".git/objects/ab",
                             ".git/refs/heads",
                             ".git/modules/a/b/objects",
                             ".git/modules/a/b/refs",
                             "module"}) {
      fs::create_directories(at(name));
    }
    write(".git/hooks/pre-commit", "good");
    write(".git/config", "[core]");
    write(".git/HEAD", "ref: refs/heads/main");
    write(".git/modules/a/b/HEAD", "ref: refs/heads/main");
    write(".git/modules/a/b/config", "[core]\n\tworktree = ../../../../module\n");
    write("module/.git", "gitdir: ../.git/modules/a/b");
    write("errand.yaml", "another");
    std::vector<fs::path> paths;
    for (const std::string& name : allowed) {
      paths.push_back(at(name));
    }
    files_ = std::make_unique<ProtectedFiles>(
        ProtectedFiles::Options{.roots = {root()},
                                .tops = {root()},
                                .files = {at("ci/deploy.sh"), at("own.yaml"), at("way/of/c.sh")},
                                .crossed = {at("ci")},
                                .allowed = paths});
    REQUIRE(files_->begin());
  }

  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path at(const std::string& name) const { return root() / name; }
  std::string text(const std::string& name) const { return tests::read_text(at(name)); }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(at(name)) << content;
  }
  void run(const std::string& script) const {
    REQUIRE(std::system(fmt::format("cd '{}' && {}", root().string(), script).c_str()) == 0);
  }
  int mode_of(const std::string& name) const {
    return static_cast<int>(fs::symlink_status(at(name)).permissions());
  }
  // Scripts below the top, from the next begin on.
  void add_scripts() const {
    end();
    for (const char* name : {"ci", "src", "way/of"}) {
      fs::create_directories(at(name));
    }
    write("ci/deploy.sh", "good");
    write("src/deploy.sh", "of the work");
    write("way/of/c.sh", "good");
    run("chmod 750 ci/deploy.sh && chmod 640 way/of/c.sh && chmod 710 ci && chmod 700 way way/of");
  }
  ProtectedFiles& files() const { return *files_; }
  // "NAME: outcome" of each change, sorted.
  std::vector<std::string> end(bool have_mounts_held = false) const {
    return told(files_->end(have_mounts_held).changes);
  }
  std::vector<std::string> told(const std::vector<ProtectedChange>& changes) const {
    std::vector<std::string> all;
    for (const ProtectedChange& change : changes) {
      const char* const outcome = change.outcome == Outcome::put_back      ? "put back"
                                  : change.outcome == Outcome::moved_aside ? "moved"
                                  : change.outcome == Outcome::stays       ? "stays"
                                                                           : "noticed";
      all.push_back(change.path.lexically_relative(root()).string() + ": " + outcome);
    }
    std::ranges::sort(all);
    return all;
  }
  using Told = std::vector<std::string>;

 private:
  tests::TemporaryFolder folder_;
  std::unique_ptr<ProtectedFiles> files_;
};

}  // namespace

TEST_CASE("protected files: work that is nobody's business is not mentioned", "[tools]") {
  const Project project;
  project.write("main.cpp", "int main() {}");
  project.write("agent.yaml.untrusted", "x");
  fs::create_directories(project.at("src/agent.yaml"));
  fs::last_write_time(project.at(".git/config"), fs::file_time_type::clock::now());
  CHECK(project.end().empty());
}

TEST_CASE("protected files: what was changed is put back, what was found stands beside it",
          "[tools]") {
  const Project project;
  project.write(".git/config", "evil");
  fs::remove(project.at(".git/hooks/pre-commit"));
  project.write(".git/modules/a/b/config", "evil");
  project.write("module/.git", "gitdir: ../evil");
  project.write("errand.yaml", "evil");
  CHECK(project.end() == Project::Told{".git/config: put back",
                                       ".git/hooks: put back",
                                       ".git/modules/a/b/config: put back",
                                       "errand.yaml: put back",
                                       "module/.git: put back"});
  CHECK(project.text(".git/config") == "[core]");
  CHECK(project.text(".git/config.untrusted") == "evil");
  CHECK(project.text(".git/hooks/pre-commit") == "good");
  CHECK(fs::is_directory(project.at(".git/hooks.untrusted")));
  CHECK(project.text("module/.git") == "gitdir: ../.git/modules/a/b");
  CHECK(project.text("errand.yaml.untrusted") == "evil");
  REQUIRE(project.files().begin());
  CHECK(project.end().empty());
}

TEST_CASE("protected files: what was made is given another name, again and again", "[tools]") {
  const Project project;
  for (const char* name : {"agent.yaml",
                           "a.test.yaml",
                           "x.yaml.mcp-lock.json",
                           "AGENT.MD",
                           ".git/commondir",
                           "own.yaml"}) {
    project.write(name, "evil");
  }
  project.write("agent.yaml.untrusted", "taken");
  fs::create_directories(project.at(".errand/deep"));
  fs::create_symlink("/etc/passwd", project.at("agent.yml"));
  CHECK(project.end() == Project::Told{".errand: moved",
                                       ".git/commondir: moved",
                                       "AGENT.MD: moved",
                                       "a.test.yaml: moved",
                                       "agent.yaml: moved",
                                       "agent.yml: moved",
                                       "own.yaml: moved",
                                       "x.yaml.mcp-lock.json: moved"});
  CHECK(project.text("agent.yaml.untrusted") == "taken");
  CHECK(project.text("agent.yaml.untrusted.2") == "evil");
  CHECK_FALSE(fs::exists(project.at(".errand")));
}

TEST_CASE("protected files: a repository in the place of another gives way to that", "[tools]") {
  const Project project;
  fs::rename(project.at(".git"), project.at("moved"));
  const bool is_link = GENERATE(false, true);
  if (is_link) {
    fs::create_directory_symlink(project.at("moved"), project.at(".git"));
  } else {
    fs::create_directories(project.at(".git/hooks"));
    project.write(".git/hooks/post-merge", "evil");
  }
  project.write("moved/config", "evil");
  CHECK(project.end() == Project::Told{".git/config: put back", ".git: put back"});
  CHECK(project.text(".git/config") == "[core]");
  CHECK(project.text(".git/hooks/pre-commit") == "good");
  CHECK_FALSE(fs::exists(project.at(".git/hooks/post-merge")));
  CHECK_FALSE(fs::exists(project.at("moved")));
}

TEST_CASE("protected files: modes do not keep anything from being put back", "[tools]") {
  const Project project;
  project.write(".git/config", "evil");
  REQUIRE(::chmod(project.at(".git/hooks").c_str(), 0) == 0);
  REQUIRE(::chmod(project.at(".git").c_str(), 0) == 0);
  const auto told = project.end();
  CHECK(std::ranges::find(told, ".git/config: put back") != told.end());
  CHECK(std::ranges::find(told, ".git: put back") != told.end());
  CHECK(project.text(".git/config") == "[core]");
  CHECK(project.text(".git/hooks/pre-commit") == "good");
}

TEST_CASE("protected files: what stands where a folder led to what is kept gives way to that",
          "[tools]") {
  const auto [by, told] = GENERATE(table<std::string, Project::Told>({
      {"rm -r ci; ln -s src ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"rm -r ci; ln -s \"$PWD/src\" ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"rm -r ci; ln -s nowhere ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"rm -r ci; ln -s ci ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"rm -r ci; mkfifo ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"mv ci cj; ln -s cj ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"mv ci cj; echo >ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"mkdir ci.untrusted; mv ci cj; echo >ci", {"ci/deploy.sh: put back", "ci: moved"}},
      {"mv ci cj", {"ci/deploy.sh: put back"}},
      {"rm -r ci; mkdir -m 710 ci", {"ci/deploy.sh: put back"}},
      {"chmod 0 ci", {"ci: put back"}},
      {"rm -r way; ln -s ci way", {"way/of/c.sh: put back", "way: moved"}},
      {"rm -r way/of; ln -s ../src way/of", {"way/of/c.sh: put back", "way/of: moved"}},
      {"mv way was; mkdir -m 700 way; ln -s ../src way/of",
       {"way/of/c.sh: put back", "way/of: moved"}},
      {"mv way was; mkdir -m 700 way; echo >way/of", {"way/of/c.sh: put back", "way/of: moved"}},
      {"rm -r way/of; ln -s ../src way/of; mv way was; ln -s was way",
       {"way/of/c.sh: put back", "way: moved"}},
      {"rm -r way/of; mkfifo way/of; chmod 0 way",
       {"way/of/c.sh: put back", "way/of: moved", "way: put back"}},
      {"rm -r ci way; ln -s src ci; ln -s src way",
       {"ci/deploy.sh: put back", "ci: moved", "way/of/c.sh: put back", "way: moved"}},
  }));
  CAPTURE(by);
  const Project project;
  project.add_scripts();
  REQUIRE(project.files().begin());
  project.run(by);
  CHECK(project.end() == told);
  CHECK(project.text("ci/deploy.sh") == "good");
  CHECK(project.text("way/of/c.sh") == "good");
  CHECK(project.text("src/deploy.sh") == "of the work");
  CHECK(std::distance(fs::directory_iterator(project.at("src")), fs::directory_iterator()) == 1);
  const std::vector<int> modes{project.mode_of("ci/deploy.sh"),
                               project.mode_of("way/of/c.sh"),
                               project.mode_of("ci"),
                               project.mode_of("way")};
  CHECK(modes == std::vector<int>{0750, 0640, 0710, 0700});
  REQUIRE(project.files().begin());
  CHECK(project.end().empty());
}

TEST_CASE("protected files: a module comes back to its place, and through no link", "[tools]") {
  const auto [by, told] = GENERATE(table<std::string, Project::Told>({
      {"mv .git/modules was; ln -s ../was .git/modules",
       {".git/modules/a/b: put back", ".git/modules: moved"}},
      {"mv .git/modules was", {".git/modules/a/b: put back"}},
      {"mkdir src; mv .git/modules/a/b was; rm -r .git/modules/a; ln -s ../../src .git/modules/a",
       {".git/modules/a/b: put back", ".git/modules/a: moved"}},
  }));
  CAPTURE(by);
  const Project project;
  project.run(by);
  CHECK(project.end() == told);
  CHECK(project.text(".git/modules/a/b/HEAD") == "ref: refs/heads/main");
  CHECK_FALSE(fs::exists(project.at("src/b")));
  REQUIRE(project.files().begin());
  CHECK(project.end().empty());
}

TEST_CASE("protected files: what comes back with a folder is not put back again", "[tools]") {
  const Project project;
  project.end();
  fs::create_directories(project.at(".errand"));
  project.write(".errand/guard.sh", "good");
  ProtectedFiles files({.roots = {project.root()},
                        .tops = {project.root()},
                        .files = {project.at(".errand/guard.sh")},
                        .crossed = {},
                        .allowed = {}});
  REQUIRE(files.begin());
  project.run("mkdir src && rm -r .errand && ln -s src .errand");
  CHECK(project.told(files.end(false).changes) ==
        Project::Told{".errand: moved", ".errand: put back"});
  CHECK(project.text(".errand/guard.sh") == "good");
  CHECK_FALSE(fs::exists(project.at(".errand/guard.sh.untrusted")));
}

TEST_CASE("protected files: a folder that was shut over what is kept is opened again", "[tools]") {
  const Project project;
  project.add_scripts();
  REQUIRE(project.files().begin(true));
  project.run("chmod 0 ci");
  CHECK(project.end(true) == Project::Told{"ci: put back"});
  CHECK(project.mode_of("ci") == 0710);
  project.run("chmod 311 ci");  // by the user
  REQUIRE(project.files().begin(true));
  CHECK(project.end(true).empty());
  project.run("chmod 700 ci");
}

TEST_CASE("protected files: a repository that is gone cannot be put back, and that is said",
          "[tools]") {
  const Project project;
  fs::remove_all(project.at(".git"));
  const auto told = project.end();
  CHECK(std::ranges::find(told, ".git: stays") != told.end());
}

TEST_CASE("protected files: a repository where none was, also one without .git", "[tools]") {
  const Project project;
  fs::remove_all(project.at(".git"));
  fs::remove_all(project.at("module"));
  project.end();
  fs::remove_all(project.at(".git"));  // the settings that were put back
  REQUIRE(project.files().begin());
  SECTION("by its usual name") {
    fs::create_directories(project.at(".git/objects"));
    CHECK(project.end() == Project::Told{".git: moved"});
    CHECK(fs::exists(project.at(".git.untrusted/objects")));
  }
  SECTION("bare, in the folder itself") {
    fs::create_directories(project.at("objects"));
    fs::create_directories(project.at("refs"));
    project.write("HEAD", "ref: refs/heads/main");
    const auto told = project.end();
    CHECK(std::ranges::find(told, "HEAD: moved") != told.end());
    CHECK_FALSE(fs::exists(project.at("HEAD")));
  }
}

TEST_CASE("protected files: objects, refs and the index are noticed and stay", "[tools]") {
  const Project project;
  project.write(".git/refs/heads/main", "0123");
  CHECK(project.end() == Project::Told{".git: noticed"});
  CHECK(project.text(".git/refs/heads/main") == "0123");
}

TEST_CASE("protected files: a lock that was left in git's folder is noticed", "[tools]") {
  const std::string name = GENERATE(
      as<std::string>(), "index.lock", "HEAD.lock", "packed-refs.lock", "refs/heads/main.lock");
  const Project project;
  project.write(".git/" + name, "");
  CHECK(project.end() == Project::Told{".git: noticed"});
  CHECK(fs::exists(project.at(".git") / name));
}

TEST_CASE("protected files: what git has of a rebase or merge is no data", "[tools]") {
  const Project project;
  project.end();
  fs::create_directories(project.at(".git/rebase-merge"));
  project.write(".git/rebase-merge/git-rebase-todo", "pick 1");
  fs::create_directories(project.at(".git/worktrees/w/sequencer"));
  project.write(".git/worktrees/w/sequencer/todo", "pick 2");
  REQUIRE(project.files().begin());
  project.write(".git/rebase-merge/git-rebase-todo", "exec evil");
  project.write(".git/worktrees/w/sequencer/todo", "exec evil");
  for (const char* made : {"BISECT_RUN", "MERGE_HEAD", "modules/a/b/NEVER_HEARD_OF", "modules/c"}) {
    project.write(std::string(".git/") + made, "evil");
  }
  CHECK(project.end() == Project::Told{".git/BISECT_RUN: moved",
                                       ".git/MERGE_HEAD: moved",
                                       ".git/modules/a/b/NEVER_HEARD_OF: moved",
                                       ".git/modules/c: moved",
                                       ".git/rebase-merge: put back",
                                       ".git/worktrees/w/sequencer: put back"});
  CHECK(project.text(".git/rebase-merge/git-rebase-todo") == "pick 1");
  CHECK(project.text(".git/worktrees/w/sequencer/todo") == "pick 2");
}

TEST_CASE("protected files: what a commit writes is data, and a link in its place is none",
          "[tools]") {
  const Project project;
  fs::create_directories(project.at(".git/logs/refs/heads"));
  fs::create_directories(project.at(".git/objects/info/commit-graphs"));
  for (const char* name :
       {"COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "packed-refs", "index.lock", "logs/HEAD"}) {
    project.write(std::string(".git/") + name, "x");
  }
  CHECK(project.end() == Project::Told{".git: noticed"});
  REQUIRE(project.files().begin());
  for (const char* name : {"COMMIT_EDITMSG", "ORIG_HEAD", "logs/refs/heads/main"}) {
    fs::remove(project.at(std::string(".git/") + name));
  }
  fs::create_symlink("../.bashrc", project.at(".git/COMMIT_EDITMSG"));
  fs::create_symlink("../../../.bashrc", project.at(".git/logs/refs/heads/main"));
  fs::create_hard_link(project.at(".git/config"), project.at(".git/ORIG_HEAD"));
  CHECK(project.end() == Project::Told{".git/COMMIT_EDITMSG: moved",
                                       ".git/ORIG_HEAD: moved",
                                       ".git/logs/refs/heads/main: moved",
                                       ".git: noticed"});
}

TEST_CASE("protected files: an index that names more than the work is moved", "[tools]") {
  const Project project;
  const auto index_of = [](std::string_view name) {
    const std::string bytes = std::string("DIRC\0\0\0\2\0\0\0\1", 12) + std::string(61, '\0') +
                              static_cast<char>(name.size()) + std::string(name);
    return bytes + std::string(8 - (bytes.size() - 12) % 8, '\0') + std::string(20, 'h');
  };
  project.write(".git/index", index_of("a/.gitignore"));
  CHECK(project.end() == Project::Told{".git: noticed"});
  for (const char* name : {".git/hooks/x", "a/.GIT/x", "../x", "/etc/x", "a//x", "a/./x"}) {
    REQUIRE(project.files().begin());
    project.write(".git/index", index_of(name));
    const auto told = project.end();
    CHECK(std::ranges::find(told, ".git/index: moved") != told.end());
    CHECK_FALSE(fs::exists(project.at(".git/index")));
  }
  project.write(".git/index", index_of("../the user's own"));
  REQUIRE(project.files().begin());
  project.write(".git/index", index_of("../of a program"));
  CHECK(project.end() == Project::Told{".git: noticed"});
}

TEST_CASE("protected files: a module whose .git is its own is kept, and one nobody knew is moved",
          "[tools]") {
  const Project project;
  const std::string add =
      "git update-index --add --cacheinfo "
      "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,";
  CHECK(project.end().empty());
  project.run("git init -q libs/sub && git init -q vendor && " + add + "libs/sub");
  REQUIRE(project.files().begin());
  project.run(
      "git -C libs/sub config core.fsmonitor evil && git -C vendor config core.fsmonitor evil");
  CHECK(project.end() == Project::Told{"libs/sub/.git/config: put back"});
  CHECK_FALSE(project.text("libs/sub/.git/config").contains("evil"));
  REQUIRE(project.files().begin());
  project.run(add + "vendor");
  CHECK(project.end() == Project::Told{".git: noticed", "vendor/.git: moved"});
}

TEST_CASE("protected files: git itself goes on with what it has of a merge", "[tools]") {
  const Project project;
  project.write(".git/MERGE_HEAD", "0123");
  ProtectedFiles files({.roots = {project.root()},
                        .tops = {project.root()},
                        .files = {},
                        .crossed = {},
                        .allowed = {},
                        .is_for_git = true});
  REQUIRE(files.begin());
  fs::remove(project.at(".git/MERGE_HEAD"));
  project.write(".git/config", "evil");
  CHECK(project.told(files.end(false).changes) == Project::Told{".git/config: put back"});
}

TEST_CASE("protected files: behind mounts that held, changes are the user's own", "[tools]") {
  const Project project;
  project.write(".git/config", "by the user");
  project.write("errand.yaml", "evil");
  CHECK(project.end(true) == Project::Told{"errand.yaml: put back"});
  CHECK(project.text(".git/config") == "by the user");
  REQUIRE(project.files().begin());
  project.add_scripts();
  REQUIRE(project.files().begin(true));
  project.run("mv ci cj; echo >ci");
  CHECK(project.end(true).empty());
  CHECK(fs::is_regular_file(project.at("ci")));
}

TEST_CASE("protected files: where mounts are lost, what is as it was is not mentioned", "[tools]") {
  const Project project;
  CHECK(project.end().empty());
  fs::create_directories(project.at(".git/objects/cd"));  // it has to be looked at anew
  REQUIRE(project.files().begin(true));
  CHECK(project.end(false).empty());
  fs::create_directories(project.at(".git/worktrees"));
  REQUIRE(project.files().begin(true));
  project.write(".git/config", "evil");
  CHECK(project.end(false) == Project::Told{".git/config: put back"});
}

TEST_CASE("protected files: what the user changes between calls stays, and is what counts",
          "[tools]") {
  const Project project;
  CHECK(project.end().empty());
  project.write(".git/config", "by the user");
  REQUIRE(project.files().begin());
  CHECK(project.end().empty());
  REQUIRE(project.files().begin());
  project.write(".git/config", "evil");
  CHECK(project.end() == Project::Told{".git/config: put back"});
  CHECK(project.text(".git/config") == "by the user");
}

TEST_CASE("protected files: of calls side by side, the state before the first counts", "[tools]") {
  const Project project;
  project.write(".git/config", "evil");
  REQUIRE(project.files().begin());  // a second call, after the first has changed something
  CHECK(project.end() == Project::Told{".git/config: put back"});
  CHECK(project.end().empty());
  CHECK(project.text(".git/config") == "[core]");
}

TEST_CASE("protected files: what is named may be changed, and nothing beside it", "[tools]") {
  const Project project({".git/hooks", "new.test.yaml"});
  project.write(".git/hooks/pre-commit", "new");
  project.write("new.test.yaml", "new");
  project.write(".git/config", "evil");
  CHECK(project.end() == Project::Told{".git/config: put back"});
  CHECK(project.text(".git/hooks/pre-commit") == "new");
}

TEST_CASE("protected files: another place for mounts is another number", "[tools]") {
  const Project project;
  CHECK(project.end().empty());
  const auto before = project.files().begin().value();
  project.end();
  CHECK(project.files().begin().value() == before);
  project.end();
  fs::rename(project.at(".git"), project.at("was"));
  fs::create_directories(project.at(".git"));
  CHECK(project.files().begin().value() != before);
}

TEST_CASE("protected files: a sweep finds what was made deep below, and only that", "[tools]") {
  const Project project;
  fs::create_directories(project.at("old/.git"));
  fs::create_directories(project.at("bare/objects"));
  fs::create_directories(project.at("bare/refs"));
  fs::create_directories(project.at("moved/module"));
  project.write("bare/HEAD", "ref: refs/heads/main");
  project.write("moved/module/.git", "gitdir: ../.git/modules/b");
  project.write("old/as_it_was.test.yaml", "one");
  project.write("old/another.test.yaml", "one");
  REQUIRE(project.files().survey());
  project.write("bare/HEAD.new", "ref: refs/heads/other");
  fs::rename(project.at("bare/HEAD.new"), project.at("bare/HEAD"));
  fs::rename(project.at("moved"), project.at("elsewhere"));
  fs::remove(project.at("old/as_it_was.test.yaml"));
  project.write("old/as_it_was.test.yaml", "one");
  project.write("old/another.test.yaml", "two");
  fs::create_directories(project.at("a/b/.git/hooks"));
  fs::create_directories(project.at("c/objects"));
  fs::create_directories(project.at("c/refs"));
  project.write("c/HEAD", "ref: refs/heads/main");
  fs::create_directories(project.at("d"));
  project.write("d/HEAD", "ref: refs/heads/main");
  project.write("d/commondir", "../x");
  project.write("a/.errand", "x");
  project.write("a/new.test.yaml", "x");
  fs::create_directories(project.at("a/folder.test.yaml"));
  const auto sweep = project.files().sweep();
  CHECK(sweep.is_whole);
  CHECK(project.told(sweep.changes) == Project::Told{"a/.errand: moved",
                                                     "a/b/.git: moved",
                                                     "a/new.test.yaml: moved",
                                                     "c/HEAD: moved",
                                                     "d/HEAD: moved",
                                                     "elsewhere/module/.git: moved",
                                                     "old/another.test.yaml: noticed"});
  CHECK(fs::exists(project.at("old/.git")));
}

TEST_CASE("protected files: a sweep finds locks that are others, new or gone", "[tools]") {
  const Project project;
  fs::create_directories(project.at("deep"));
  for (const char* name : {"kept", "changed", "lost"}) {
    project.write(std::string("deep/") + name + ".yaml.mcp-lock.json", "one");
  }
  REQUIRE(project.files().survey());
  project.write("deep/changed.yaml.mcp-lock.json", "two");
  fs::remove(project.at("deep/lost.yaml.mcp-lock.json"));
  project.write("deep/made.yaml.mcp-lock.json", "new");
  CHECK(project.told(project.files().sweep().changes) ==
        Project::Told{"deep/changed.yaml.mcp-lock.json: noticed",
                      "deep/lost.yaml.mcp-lock.json: noticed",
                      "deep/made.yaml.mcp-lock.json: moved"});
  CHECK(project.files().sweep().changes.empty());
}

TEST_CASE("protected files: a sweep takes what was made anew at an old place", "[tools]") {
  const Project project;
  fs::create_directories(project.at("old/.git"));
  REQUIRE(project.files().survey());
  fs::rename(project.at("old/.git"), project.at("old/was"));
  fs::create_directories(project.at("old/.git"));
  CHECK(project.told(project.files().sweep().changes) == Project::Told{"old/.git: moved"});
}

TEST_CASE("protected files: a sweep looks into folders that are shut, and shuts them again",
          "[tools]") {
  const Project project;
  REQUIRE(project.files().survey());
  fs::create_directories(project.at("a/b/c/.git"));
  for (const char* name : {"a/b/c", "a/b", "a"}) {
    fs::permissions(project.at(name), fs::perms(name == std::string("a") ? 0311 : 0));
  }
  const auto sweep = project.files().sweep();
  CHECK(sweep.is_whole);
  CHECK(project.told(sweep.changes) == Project::Told{"a/b/c/.git: moved"});
  CHECK(fs::status(project.at("a")).permissions() == fs::perms(0311));
  fs::permissions(project.at("a"), fs::perms::owner_all);
  CHECK(fs::status(project.at("a/b")).permissions() == fs::perms::none);
  fs::permissions(project.at("a/b"), fs::perms::owner_all);
  fs::permissions(project.at("a/b/c"), fs::perms::owner_all);
}

TEST_CASE("protected files: what is too deep for a sweep is said", "[tools]") {
  const Project project;
  REQUIRE(project.files().survey());
  fs::path deep = project.root();
  for (int level = 0; level < 600; ++level) {
    deep /= "d";
  }
  fs::create_directories(deep);
  CHECK_FALSE(project.files().sweep().is_whole);
}

TEST_CASE("protected files: a mount does not hold a file that has another name", "[tools]") {
  const Project project;
  project.end();
  fs::create_hard_link(project.at(".git/config"), project.at("notes"));
  REQUIRE(project.files().begin(true));
  project.write("notes", "evil");
  CHECK(project.end(true) == Project::Told{".git/config: put back"});
  CHECK(project.text(".git/config") == "[core]");
}

TEST_CASE("protected files: behind mounts, what is obeyed and comes to be there is moved",
          "[tools]") {
  const Project project;
  project.end();
  REQUIRE(project.files().begin(true));
  project.write("own.yaml", "evil");
  CHECK(project.end(true) == Project::Told{"own.yaml: moved"});
}

TEST_CASE("protected files: who protects the same shares what was there before", "[tools]") {
  const Project project;
  CHECK(project.end().empty());
  tools::sandbox::SharedProtection shared;
  const ProtectedFiles::Options options = project.files().options();
  const auto one = shared.of(options, {});
  const auto other = shared.of(options, {});
  CHECK(one == other);
  ProtectedFiles::Options more = options;
  more.allowed.push_back(project.at(".git"));
  CHECK(shared.of(more, {}) != one);
  REQUIRE(one->begin());
  project.write("agent.md", "evil");
  REQUIRE(other->begin());  // the file that the one has made is no state from before for the other
  CHECK(project.told(one->end(false).changes) == Project::Told{"agent.md: moved"});
  CHECK(other->end(false).changes.empty());
  REQUIRE(one->survey());
  fs::create_directories(project.at("deep/.git"));
  REQUIRE(other->survey());
  CHECK(project.told(other->sweep().changes) == Project::Told{"deep/.git: moved"});
}

namespace {

// What is found after a kill of the process whose tools were at work, and `meanwhile`.
template <typename Meanwhile>
std::vector<std::string> told_after_kill(const Project& project,
                                         Meanwhile&& meanwhile,
                                         bool has_mounts = true) {
  const tests::TemporaryFolder kept;
  std::uint64_t number = 0;
  project.files().end(false);
  REQUIRE(project.files().survey());
  REQUIRE(project.files().begin());
  auto survey = project.files().surveyed_since(number);
  survey->has_mounts = has_mounts;
  tools::sandbox::keep_survey(*survey, kept.path(), 1);
  CHECK_FALSE(project.files().surveyed_since(number));
  meanwhile();
  Sight sight;
  const auto surveys = tools::sandbox::read_surveys(kept.path(), sight);
  REQUIRE(surveys.size() == 1);
  return project.told(ProtectedFiles::sweep_after_kill(surveys.front()).changes);
}

}  // namespace

TEST_CASE("protected files: what a process has left that was killed is found", "[tools]") {
  const Project project;
  fs::create_directories(project.at("old/.git"));
  fs::create_directories(project.at("old/.errand"));
  project.write("old/.errand/config.yaml", "one");
  project.write("old/a\xff.test.yaml", "one");
  project.write("old/b.test.yaml", "one");
  CHECK(told_after_kill(project,
                        [&] {
                          fs::create_directories(project.at("new/.git"));
                          fs::create_directories(project.at(".errand"));
                          project.write("own.yaml", "evil");
                          project.write("errand.yaml", "evil");
                          project.write("old/b.test.yaml", "two");
                          fs::remove_all(project.at("old/.errand/config.yaml"));
                          fs::rename(project.at("old/.git"), project.at("old/was"));
                          fs::create_directories(project.at("old/.git"));
                        }) == Project::Told{".errand: moved",
                                            "errand.yaml: noticed",
                                            "new/.git: moved",
                                            "old/.errand/config.yaml: noticed",
                                            "old/.git: moved",
                                            "old/b.test.yaml: noticed",
                                            "own.yaml: moved"});
  const Project another;
  CHECK(told_after_kill(another, [] {}).empty());
}

TEST_CASE("protected files: after a kill, folders that were shut or replaced are told", "[tools]") {
  const Project project;
  project.add_scripts();
  REQUIRE(project.files().begin());
  CHECK(told_after_kill(
            project, [&] { project.run("chmod 0 .git ci; rm -r way; ln -s src way"); }, false) ==
        Project::Told{".git: put back", "ci: put back", "way/of/c.sh: noticed", "way: moved"});
  CHECK(project.mode_of("ci") == 0700);
}

TEST_CASE("protected files: without mounts, what was changed is moved after a kill", "[tools]") {
  const Project project;
  fs::create_directories(project.at("old"));
  project.write("own.yaml", "mine");
  project.write("errand.yaml", "mine");
  project.write("old/b.test.yaml", "one");
  CHECK(told_after_kill(
            project,
            [&] {
              project.write("own.yaml", "evil");
              fs::remove_all(project.at("errand.yaml"));
              project.write("old/b.test.yaml", "two");
            },
            false) ==
        Project::Told{"errand.yaml: noticed", "old/b.test.yaml: noticed", "own.yaml: moved"});
}

TEST_CASE("protected files: what was put back is no other one after a kill", "[tools]") {
  const Project project({"allowed"});
  project.end();
  fs::create_directories(project.at(".errand"));
  project.write(".errand/config.yaml", "one");
  REQUIRE(project.files().survey());
  REQUIRE(project.files().begin());
  fs::remove_all(project.at(".errand"));
  CHECK(project.end() == Project::Told{".errand: put back"});
  REQUIRE(project.files().begin());
  CHECK(told_after_kill(project, [&] {
          fs::create_directories(project.at("allowed/.git"));
        }).empty());
}

TEST_CASE("protected files: a survey is taken once, of the folders that it is of", "[tools]") {
  const tests::TemporaryFolder kept;
  const tests::TemporaryFolder work;
  const fs::path root = work.path() / "a";
  fs::create_directory(root);
  Sight sight;
  const auto taken = [&] {
    const std::size_t count = tools::sandbox::read_surveys(kept.path(), sight).size();
    CHECK(tools::sandbox::read_surveys(kept.path(), sight).size() == count);
    tools::sandbox::forget_surveys(kept.path());
    return count;
  };
  CHECK_FALSE(tools::sandbox::has_surveys(kept.path(), sight));
  tools::sandbox::keep_survey({.roots = {root}}, kept.path(), 1);
  tools::sandbox::keep_survey({.roots = {root}}, kept.path(), 2);
  CHECK(tools::sandbox::has_surveys(kept.path(), sight));
  CHECK(taken() == 2);
  CHECK(taken() == 0);
  tools::sandbox::keep_survey({.roots = {root}}, kept.path(), 1);
  fs::rename(root, work.path() / "was");
  fs::create_directory(root);  // has its name and another number
  CHECK(taken() == 0);
  tools::sandbox::keep_survey({.roots = {root}}, kept.path(), 1);
  tools::sandbox::forget_survey(kept.path(), 1);
  CHECK(fs::is_empty(kept.path()));
  std::ofstream(kept.path() / "survey-1") << "none";
  CHECK(::mkfifo((kept.path() / "survey-2").c_str(), 0600) == 0);
  CHECK(taken() == 0);
  CHECK(fs::is_empty(kept.path()));
}

namespace {

constexpr int k_enough = 12;

bool has_untrusted(const fs::path& root) {
  return std::ranges::any_of(fs::recursive_directory_iterator(root), [](const auto& entry) {
    return entry.path().native().contains(".untrusted");
  });
}

}  // namespace

TEST_CASE("protected files: what cannot be looked at is not taken for changed", "[tools]") {
  for (int count = 0; count < k_enough; ++count) {
    const Project project;
    project.end();
    project.write("a.test.yaml", "one");
    REQUIRE(project.files().survey());
    REQUIRE(project.files().begin());
    const auto end = [&] {
      const tests::FewDescriptors few(count);
      return project.files().end(false);
    }();
    CAPTURE(count);
    CHECK(project.told(end.changes).empty());
    CHECK((count > 0 || end.trouble));
    CHECK((count < k_enough - 1 || !end.trouble));
    CHECK((!end.trouble || end.trouble->code == agent::Code::os_failed));
    CHECK((!end.trouble || end.trouble->message.starts_with("cannot look at `/")));
    const auto sweep = [&] {
      const tests::FewDescriptors few(count);
      return project.files().sweep();
    }();
    CHECK(project.told(sweep.changes).empty());
    CHECK((count > 0 || (sweep.trouble && !sweep.is_whole)));
    CHECK_FALSE(has_untrusted(project.root()));
  }
}

TEST_CASE("protected files: what was changed meanwhile is put back when it can be seen",
          "[tools]") {
  const Project project;
  const auto end_unseen = [&] {
    project.write(".git/hooks/pre-commit", "evil");
    project.write("agent.md", "evil");
    const tests::FewDescriptors none(0);
    return project.files().end(false);
  };
  const Project::Told both{".git/hooks: put back", "agent.md: moved"};
  SECTION("after the next program") {
    CHECK(end_unseen().trouble);
    CHECK(project.files().begin());
    CHECK(project.end() == both);
  }
  SECTION("at the run's end") {
    REQUIRE(project.files().survey());
    CHECK(end_unseen().trouble);
    CHECK(project.told(project.files().sweep().changes) == both);
  }
  CHECK(project.text(".git/hooks/pre-commit") == "good");
}

TEST_CASE("protected files: where nobody could look before it, no program begins", "[tools]") {
  const Project project;
  project.end();
  for (int count = 0; count < k_enough; ++count) {
    const bool has_begun = [&] {
      const tests::FewDescriptors few(count);
      return project.files().survey() && project.files().begin();
    }();
    CAPTURE(count);
    CHECK((count > 0 || !has_begun));
    CHECK((count < k_enough - 1 || has_begun));
    CHECK((has_begun || project.files().begin()));
    CHECK(project.end().empty());
  }
}

TEST_CASE("protected files: after a kill, what cannot be looked at keeps its name", "[tools]") {
  for (int count = 0; count < k_enough; ++count) {
    const Project project;
    project.end();
    project.write("own.yaml", "mine");
    project.write("a.test.yaml", "one");
    std::uint64_t number = 0;
    REQUIRE(project.files().survey());
    REQUIRE(project.files().begin());
    auto survey = project.files().surveyed_since(number);
    REQUIRE(survey);
    survey->has_mounts = false;
    const auto sweep = [&] {
      const tests::FewDescriptors few(count);
      return ProtectedFiles::sweep_after_kill(*survey);
    }();
    CAPTURE(count);
    CHECK(project.told(sweep.changes).empty());
    CHECK((count > 0 || sweep.trouble));
    CHECK_FALSE(has_untrusted(project.root()));
  }
}

TEST_CASE("protected files: a root that was moved meanwhile", "[tools]") {
  const Project project;
  const fs::path away = project.root().string() + ".away";
  project.write("x.test.yaml", "agent: a.yaml");
  const fs::path root = project.root();
  fs::rename(root, away);
  fs::create_directory(root);
  const auto end = project.files().end(false);
  CHECK(end.changes.empty());
  REQUIRE(end.trouble);
  CHECK(end.trouble->code == agent::Code::sandbox_violation);
  CHECK(end.trouble->message.find(away.string()) != std::string::npos);
  CHECK(fs::is_empty(root));  // nothing was put back into another folder
  CHECK_FALSE(project.files().begin());
  fs::remove(root);
  fs::rename(away, root);
  REQUIRE(project.files().begin());
  CHECK(project.end() == Project::Told{"x.test.yaml: moved"});
}

TEST_CASE("protected files: a root that was made anew meanwhile", "[tools]") {
  const Project project;
  const fs::path root = project.root();
  fs::remove_all(root);
  fs::create_directories(root / ".git");
  const auto end = project.files().end(false);
  CHECK(end.changes.empty());
  REQUIRE(end.trouble);
  CHECK(end.trouble->message.find("was removed") != std::string::npos);
  CHECK(fs::is_empty(root / ".git"));
}
