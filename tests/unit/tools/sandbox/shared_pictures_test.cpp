#include "tools/sandbox/shared_pictures.h"

#include "tests/unit/tools/process/process_support.h"
#include "tools/sandbox/protected_files.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using tools::sandbox::ProtectedChange;
using tools::sandbox::ProtectedFiles;
using tools::sandbox::SharedPictures;
using tools::sandbox::ShownPicture;
using tools::sandbox::Sight;

namespace {

// A folder in which two runs work that do not obey the same files.
class Work {
 public:
  Work() {
    fs::create_directories(at("ci"));
    fs::create_directories(at("sub"));
    write("have.test.yaml", "good");
    write("ci/deploy.sh", "good");
    one_ = run({root()}, {at("one.yaml"), at("ci/deploy.sh")});
    other_ = run({root()}, {at("other.yaml"), at("ci/deploy.sh")});
  }

  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path at(const std::string& name) const { return root() / name; }
  fs::path shared() const { return fs::canonical(shared_.path()) / "state" / "at-work"; }
  std::string text(const std::string& name) const { return tests::read_text(at(name)); }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(at(name)) << content;
  }
  void run_script(const std::string& script) const {
    REQUIRE(std::system(fmt::format("cd '{}' && {}", root().string(), script).c_str()) == 0);
  }
  std::shared_ptr<ProtectedFiles> run(std::vector<fs::path> tops,
                                      std::vector<fs::path> files = {}) const {
    return std::make_shared<ProtectedFiles>(
        ProtectedFiles::Options{
            .roots = tops, .tops = tops, .files = std::move(files), .crossed = {}, .allowed = {}},
        shared());
  }
  ProtectedFiles& one() const { return *one_; }
  ProtectedFiles& other() const { return *other_; }

  void plant() const {
    write("have.test.yaml", "evil");
    write("ci/deploy.sh", "evil");
    write("new.test.yaml", "evil");
    run_script("mkdir .git .git/objects .git/refs && echo ref: refs/heads/main >.git/HEAD");
  }
  bool is_as_it_was() const {
    return text("have.test.yaml") == "good" && text("ci/deploy.sh") == "good" &&
           !fs::exists(at("new.test.yaml")) && !fs::exists(at(".git"));
  }

 private:
  tests::TemporaryFolder folder_;
  tests::TemporaryFolder shared_;
  std::shared_ptr<ProtectedFiles> one_;
  std::shared_ptr<ProtectedFiles> other_;
};

auto decode(std::string_view bytes) {
  return tools::sandbox::decode_picture(bytes, {"/w"});
}

