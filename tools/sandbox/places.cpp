#include "tools/sandbox/places.h"

#include "tools/sandbox/way.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <dirent.h>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <pwd.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;

// Below a home folder: what is made to be run, read or cached, and holds no key.
constexpr auto k_open_in_home = std::to_array<std::string_view>({
    // programs
    ".local/bin",
    ".local/lib",
    ".local/include",
    ".local/libexec",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/man",
    ".local/share/virtualenvs",
    "bin",
    // C and C++
    ".cache/ccache",
    ".config/ccache",
    ".ccache",
    ".conan/data",
    ".conan2/p",
    ".vcpkg",
    ".cache/bazelisk",
    ".config/clangd",
    // Rust, Go, Zig
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    "go",
    "sdk",
    ".goenv",
    ".gvm",
    ".config/go",
    ".cache/go-build",
    ".cache/zig",
    // Python
    ".pyenv",
    ".pixi",
    ".rye",
    ".local/share/hatch",
    ".cache/pip",
    ".cache/uv",
    ".cache/pre-commit",
    ".cache/pypoetry",
    ".virtualenvs",
    "anaconda3",
    "mambaforge",
    "micromamba",
    "miniconda3",
    "miniforge3",
    ".conda/envs",
    ".conda/pkgs",
    // JavaScript
    ".nvm",
    ".volta",
    ".nodenv",
    ".fnm",
    ".bun",
    ".deno",
    ".npm/_cacache",
    ".npm-global",
    ".yarn",
    ".cache/deno",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/Cypress",
    ".cache/pnpm",
    ".cache/yarn",
    // JVM
    ".sdkman",
    ".jdks",
    ".jenv",
    ".gradle/caches",
    ".gradle/jdks",
    ".gradle/wrapper",
    ".m2/repository",
    ".m2/wrapper",
    ".ivy2/cache",
    ".cache/coursier",
    ".local/share/coursier",
    ".sbt/boot",
    ".konan",
    // others
    ".asdf",
    ".elan",
    ".juliaup",
    ".swiftly",
    ".opam",
    ".ghcup",
    ".stack",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".rbenv",
    ".rvm",
    ".rubies",
    ".local/share/gem",
    ".gem/ruby",
    ".bundle/cache",
    ".mix",
    ".hex/packages",
    ".julia",
    ".nuget/packages",
    ".dotnet",
    ".linuxbrew",
    ".nix-profile",
    "perl5",
    ".pub-cache/bin",
    ".pub-cache/hosted",
    "Android/Sdk",
    ".terminfo",
    ".inputrc",
    ".editorconfig",
    ".clang-format",
    ".clang-tidy",
    // git's own settings
    ".gitconfig",
    ".gitignore",
    ".gitattributes",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
});

// Below a home folder, whatever else opens it. A `*` at the end stands for any rest of the name.
constexpr auto k_in_home = std::to_array<std::string_view>({
    // keys
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/op",
    ".vault-token",
    ".age",
    ".config/sops",
    // clouds and clusters
    ".aws",
    ".azure",
    ".config/gcloud",
    ".boto",
    ".s3cfg",
    ".oci",
    ".kube",
    ".config/doctl",
    ".config/rclone",
    ".config/hcloud",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    // registries
    ".docker/config.json",
    ".config/containers/auth.json",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials*",
    ".gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    // servers and repositories
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    // other agents
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
    ".config/anthropic",
    ".config/openai",
    // browsers and mail
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome*",
    ".config/chromium*",
    ".config/BraveSoftware",
    ".config/microsoft-edge*",
    ".config/vivaldi*",
    ".config/opera*",
    ".cache/mozilla",
    ".cache/google-chrome*",
    ".cache/chromium*",
    // what was typed
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
});

// What a container, a service or a login is handed.
constexpr auto k_handed_over = std::to_array<std::string_view>(
    {"/run/secrets", "/run/credentials", "/run/user", "/var/run/secrets"});

// What only root may read: of importance where root is who runs the tools.
constexpr auto k_of_root = std::to_array<std::string_view>({
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers*",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/credstore*",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ppp",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/mysql/debian.cnf",
    "/etc/postfix/sasl_passwd*",
    "/etc/exim4/passwd.client",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/sss",
    "/var/lib/systemd/credential.secret",
    "/var/lib/private",
    "/var/backups",
    "/var/spool/cron",
    "/var/mail",
    "/var/spool/mail",
});

