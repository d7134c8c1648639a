#include "tools/sandbox/places.h"

#include "tools/sandbox/way.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <pwd.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
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

// Where absolute paths lead; each folder on the way is looked at once.
class Targets {
 public:
  const fs::path& of(const fs::path& path) { return find(path).path; }

 private:
  struct Target {
    fs::path path;
    bool may_be_there = true;
  };

  const Target& find(const fs::path& path) {
    if (const auto known = found_.find(path.native()); known != found_.end()) {
      return known->second;
    }
    Target target{.path = path};
    if (path.has_relative_path()) {
      const Target& folder = find(path.parent_path());
      target.path = folder.path / path.filename();
      std::error_code error;
      const fs::file_status status = folder.may_be_there
                                         ? fs::symlink_status(target.path, error)
                                         : fs::file_status(fs::file_type::not_found);
      target.may_be_there = fs::exists(status);
      if (fs::is_symlink(status)) {
        target.path = way_to(target.path).back().path;
      }
    }
    return found_.emplace(path.native(), std::move(target)).first->second;
  }

  std::unordered_map<std::string, Target> found_;
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

std::vector<fs::path> open_places(const fs::path& home) {
  std::vector<fs::path> places;
  std::ranges::transform(k_open_in_home, std::back_inserter(places), [&](std::string_view place) {
    return home / place;
  });
  return places;
}

std::vector<std::string> secret_places(std::span<const fs::path> homes) {
  std::vector<std::string> places(k_handed_over.begin(), k_handed_over.end());
  for (const std::string_view place : k_of_root) {
    if (::geteuid() == 0 || ::access(std::string(place).c_str(), R_OK) == 0) {
      places.emplace_back(place);
    }
  }
  for (const fs::path& home : homes) {
    for (const std::string_view place : k_in_home) {
      places.push_back((home / place).string());
    }
  }
  return places;
}

std::vector<std::string> led_to(std::span<const std::string> places) {
  Targets leads;
  std::vector<std::string> targets;
  const auto add = [&](const std::string& place, const fs::path& real) {
    const bool is_wide = std::ranges::find(k_of_the_system, real.native()) != k_of_the_system.end();
    if (real.native() != place && !is_wide) {
      targets.push_back(real.native());
    }
  };
  for (const std::string& place : places) {
    if (!place.ends_with('*')) {
      add(place, leads.of(place));
      continue;
    }
    const fs::path pattern(place);
    const fs::path folder = leads.of(pattern.parent_path());
    add(place, folder / pattern.filename());
    const std::string begin =
        pattern.filename().string().substr(0, pattern.filename().native().size() - 1);
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (at->is_symlink(error) && at->path().filename().native().starts_with(begin)) {
        add(at->path().native(), leads.of(at->path()));
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
