#include "tools/sandbox/policy.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

namespace fs = std::filesystem;
using agent::SandboxSpec;
using tools::sandbox::Policy;
using tools::sandbox::Profile;
using tools::sandbox::Verdict;

namespace {

// A home with a key in it, a project with a repository, and a folder beside both.
class Machine {
 public:
  Machine() {
    for (const char* name : {"home/.ssh",
                             "home/.config",
                             "home/project/.git/hooks",
                             "home/.cargo/bin",
                             "home/tools",
                             "beside"}) {
      fs::create_directories(root() / name);
    }
    for (const char* name : {"home/.ssh/id", "home/project/agent.yaml"}) {
      std::ofstream(root() / name) << "x";
    }
  }

  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path home() const { return root() / "home"; }
  fs::path project() const { return home() / "project"; }

  agent::Result<Policy> policy(const SandboxSpec& spec = {}, bool writes = true) const {
    return policy_in(project(), spec, writes);
  }
  agent::Result<Policy> policy_in(const fs::path& workspace,
                                  const SandboxSpec& spec = {},
                                  bool writes = true,
                                  bool is_for_git = false) const {
    return Policy::create(spec,
                          {.workspace = workspace,
                           .temporary = root() / "tmp",
                           .run_folder = {},
                           .agent_folder = project(),
                           .agent_file = project() / "agent.yaml",
                           .homes = {.own = {home()}, .closed = {home()}},
                           .search_path = {home() / "tools", home()},
                           .prefixes = {},
                           .own = {home() / ".config"},
                           .obeyed = {project() / "agent.yaml"},
                           .writes = writes,
                           .writes_repository = is_for_git});
  }