// Where a home folder may be said to be, and nobody's is.
constexpr auto k_of_the_system = std::to_array<std::string_view>({
    "/",          "/bin",       "/boot",    "/dev",       "/etc",       "/lib",       "/lib32",
    "/lib64",     "/libx32",    "/media",   "/mnt",       "/nix",       "/opt",       "/proc",
    "/run",       "/sbin",      "/snap",    "/srv",       "/sys",       "/tmp",       "/usr",
    "/usr/bin",   "/usr/games", "/usr/lib", "/usr/local", "/usr/sbin",  "/usr/share", "/var",
    "/var/cache", "/var/lib",   "/var/log", "/var/run",   "/var/spool", "/var/tmp",
});

// With all that is in them.
constexpr auto k_of_the_machine = std::to_array<std::string_view>({"/bin",
                                                                   "/boot",
                                                                   "/dev",
                                                                   "/etc",
                                                                   "/lib",
                                                                   "/lib32",
                                                                   "/lib64",
                                                                   "/libx32",
                                                                   "/proc",
                                                                   "/run",
                                                                   "/sbin",
                                                                   "/sys",
                                                                   "/usr/bin",
                                                                   "/usr/include",
                                                                   "/usr/lib",
                                                                   "/usr/sbin",
                                                                   "/usr/share"});

constexpr uid_t k_first_person = 1000;  // of the password file; below are the system's own

// Empty where it does not exist, or is no folder of anybody's.
fs::path real_home(const fs::path& home) {
  std::error_code error;
  fs::path real = home.is_absolute() ? fs::canonical(home, error) : fs::path();
  const bool is_somebodys =
      !error && std::ranges::find(k_of_the_system, real.native()) == k_of_the_system.end();
  return is_somebodys && fs::is_directory(real, error) ? real : fs::path();
}

void add_home(std::vector<fs::path>& homes, const fs::path& home) {
  if (fs::path real = real_home(home);
      !real.empty() && std::ranges::find(homes, real) == homes.end()) {
    homes.push_back(std::move(real));
  }
}

void add_own_entry(std::vector<fs::path>& homes) {
  std::array<char, 16'384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    add_home(homes, found->pw_dir);
  }
}

// Of the file alone: who is in a directory service has a home that only that could list.
void add_people(std::vector<fs::path>& homes) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), std::fclose);
  std::array<char, 16'384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  while (file && ::fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    if (found->pw_uid >= k_first_person) {
      add_home(homes, found->pw_dir);
    }
  }
}

std::string joined(std::string_view folder, std::string_view name) {
  std::string path(folder);
  path += folder.ends_with('/') ? "" : "/";
  return path += name;
}

// An absolute path, without the last slash.
struct PathParts {
  std::string_view folder;
  std::string_view name;  // empty: it is /

  explicit PathParts(std::string_view path)
      : folder(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1))),
        name(path.substr(path.rfind('/') + 1)) {}
};

// Where absolute paths lead; each folder on the way is looked at once, and each that may hold a
// link is listed once.
class Targets {
 public:
  const std::string& of(std::string_view path) { return find(path).path; }

  const std::vector<std::string>& links_in(const std::string& folder) {
    const auto [known, is_new] = links_.try_emplace(folder);
    if (is_new) {
      known->second = list_links(folder);
    }
    return known->second;
  }

 private:
  struct Target {
    std::string path;
    bool may_be_there = true;
  };

  static bool is_link(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  }

  static std::vector<std::string> list_links(const std::string& folder) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    while (const dirent* entry = entries != nullptr ? ::readdir(entries.get()) : nullptr) {
      const std::string_view name = entry->d_name;
      if (entry->d_type == DT_LNK ||
          (entry->d_type == DT_UNKNOWN && is_link(joined(folder, name)))) {
        names.emplace_back(name);
      }
    }
    return names;
  }

  const Target& find(std::string_view path) {
    if (const auto known = found_.find(path); known != found_.end()) {
      return known->second;
    }
    Target target{.path = std::string(path)};
    if (const PathParts parts(path); !parts.name.empty()) {
      const Target& folder = find(parts.folder);
      target.path = joined(folder.path, parts.name);
      struct stat status = {};
      target.may_be_there = folder.may_be_there && ::lstat(target.path.c_str(), &status) == 0;
      if (target.may_be_there && S_ISLNK(status.st_mode)) {
        target.path = way_to(target.path).back().path.string();
      }
    }
    return found_.emplace(path, std::move(target)).first->second;
  }

  std::map<std::string, Target, std::less<>> found_;
  std::map<std::string, std::vector<std::string>, std::less<>> links_;
};

}  // namespace

