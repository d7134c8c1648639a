// What rules of `deny` keep from programs, or make them need a yes for.
#include "tools/permissions/permissions.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using tools::Access;
using tools::Permissions;
using tools::Verdict;

Permissions denying(const fs::path& cwd, const std::string& rule, bool keeps) {
  agent::PermissionSpec spec;
  spec.deny = {{rule, "test"}};
  return Permissions::create(spec,
                             {.cwd = cwd,
                              .temporary = {},
                              .home = "/home/somebody",
                              .confined = {.processes = true, .files = true},
                              .guarded = {},
                              .keeps = [keeps](const fs::path&, bool) { return keeps; }})
      .value();
}

}  // namespace

TEST_CASE(
    "permissions: what is denied to the file tools needs approval where programs could have it",
    "[tools]") {
  const fs::path cwd = "/nowhere/work";
  struct Row {
    const char* rule;
    std::vector<fs::path> reading;
    std::vector<fs::path> writing;
    Verdict kept;    // of a program, where the sandbox keeps the place
    Verdict unkept;  // and where it does not
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"read_file(secrets/**)", {cwd / "secrets"}, {}, Verdict::allow, Verdict::ask},
      {"read_*(conf/key)", {cwd / "conf/key"}, {}, Verdict::allow, Verdict::ask},
      {"write_file(conf/key)", {}, {cwd / "conf/key"}, Verdict::allow, Verdict::ask},
      {"read_file(~/x)", {"/home/somebody/x"}, {}, Verdict::allow, Verdict::ask},
      {"read_file(**/*.pem)", {}, {}, Verdict::ask, Verdict::ask},
      {"read_file(**)", {}, {}, Verdict::ask, Verdict::ask},
      {"read_file(/**)", {}, {}, Verdict::ask, Verdict::ask},
      {"write_file(src/*.c)", {}, {}, Verdict::ask, Verdict::ask},
      {"read_file", {}, {}, Verdict::allow, Verdict::allow},
      {"shell(rm *)", {}, {}, Verdict::allow, Verdict::allow},
  }));
  INFO(row.rule);
  for (const bool keeps : {true, false}) {
    const Permissions permissions = denying(cwd, row.rule, keeps);
    CHECK(permissions.denied_places().reading == row.reading);
    CHECK(permissions.denied_places().writing == row.writing);
    const Access program{.kind = Access::Kind::program, .target = "{}"};
    CHECK(permissions.judge("make", program).verdict == (keeps ? row.kept : row.unkept));
  }
}