std::size_t pictures_in(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().starts_with("picture-") ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("shared pictures: what another run's program has changed is nobody's state from before",
          "[tools]") {
  const bool has_mounts = GENERATE(false, true);
  const bool ends_last = GENERATE(false, true);
  const Work work;
  REQUIRE(work.one().begin(has_mounts));
  work.plant();
  REQUIRE(work.other().begin(has_mounts));
  if (!ends_last) {
    const tools::sandbox::ProtectedEnd end = work.one().end(false);
    CHECK(end.changes.size() == 4);
    CHECK_FALSE(end.was_alone);
    CHECK(work.other().end(false).changes.empty());
  } else {
    CHECK(work.other().end(false).changes.size() == 4);
    CHECK(work.is_as_it_was());
    work.plant();
    CHECK(work.one().end(false).changes.size() == 4);
  }
  CHECK(work.is_as_it_was());
}

TEST_CASE("shared pictures: who comes third takes over what the second did", "[tools]") {
  const Work work;
  const auto third = work.run({work.root()});
  REQUIRE(work.one().begin());
  work.plant();
  REQUIRE(work.other().begin());
  work.one().end(false);
  work.plant();
  REQUIRE(third->begin());
  work.other().end(false);
  CHECK(third->end(false).changes.empty());
  CHECK(work.is_as_it_was());
}

TEST_CASE("shared pictures: what was taken away comes back", "[tools]") {
  const Work work;
  REQUIRE(work.one().begin());
  work.run_script("rm -r have.test.yaml ci && ln -s sub ci");
  REQUIRE(work.other().begin());
  work.other().end(false);
  CHECK(work.is_as_it_was());
  CHECK(fs::is_directory(fs::symlink_status(work.at("ci"))));
  CHECK(work.one().end(false).changes.empty());
}

TEST_CASE("shared pictures: what nobody's program was at work for is what was there", "[tools]") {
  const Work work;
  REQUIRE(work.one().begin());
  CHECK(work.one().end(false).changes.empty());
  work.write("have.test.yaml", "by the user");
  work.write("new.test.yaml", "by the user");
  REQUIRE(work.other().begin());
  CHECK(work.other().end(false).changes.empty());
  CHECK(work.text("have.test.yaml") == "by the user");
  CHECK(work.text("new.test.yaml") == "by the user");
}

TEST_CASE("shared pictures: behind mounts that hold, changes are the user's own", "[tools]") {
  const Work work;
  REQUIRE(work.one().begin(true));
  work.write("ci/deploy.sh", "by the user");
  REQUIRE(work.other().begin(true));
  CHECK(work.other().end(true).changes.empty());
  CHECK(work.one().end(true).changes.empty());
  CHECK(work.text("ci/deploy.sh") == "by the user");
}

TEST_CASE("shared pictures: what a run does not look after it leaves to those that do", "[tools]") {
  const Work work;
  const auto plain = work.run({work.root()});
  REQUIRE(work.one().begin(true));
  work.write("ci/deploy.sh", "by the user");
  REQUIRE(plain->begin(true));
  CHECK(plain->end(true).changes.empty());
  CHECK(work.one().end(true).changes.empty());
  CHECK(work.text("ci/deploy.sh") == "by the user");
}

TEST_CASE("shared pictures: what a run has seen stays known, whoever begins without it",
          "[tools]") {
  const Work work;
  work.write("sub/old.test.yaml", "good");
  REQUIRE(work.one().survey());
  work.run_script("mv sub/old.test.yaml away");
  REQUIRE(work.other().survey());
  work.run_script("mv away sub/old.test.yaml");
  REQUIRE(work.one().begin());
  CHECK(work.one().end(false).changes.empty());
  CHECK(work.one().sweep().changes.empty());
  CHECK(work.text("sub/old.test.yaml") == "good");
}

TEST_CASE("shared pictures: another repository in the place of one below is new", "[tools]") {
  const Work work;
  const auto inner = work.run({work.at("sub")});
  work.run_script("mkdir -p sub/.git/objects sub/.git/refs && echo ref: x >sub/.git/HEAD");
  REQUIRE(work.one().survey());
  REQUIRE(work.one().begin());
  work.run_script("cp -r sub/.git sub/other && rm -r sub/.git && mv sub/other sub/.git");
  REQUIRE(work.other().survey());
  REQUIRE(work.other().begin());
  REQUIRE(inner->begin());
  work.one().end(false);
  CHECK_FALSE(work.one().sweep().changes.empty());
  CHECK_FALSE(fs::exists(work.at("sub/.git")));
  work.run_script("mv sub/.git.untrusted sub/.git");
  inner->end(false);
  CHECK_FALSE(fs::exists(work.at("sub/.git")));
  work.run_script("mv sub/.git.untrusted sub/.git");
  work.other().end(false);
  CHECK_FALSE(work.other().sweep().changes.empty());
  CHECK_FALSE(fs::exists(work.at("sub/.git")));
}

TEST_CASE("shared pictures: in a folder below, what the outer run has made is not from before",
          "[tools]") {
  const Work work;
  work.write("sub/old.test.yaml", "good");
  const auto inner = work.run({work.at("sub")});
  REQUIRE(work.one().survey());
  REQUIRE(work.one().begin());
  work.write("sub/new.test.yaml", "evil");
  work.write("sub/agent.yaml", "the work's own");
  CHECK(work.one().end(false).changes.empty());  // a sweep's
  REQUIRE(inner->begin());
  CHECK(work.one().sweep().changes.size() == 1);
  CHECK(inner->end(false).changes.empty());
  CHECK_FALSE(fs::exists(work.at("sub/new.test.yaml")));
  CHECK(work.text("sub/old.test.yaml") == "good");
  CHECK(work.text("sub/agent.yaml") == "the work's own");
}

TEST_CASE("shared pictures: what a run has made below is new to those that begin meanwhile",
          "[tools]") {
  const Work work;
  const auto inner = work.run({work.at("sub")});
  work.write("sub/have.test.yaml", "good");
  const auto plant = [&] {
    work.run_script("mkdir -p top/objects top/refs && echo ref: refs/heads/main >top/HEAD");
    work.run_script(
        "cd sub && mkdir -p .git .errand bare/objects bare/refs && "
        "echo ref: refs/heads/main | tee .git/HEAD >bare/HEAD && "
        "echo evil | tee new.test.yaml .errand/config.yaml x.mcp-lock.json "
        ">have.test.yaml");
  };
  REQUIRE(work.one().survey());
  REQUIRE(work.one().begin());
  plant();
  REQUIRE(work.other().survey());
  REQUIRE(work.other().begin());
  work.one().end(false);
  CHECK(work.one().sweep().changes.size() == 7);
  plant();  // by a program of the other one
  work.other().end(false);
  const auto swept = work.other().sweep();
  CHECK(swept.changes.size() == 7);  // one is noticed
  for (const char* name : {"new.test.yaml", ".git", ".errand", "x.mcp-lock.json", "bare/HEAD"}) {
    INFO(name);
    CHECK_FALSE(fs::exists(work.at("sub") / name));
  }
  CHECK_FALSE(fs::exists(work.at("top/HEAD")));
}

TEST_CASE("shared pictures: who was killed shows none", "[tools]") {
  const Work work;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto its = work.run({work.root()});
    ::_exit(its->begin() ? 0 : 1);  // nothing is taken away
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK(pictures_in(work.shared()) == 1);
  work.write("have.test.yaml", "by the user");
  REQUIRE(work.other().begin());
  CHECK(work.other().end(false).changes.empty());
  CHECK(work.text("have.test.yaml") == "by the user");
  CHECK(pictures_in(work.shared()) == 1);  // its own: that of the dead is gone
}

TEST_CASE("shared pictures: one that was taken away is shown again", "[tools]") {
  const Work work;
  REQUIRE(work.one().begin(true));
  work.one().end(true);
  fs::remove_all(work.shared());
  REQUIRE(work.one().begin(true));
  work.plant();
  REQUIRE(work.other().begin(true));
  work.one().end(true);
  work.other().end(true);
  CHECK(work.text("have.test.yaml") == "good");
  CHECK_FALSE(fs::exists(work.at("new.test.yaml")));
}

TEST_CASE("shared pictures: without a folder for them each goes by itself", "[tools]") {
  const Work work;
  fs::create_directories(work.shared().parent_path());
  std::ofstream(work.shared()) << "no folder";
  REQUIRE(work.one().begin());
  work.write("new.test.yaml", "evil");
  const tools::sandbox::ProtectedEnd end = work.one().end(false);
  CHECK(end.changes.size() == 1);
  CHECK(end.was_alone);
}

TEST_CASE("shared pictures: a turn in a folder is waited for, and not for ever", "[tools]") {
  const tests::TemporaryFolder folder;
  SharedPictures one(folder.path() / "at-work");
  SharedPictures other(folder.path() / "at-work");
  const auto take = [&](const fs::path& root, agent::Milliseconds patience) {
    return other.take_turn({root}, patience, {});
  };
  std::optional<SharedPictures::Turn> turn(one.take_turn({"/w/a", "/x"}, {}, {}).value());
  REQUIRE(turn->is_shared());
  for (const char* root : {"/w/a", "/w/a/b/c", "/w", "/", "/x/y"}) {
    INFO(root);
    const auto late = take(root, agent::Milliseconds{3});
    REQUIRE_FALSE(late);
    CHECK(late.error().code == agent::Code::os_failed);
  }
  for (const char* root : {"/w/b", "/w/aa", "/v"}) {
    INFO(root);
    CHECK(take(root, {}).value().is_shared());
  }
  std::stop_source stop;
  stop.request_stop();
  CHECK(other.take_turn({"/x"}, agent::Milliseconds{60'000}, stop.get_token()).error().code ==
        agent::Code::run_cancelled);
  std::jthread later([&] {
    std::this_thread::sleep_for(agent::Milliseconds{50});
    turn.reset();
  });
  CHECK(take("/w", agent::Milliseconds{60'000}).value().is_shared());
}

TEST_CASE("shared pictures: bytes that are none are no picture", "[tools]") {
  CHECK_FALSE(decode(""));
  CHECK_FALSE(decode("\xa1"));
  CHECK_FALSE(decode("\xa1\x65roots\x01"));
  const std::string good = tools::sandbox::encode(
      {.roots = {"/w/x"}, .tops = {}, .files = {}, .crossed = {}, .allowed = {}}, {}, {});
  REQUIRE(decode(good));
  CHECK_FALSE(tools::sandbox::decode_picture(good, {"/v"}));
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK_FALSE(decode(good.substr(0, length)));
  }
}

TEST_CASE("shared pictures: what was shown of a folder is not about another one of its name",
          "[tools]") {
  const bool has_mounts = GENERATE(false, true);
  const Work work;
  REQUIRE(work.one().begin(has_mounts));
  REQUIRE(work.one().survey());
  const fs::path root = work.root();
  const fs::path away = root.string() + ".away";
  fs::rename(root, away);
  fs::create_directories(root / "own/.git/hooks");
  fs::create_directories(root / ".git/objects");
  fs::create_directories(root / ".git/refs");
  std::ofstream(root / ".git/HEAD") << "ref: refs/heads/main\n";
  std::ofstream(root / "mine.test.yaml") << "agent: a.yaml\n";
  const auto later = work.run({root});
  REQUIRE(later->survey());
  REQUIRE(later->begin(has_mounts));
  CHECK(later->end(false).changes.empty());
  CHECK(later->sweep().changes.empty());
  CHECK(fs::exists(root / ".git/HEAD"));
  CHECK_FALSE(fs::exists(root / "have.test.yaml"));
  fs::remove_all(away);
}