bool is_below(const fs::path& path, const fs::path& folder) {
  const std::string& inner = path.native();
  const std::string& outer = folder.native();
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || outer.ends_with('/') || inner[outer.size()] == '/');
}

std::vector<fs::path> outermost(std::vector<fs::path> folders) {
  std::ranges::sort(folders);
  std::vector<fs::path> outer;
  for (fs::path& folder : folders) {
    if (outer.empty() || !is_below(folder, outer.back())) {
      outer.push_back(std::move(folder));
    }
  }
  return outer;
}

Homes find_homes(const agent::Environment& environment) {
  Homes homes;
  add_home(homes.own, agent::value_of(environment, "HOME"));
  add_own_entry(homes.own);
  std::vector<fs::path> all = homes.own;
  add_home(all, "/root");
  add_home(all, "/home");
  add_people(all);
  homes.closed = outermost(std::move(all));
  return homes;
}

bool is_of_system(const fs::path& path) {
  return std::ranges::find(k_of_the_system, path.native()) != k_of_the_system.end() ||
         std::ranges::any_of(k_of_the_machine,
                             [&](std::string_view folder) { return is_below(path, folder); });
}

std::vector<std::string> open_places(const fs::path& home) {
  std::vector<std::string> places;
  std::ranges::transform(k_open_in_home, std::back_inserter(places), [&](std::string_view place) {
    return joined(home.native(), place);
  });
  return places;
}

std::vector<std::string> secret_places(std::span<const fs::path> homes) {
  std::vector<std::string> places(k_handed_over.begin(), k_handed_over.end());
  const bool is_root = ::geteuid() == 0;
  for (const std::string_view place : k_of_root) {
    if (is_root || ::access(std::string(place).c_str(), R_OK) == 0) {
      places.emplace_back(place);
    }
  }
  for (const fs::path& home : homes) {
    for (const std::string_view place : k_in_home) {
      places.push_back(joined(home.native(), place));
    }
  }
  return places;
}

std::vector<std::string> led_to(std::span<const std::string> places) {
  Targets leads;
  std::vector<std::string> targets;
  const auto add = [&](const std::string& place, const std::string& real) {
    if (real != place && std::ranges::find(k_of_the_system, real) == k_of_the_system.end()) {
      targets.push_back(real);
    }
  };
  for (const std::string& place : places) {
    if (!place.ends_with('*')) {
      add(place, leads.of(place));
      continue;
    }
    const PathParts pattern(place);
    const std::string folder = leads.of(pattern.folder);
    add(place, joined(folder, pattern.name));
    for (const std::string& name : leads.links_in(folder)) {
      if (name.starts_with(pattern.name.substr(0, pattern.name.size() - 1))) {
        const std::string link = joined(folder, name);
        add(link, leads.of(link));
      }
    }
  }
  return targets;
}

std::vector<std::string> open_place_names() {
  std::vector<std::string> names;
  for (const std::string_view place : k_open_in_home) {
    names.push_back("~/" + std::string(place));
  }
  return names;
}

std::vector<std::string> secret_place_names() {
  std::vector<std::string> names;
  for (const std::string_view place : k_in_home) {
    names.push_back("~/" + std::string(place));
  }
  names.insert(names.end(), k_handed_over.begin(), k_handed_over.end());
  names.insert(names.end(), k_of_root.begin(), k_of_root.end());
  return names;
}

std::span<const std::string_view> harmless_devices() {
  static constexpr auto k_devices = std::to_array<std::string_view>(
      {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"});
  return k_devices;
}

std::vector<fs::path> locked_places(const fs::path& folder) {
  return {folder / ".errand", folder / ".git"};
}

}  // namespace tools::sandbox