 private:
  tests::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("sandbox: the workspace may be written, but for what is obeyed there", "[tools]") {
  const Machine machine;
  const auto policy = machine.policy();
  REQUIRE(policy);
  const fs::path project = machine.project();
  CHECK(policy->writing(project) == Verdict::allowed);
  CHECK(policy->writing(project / "src/main.cpp") == Verdict::allowed);
  CHECK(policy->writing(project / ".git/index") == Verdict::locked);
  CHECK(policy->writing(project / ".GIT/index") == Verdict::locked);
  CHECK(policy->writing(project / "vendor/x/.git/config") == Verdict::locked);
  CHECK(policy->writing(project / "a/.errand") == Verdict::locked);
  CHECK(policy->writing(project / "agent.md") == Verdict::locked);
  CHECK(policy->writing(project / "new.test.yaml") == Verdict::locked);
  CHECK(policy->writing(project / "tests/new.test.yaml") == Verdict::locked);
  CHECK(policy->writing(project / "tests/new.test.yaml.off") == Verdict::allowed);
  CHECK(policy->writing(project / "agent.yaml.mcp-lock.json") == Verdict::locked);
  CHECK(policy->writing(project / "tests/x.md.MCP-lock.json") == Verdict::locked);
  CHECK(policy->writing(project / "package-lock.json") == Verdict::allowed);
  CHECK(policy->writing(project / "tests/agent.yaml") == Verdict::allowed);
  CHECK(policy->writing(project / ".gitignore") == Verdict::allowed);
  CHECK(policy->writing(project / ".git/hooks/pre-commit") == Verdict::locked);
  CHECK(policy->writing(project / ".git/config") == Verdict::locked);
  CHECK(policy->writing(project / ".errand/config.yaml") == Verdict::locked);
  CHECK(policy->writing(project / "agent.yaml") == Verdict::locked);
  CHECK(policy->writing(machine.root() / "tmp/x") == Verdict::allowed);
  CHECK(policy->writing(machine.root() / "beside/x") == Verdict::outside);
  CHECK(policy->writing(machine.home() / "projectile") == Verdict::outside);
}

TEST_CASE("sandbox: the system may be read, of homes what is made to be run, and the work",
          "[tools]") {
  const Machine machine;
  const auto policy = machine.policy();
  REQUIRE(policy);
  const fs::path home = machine.home();
  CHECK(policy->reading("/etc/passwd") == Verdict::allowed);
  CHECK(policy->reading(machine.root() / "beside/x") == Verdict::allowed);
  CHECK(policy->reading(home / "project/src/main.cpp") == Verdict::allowed);
  CHECK(policy->reading(home / ".cargo/bin/rg") == Verdict::allowed);
  CHECK(policy->reading(home / "tools/mine") == Verdict::allowed);  // of PATH
  for (const char* closed : {"",
                             ".sshrc",
                             ".ssh/id",
                             ".config/config.yaml",
                             ".cargo/credentials",
                             ".cargo/credentials.toml",
                             "projectile",
                             ".token",
                             "made/later"}) {
    INFO(closed);
    CHECK(policy->reading(home / closed) == Verdict::closed);
  }
}

TEST_CASE("sandbox: a home that is opened keeps its secrets, those of later, too", "[tools]") {
  const Machine machine;
  const auto policy = machine.policy({.read = {"~"}});
  REQUIRE(policy);
  CHECK(policy->reading(machine.home() / "notes.txt") == Verdict::allowed);
  CHECK(policy->reading(machine.home() / ".cargo/config.toml") == Verdict::allowed);
  for (const char* secret : {".ssh/id",
                             ".netrc",
                             ".cargo/credentials.toml",
                             ".config/gh/hosts.yml",
                             ".config/chromium-beta/Cookies"}) {
    INFO(secret);
    CHECK(policy->reading(machine.home() / secret) == Verdict::closed);
  }
}

TEST_CASE("sandbox: an agent file in a home or among errand's own opens no more than itself",
          "[tools]") {
  const Machine machine;
  const bool is_own = GENERATE(false, true);
  const fs::path folder = is_own ? machine.home() / ".config/agents" : machine.home();
  fs::create_directories(folder);
  std::ofstream(folder / "a.yaml") << "x";
  const auto policy =
      Policy::create({},
                     {.workspace = machine.project(),
                      .temporary = {},
                      .run_folder = {},
                      .agent_folder = folder,
                      .agent_file = folder / "a.yaml",
                      .homes = {.own = {machine.home()}, .closed = {machine.home()}},
                      .search_path = {},
                      .prefixes = {},
                      .own = {machine.home() / ".config"},
                      .obeyed = {}});
  REQUIRE(policy);
  CHECK(policy->reading(folder / "a.yaml") == Verdict::allowed);
  CHECK(policy->reading(folder / "b.yaml") == Verdict::closed);
  CHECK(policy->reading(machine.project() / "x") == Verdict::allowed);
}

TEST_CASE("sandbox: what the agent file names is open", "[tools]") {
  const Machine machine;
  const auto policy = machine.policy({.read = {"~/.ssh"}, .write = {"../../beside", ".git/hooks"}});
  REQUIRE(policy);
  CHECK(policy->reading(machine.home() / ".ssh/id") == Verdict::allowed);
  CHECK(policy->writing(machine.home() / ".ssh/id") == Verdict::outside);
  CHECK(policy->writing(machine.root() / "beside/x") == Verdict::allowed);
  CHECK(policy->writing(machine.project() / ".git/hooks/pre-commit") == Verdict::allowed);
  const auto missing = machine.policy({.write = {"nowhere"}});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == agent::Code::sandbox_setup);
}

TEST_CASE("sandbox: no link that tools can make leads what is opened out of what they may write",
          "[tools]") {
  const Machine machine;
  const fs::path link = machine.project() / "link";
  const fs::path outer = machine.root() / "beside/link";
  fs::create_directories(machine.project() / "inside");
  fs::create_directory_symlink(machine.home() / ".ssh", link);
  fs::create_directory_symlink(machine.home() / ".ssh", outer);
  fs::create_directory_symlink("inside", machine.project() / "to-inside");
  const auto beside = (machine.root() / "beside").string();

  CHECK_FALSE(machine.policy({.read = {link.string()}}));
  CHECK_FALSE(machine.policy({.read = {"link?"}}));
  CHECK_FALSE(machine.policy({.write = {link.string()}}));
  CHECK_FALSE(machine.policy({.write = {beside, outer.string()}}));
  CHECK_FALSE(machine.policy({.write = {outer.string(), beside}}));
  CHECK_FALSE(machine.policy({.read = {outer.string()}, .write = {beside}}));

  CHECK_FALSE(machine.policy({.read = {outer.string()}}));  // to a secret, which nobody has named
  CHECK(machine.policy({.read = {"to-inside"}, .write = {"to-inside"}}));

  // A folder of PATH is left out instead.
  fs::remove_all(machine.home() / "tools");
  fs::create_directories(machine.home() / "notes");
  fs::create_directory_symlink(machine.project() / "tools", machine.home() / "tools");
  fs::create_directory_symlink(machine.home() / "notes", machine.project() / "tools");
  CHECK(machine.policy()->reading(machine.home() / "notes/a") == Verdict::closed);
}

TEST_CASE("sandbox: read_only leaves the temporary folder alone", "[tools]") {
  const Machine machine;
  const auto policy = machine.policy({.mode = SandboxSpec::Mode::read_only});
  REQUIRE(policy);
  CHECK(policy->writing(machine.project() / "x") == Verdict::outside);
  CHECK(policy->writing(machine.root() / "tmp/x") == Verdict::allowed);
}

TEST_CASE("sandbox: a home, what holds one, and errand's own are no workspaces for who writes",
          "[tools]") {
  const Machine machine;
  const fs::path workspace =
      GENERATE_REF(fs::path("/"), machine.root(), machine.home(), machine.home() / ".config");
  const auto policy = machine.policy_in(workspace);
  REQUIRE_FALSE(policy);
  CHECK(policy.error().code == agent::Code::sandbox_setup);
  CHECK(machine.policy_in(workspace, {.mode = SandboxSpec::Mode::read_only}));
  const auto reader = machine.policy_in(workspace, {}, false);
  REQUIRE(reader);
  CHECK(reader->writing(machine.home() / "x") == Verdict::outside);
}

TEST_CASE("sandbox: errand's own folder inside the workspace may be read there, and not written",
          "[tools]") {
  const Machine machine;
  const fs::path own = machine.project() / "state";
  const auto policy =
      Policy::create({},
                     {.workspace = machine.project(),
                      .temporary = {},
                      .run_folder = {},
                      .agent_folder = machine.project(),
                      .agent_file = {},
                      .homes = {.own = {machine.home()}, .closed = {machine.home()}},
                      .search_path = {},
                      .prefixes = {},
                      .own = {own},
                      .obeyed = {}});
  REQUIRE(policy);
  CHECK(policy->kept() == std::vector{own});
  CHECK(policy->reading(own / "config.yaml") == Verdict::allowed);
  CHECK(policy->writing(own / "config.yaml") == Verdict::locked);
}

TEST_CASE("sandbox: `write` names no home, nothing of errand's own, and no folder with a secret",
          "[tools]") {
  const Machine machine;
  fs::create_directories(machine.home() / ".cache/pip");
  const auto named = [&](std::string path) {
    const auto policy = machine.policy({.write = {std::move(path)}});
    return policy ? std::string() : policy.error().message;
  };
  CHECK(named("~").ends_with("it is a home folder, or holds one"));
  CHECK(named(machine.root()).ends_with("it is a home folder, or holds one"));
  CHECK(named("/").ends_with("it is the whole machine"));
  CHECK(named("~/.config").ends_with("it is errand's own folder"));
  CHECK(named("~/.cache").contains("it is a folder with a place for secrets"));
  CHECK(named("~/.cargo").contains("/.cargo/credentials*`"));
  CHECK(named("~/.cache/pip").empty());
  CHECK(named("~/.ssh").empty());
}

TEST_CASE("sandbox: the folder of an active virtual environment is open, but no home", "[tools]") {
  const Machine machine;
  const fs::path prefix = machine.home() / "envs/p";
  fs::create_directories(prefix / "bin");
  const auto policy =
      Policy::create({},
                     {.workspace = machine.project(),
                      .temporary = {},
                      .run_folder = {},
                      .agent_folder = machine.project(),
                      .agent_file = {},
                      .homes = {.own = {machine.home()}, .closed = {machine.home()}},
                      .search_path = {},
                      .prefixes = {prefix, machine.home(), machine.root()},
                      .own = {},
                      .obeyed = {}});
  REQUIRE(policy);
  CHECK(policy->reading(prefix / "pyvenv.cfg") == Verdict::allowed);
  CHECK(policy->writing(prefix / "pyvenv.cfg") == Verdict::outside);
  CHECK(policy->reading(machine.home() / "envs/q") == Verdict::closed);
  CHECK(policy->reading(machine.home() / "x") == Verdict::closed);
}

TEST_CASE("sandbox: a profile travels whole", "[tools]") {
  const Profile profile{.writable = {"/a", "/b c"},
                        .locked = {"/a/.git/hooks"},
                        .reading = {.closed = {"/h", "/h/.c*"}, .open = {"/h/p"}},
                        .homes = {"/h"},
                        .network = true,
                        .egress_proxy = true,
                        .memory = 1,
                        .processes = 2,
                        .cpu_time = 3,
                        .untouchable = {4, 5}};
  CHECK(tools::sandbox::decode(tools::sandbox::encode(profile)) == profile);
  CHECK(tools::sandbox::decode(tools::sandbox::encode({})) == Profile{});
}

TEST_CASE("sandbox: what is no profile is refused", "[tools]") {
  using namespace std::string_literals;
  const std::string text = GENERATE("w/a"s, "?/a\0"s, "\0"s, "mabc\0"s, "m\0"s, "u0\0"s, "u-1\0"s);
  CHECK_FALSE(tools::sandbox::decode(text));
}

TEST_CASE("sandbox: errand's own git may write git's folders, but not what git obeys there",
          "[tools]") {
  const Machine machine;
  const fs::path project = machine.project();
  const auto holds = [](const std::vector<std::string>& places, const fs::path& place) {
    return std::ranges::find(places, place.string()) != places.end();
  };
  const Profile usual = machine.policy_in(project)->profile();
  CHECK(holds(usual.locked, project / ".git"));
  const auto policy = machine.policy_in(project, {}, true, true);
  REQUIRE(policy);
  const Profile profile = policy->profile();
  CHECK_FALSE(holds(profile.locked, project / ".git"));
  for (const char* name : {"config", "config.worktree", "hooks", "info", "commondir"}) {
    CHECK(holds(profile.locked, project / ".git" / name));
  }
  CHECK(holds(profile.locked, project / ".errand"));
  CHECK(holds(profile.locked, project / "agent.yaml"));
}

TEST_CASE("sandbox: a link to a repository counts where that knows of it", "[tools]") {
  const Machine machine;
  const fs::path git = machine.root() / "beside/.git";
  const fs::path own = git / "worktrees/tree";
  const fs::path tree = machine.root() / "tree";
  for (const fs::path& folder : {git / "objects", git / "refs", own, tree}) {
    fs::create_directories(folder);
  }
  std::ofstream(git / "HEAD") << "ref: refs/heads/main\n";
  std::ofstream(own / "commondir") << "../..\n";
  std::ofstream(tree / ".git") << "gitdir: " << own.string() << "\n";
  const auto is_open = [&] {
    const Profile profile = machine.policy_in(tree, {}, true, true)->profile();
    return std::ranges::find(profile.writable, git.string()) != profile.writable.end();
  };
  CHECK_FALSE(is_open());
  std::ofstream(own / "gitdir") << (machine.root() / "other/.git").string() << "\n";
  CHECK_FALSE(is_open());
  std::ofstream(own / "gitdir") << (tree / ".git").string() << "\n";
  CHECK(is_open());
}

TEST_CASE("sandbox: file tools see of /proc what is the system's", "[tools]") {
  const Machine machine;
  const auto policy = machine.policy();
  REQUIRE(policy);
  for (const char* open : {"/proc", "/proc/cpuinfo", "/proc/sys/kernel/ostype"}) {
    CHECK(policy->reading_by_file_tools(open) == Verdict::allowed);
  }
  for (const char* closed : {"/proc/1", "/proc/1/maps", "/proc/self/maps", "/proc/kcore"}) {
    CHECK(policy->reading_by_file_tools(closed) == Verdict::closed);
    CHECK(policy->reading(closed) == Verdict::allowed);
  }
  const auto opened = machine.policy({.read = {"/proc"}});
  REQUIRE(opened);
  CHECK(opened->reading_by_file_tools("/proc/self/status") == Verdict::closed);
}
