#include "tools/process/closed_places.h"

#include "tests/unit/tools/process/process_support.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

// A home with notes in it, a project with a repository, and a folder beside both.
class Place {
 public:
  Place() {
    for (const char* name : {"home/notes", "home/.cache", "project/.git", "beside/it's", "tmp"}) {
      fs::create_directories(root() / name);
    }
    std::ofstream(root() / "home/notes/n.txt") << "x";
    std::ofstream(root() / "beside/file") << "x";
    std::ofstream(root() / "project/named.txt") << "x";
  }

  // `text` and the answer with ROOT for the folder of all this.
  std::string hints(std::string text, const agent::SandboxSpec& spec = {}) const {
    const auto policy =
        tools::sandbox::Policy::create(spec,
                                       {.workspace = root() / "project",
                                        .temporary = root() / "tmp",
                                        .run_folder = {},
                                        .agent_folder = root() / "project",
                                        .agent_file = {},
                                        .homes = {.own = {home()}, .closed = {home()}},
                                        .search_path = {},
                                        .own = {},
                                        .obeyed = {root() / "project/named.txt"}});
    REQUIRE(policy);
    replace(text, "ROOT", root().string());
    const std::size_t size = text.size();
    const agent::Environment own{{"HOME", home().string()}};
    const fs::path folder = root() / "project";
    tools::append_closed_places(text, *policy, {.folder = folder, .own = own});
    std::string added = text.substr(size);
    replace(added, root().string(), "ROOT");
    return std::string(added.starts_with('\n') ? added.substr(1) : added);
  }

 private:
  static void replace(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size())) {
      text.replace(at, what.size(), by);
    }
  }
  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path home() const { return root() / "home"; }
  tests::TemporaryFolder folder_;
};

struct Row {
  const char* output;
  const char* hint;
};

constexpr const char* k_write_beside =
    "[the sandbox has for reading only `ROOT/beside`; `sandbox: {write: [ROOT/beside]}` opens it]";
constexpr const char* k_write_file =
    "[the sandbox has for reading only `ROOT/beside/file`; `sandbox: {write: [ROOT/beside/file]}` "
    "opens it]";
constexpr const char* k_read_notes =
    "[the sandbox closes `ROOT/home/notes/n.txt`; `sandbox: {read: [ROOT/home/notes/n.txt]}` opens "
    "it]";
constexpr const char* k_write_notes =
    "[the sandbox closes `ROOT/home/notes`; `sandbox: {write: [ROOT/home/notes]}` opens it]";
constexpr const char* k_git =
    "[the sandbox has `ROOT/project/.git` for reading only: the tools `git_commit` and "
    "`git_switch` write it, or programs, too, with `sandbox: {write: [ROOT/project/.git]}`]";
constexpr const char* k_named =
    "[the sandbox has `ROOT/project/named.txt` for reading only, for a command of the agent file, "
    "or the command line, names it; `sandbox: {write: [ROOT/project/named.txt]}` opens it]";
constexpr const char* k_temporary =
    "[the sandbox has `/tmp` for reading only; $TMPDIR names a folder for temporary files]";
constexpr const char* k_network =
    "[the sandbox closes the network; `sandbox: {network: allow}`, or `allow_hosts`, opens it]";

