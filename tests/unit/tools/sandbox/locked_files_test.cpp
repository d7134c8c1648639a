#include "tools/sandbox/locked_files.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>

#include <fstream>

namespace fs = std::filesystem;
using tools::sandbox::LockedFiles;

namespace {

class Repository {
 public:
  Repository() {
    fs::create_directories(root() / ".git/hooks");
    write(".git/hooks/pre-commit", "good");
    write(".git/config", "[core]");
  }

  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path at(const std::string& name) const { return root() / name; }
  std::string text(const std::string& name) const { return tests::read_text(at(name)); }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(at(name)) << content;
  }
  std::unique_ptr<LockedFiles> locked(bool are_mounted = false) const {
    auto files =
        LockedFiles::create({at(".git/hooks"), at(".git/config"), at(".errand")}, are_mounted);
    REQUIRE(files);
    return std::move(*files);
  }
  using Names = std::vector<std::string>;

 private:
  tests::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("locked files: nothing is said where nothing has changed", "[tools]") {
  const Repository repository;
  const auto files = repository.locked();
  repository.write(".git/index", "new");
  fs::last_write_time(repository.at(".git/config"), fs::file_time_type::clock::now());
  CHECK(files->restore().empty());
}

TEST_CASE("locked files: changes, additions and removals are put back and named", "[tools]") {
  const Repository repository;
  const auto files = repository.locked();
  fs::permissions(repository.at(".git/hooks/pre-commit"), fs::perms::owner_all);
  repository.write(".git/hooks/post-merge", "evil");
  fs::remove(repository.at(".git/config"));
  fs::create_directories(repository.at(".errand/deep"));
  CHECK(files->restore() == Repository::Names{repository.at(".git/hooks"),
                                              repository.at(".git/config"),
                                              repository.at(".errand")});
  CHECK_FALSE(fs::exists(repository.at(".git/hooks/post-merge")));
  CHECK_FALSE(fs::exists(repository.at(".errand")));
  CHECK(repository.text(".git/config") == "[core]");
  CHECK((fs::status(repository.at(".git/hooks/pre-commit")).permissions() &
         fs::perms::owner_exec) == fs::perms::none);
  CHECK(files->restore().empty());
}

TEST_CASE("locked files: links in the way are removed, not followed", "[tools]") {
  const Repository repository;
  const auto files = repository.locked();
  fs::create_directories(repository.at("elsewhere/hooks"));
  repository.write("elsewhere/hooks/theirs", "theirs");
  fs::rename(repository.at(".git"), repository.at("moved"));
  fs::create_symlink(repository.at("elsewhere"), repository.at(".git"));
  CHECK_FALSE(files->restore().empty());
  CHECK_FALSE(fs::is_symlink(repository.at(".git")));
  CHECK(repository.text(".git/hooks/pre-commit") == "good");
  CHECK(repository.text("elsewhere/hooks/theirs") == "theirs");
  CHECK_FALSE(fs::exists(repository.at("elsewhere/config")));
}

TEST_CASE("locked files: with mounts only what did not exist needs an eye", "[tools]") {
  const Repository repository;
  const auto files = repository.locked(true);
  repository.write(".git/config", "by the user");
  fs::create_directories(repository.at(".errand"));
  CHECK(files->restore() == Repository::Names{repository.at(".errand")});
  CHECK(repository.text(".git/config") == "by the user");
}