// As the programs print it in the sandbox, but for the folders.
const std::vector<Row> k_rows = {
    // dash, bash, coreutils, with and without mounts
    {"/bin/sh: 1: cannot create ROOT/beside/x: Read-only file system", k_write_beside},
    {"/bin/sh: 1: cannot create ROOT/beside/x: Permission denied", k_write_beside},
    {"bash: line 1: ROOT/beside/file: Read-only file system", k_write_file},
    {"mkdir: cannot create directory \u2018ROOT/beside/new/er\u2019: Read-only file system",
     k_write_beside},
    {"touch: cannot touch 'ROOT/beside/new': Permission denied", k_write_beside},
    {"rm: cannot remove 'ROOT/beside/file': Read-only file system", k_write_file},
    {"touch: cannot touch \"ROOT/beside/it's/x\": Read-only file system",
     "[the sandbox has for reading only `ROOT/beside/it's`; `sandbox: {write: "
     "['ROOT/beside/it''s']}` opens it]"},
    {"cat: ROOT/home/notes/n.txt: No such file or directory", k_read_notes},
    {"cat: ROOT/home/notes/n.txt: Permission denied", k_read_notes},
    {"cat: '~/notes/n.txt': Permission denied", k_read_notes},
    {"touch: cannot touch 'ROOT/home/notes/new': No such file or directory", k_write_notes},
    {"/bin/sh: 1: ROOT/home/notes/n.txt: not found", k_read_notes},
    {"/bin/sh: 1: cannot create /tmp/no_such_folder_of_errand: Read-only file system", k_temporary},
    // relative paths, from where the program began
    {"cat: ../home/notes/n.txt: Permission denied", k_read_notes},
    {"touch: cannot touch '../beside/new': Permission denied", k_write_beside},
    {"/bin/sh: 1: cannot create ../beside/x: Read-only file system", k_write_beside},
    {"/bin/sh: 1: cannot create .git/config: Read-only file system", k_git},
    {"sh: 1: cannot create named.txt: Read-only file system", k_named},
    {"cat: ../home: Permission denied", "[the sandbox closes `ROOT/home`]"},
    // others
    {"Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n"
     "OSError: [Errno 30] Read-only file system: 'ROOT/beside/x'\n[exit status 1]",
     k_write_beside},
    {"PermissionError: [Errno 13] Permission denied: 'ROOT/home/notes/n.txt'", k_read_notes},
    {"Error: EROFS: read-only file system, open 'ROOT/beside/x'\n    at Object.openSync "
     "(node:fs:573:18)",
     k_write_beside},
    {"Error: EACCES: permission denied, open 'ROOT/home/notes/n.txt'", k_read_notes},
    {"Assembler messages:\nFatal error: can't create ROOT/beside/x.o: Read-only file system",
     k_write_beside},
    {"open ROOT/beside/x: read-only file system", k_write_beside},  // Go
    {"fatal: Unable to create 'ROOT/project/.git/index.lock': Read-only file system", k_git},
    {"error: Unable to create 'ROOT/project/.git/HEAD.lock': Read-only file system\n"
     "Switched to a new branch 'foo'",
     k_git},
    // the network
    {"  File \"/usr/lib/python3.11/socket.py\", line 232, in __init__\n"
     "    _socket.socket.__init__(self, family, type, proto, fileno)\n"
     "PermissionError: [Errno 13] Permission denied",
     k_network},
    {"Error: listen EACCES: permission denied 0.0.0.0:18778", k_network},
    {"curl: (6) Could not resolve host: example.com", k_network},
    {"curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
     k_network},
    {"fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com",
     k_network},
    {"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
     k_network},
    {"socket: Permission denied\nssh: connect to host localhost port 22: failure", k_network},
    {"IO::Socket::INET: Permission denied at -e line 1.", k_network},
    {"npm error code EAI_AGAIN\nnpm error request to https://registry/x failed, reason: "
     "getaddrinfo EAI_AGAIN registry",
     k_network},
    // nothing that a key of ours would open, or nothing that was refused
    {"PermissionError: [Errno 13] Permission denied", ""},
    {"cat: ../of/another/folder: Permission denied", ""},
    {"cat: there/is and/or ./here: Permission denied", ""},
    {"cat: ../nowhere: No such file or directory", ""},
    {"permission denied while trying to connect to the Docker daemon socket at "
     "unix:///var/run/docker.sock: dial unix /var/run/docker.sock: socket: permission denied",
     ""},
    {"Traceback (most recent call last):\n  File \"ROOT/beside/file\", line 57, in __init__\n"
     "    sl = self._semlock = _multiprocessing.SemLock(\nPermissionError: [Errno 13] Permission "
     "denied",
     ""},
    {"  File \"ROOT/beside/file\", line 2, in f\n    raise OSError('Permission denied: "
     "ROOT/beside/file')\nOSError",
     ""},
    {"mkdir: cannot create directory '/': Read-only file system", ""},
    {"touch: cannot touch '/usr/lib/x': Read-only file system", ""},
    {"cp: cannot create regular file '/opt/no_such_of_errand': Read-only file system", ""},
    {"touch: cannot touch 'ROOT/home/new': Read-only file system", ""},  // a home as a whole
    {"cat: ROOT/beside/none: No such file or directory", ""},
    {"cat: ROOT/project/none: No such file or directory", ""},
    {"touch: cannot touch 'ROOT/project/x': Permission denied", ""},  // as errand would be told
    {"see ROOT/beside/file for what is wrong", ""},
    {"ROOT/beside/file: ok\nsome other thing: Permission denied", ""},
    {"bash: line 1: /dev/tcp/127.0.0.1/80: Permission denied", ""},
    {"/bin/sh: 1: ping: not found", ""},
};

}  // namespace

TEST_CASE("closed places: a key is named where it would open what was refused", "[tools]") {
  const Place place;
  for (const Row& row : k_rows) {
    INFO(row.output);
    CHECK(place.hints(row.output) == row.hint);
  }
}

TEST_CASE("closed places: with a network, an unknown name is no matter of the sandbox", "[tools]") {
  const Place place;
  CHECK(place.hints("curl: (6) Could not resolve host: example.com", {.network = true}).empty());
}

TEST_CASE("closed places: what the file's own permissions refuse is no matter of the sandbox",
          "[tools]") {
  if (::geteuid() == 0) {
    CHECK(Place().hints("cat: /etc/shadow: Permission denied") ==
          "[the sandbox closes `/etc/shadow`]");
    return;  // root is refused nothing else
  }
  CHECK(Place().hints("cat: /etc/shadow: Permission denied").empty());
}
