#include "tools/sandbox/places.h"

#include <algorithm>
#include <array>
#include <pwd.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace tools::sandbox {
namespace {

namespace fs = std::filesystem;

// Below a home folder. A `*` at the end stands for any rest of the name.
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

constexpr auto k_of_the_machine = std::to_array<std::string_view>({
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/private",
    "/run/secrets",
    "/var/run/secrets",
    "/etc/krb5.keytab",
});

constexpr auto k_of_a_repository =
    std::to_array<std::string_view>({"hooks", "config", "config.worktree"});

// Most are not there, which one look tells; canonical() would take one for each step of the way.
void add_real(std::vector<fs::path>& places, const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return;
  }
  fs::path real = fs::canonical(path, error);
  if (!error && real != "/") {
    places.push_back(std::move(real));
  }
}

void add_matches(std::vector<fs::path>& places, const fs::path& pattern) {
  std::string name = pattern.filename().string();
  if (!name.ends_with('*')) {
    add_real(places, pattern);
    return;
  }
  name.pop_back();
  std::error_code error;
  for (fs::directory_iterator entry(pattern.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(name)) {
      add_real(places, entry->path());
    }
  }
}

}  // namespace

bool is_below(const fs::path& path, const fs::path& folder) {
  const std::string& inner = path.native();
  const std::string& outer = folder.native();
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || outer.ends_with('/') || inner[outer.size()] == '/');
}

std::vector<fs::path> home_folders(const agent::Environment& environment) {
  std::vector<fs::path> homes;
  const auto add = [&](std::string_view home) {
    if (home.starts_with('/') && std::ranges::find(homes, fs::path(home)) == homes.end()) {
      homes.emplace_back(home);
    }
  };
  add(agent::value_of(environment, "HOME"));
  std::array<char, 16'384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    add(found->pw_dir);
  }
  return homes;
}

std::vector<fs::path> secret_places(std::span<const fs::path> homes) {
  std::vector<fs::path> places;
  for (const fs::path& home : homes) {
    for (const std::string_view place : k_in_home) {
      add_matches(places, home / place);
    }
  }
  for (const std::string_view place : k_of_the_machine) {
    add_matches(places, place);
  }
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  std::vector<fs::path> outer;
  for (const fs::path& place : places) {
    if (std::ranges::none_of(places,
                             [&](const fs::path& o) { return place != o && is_below(place, o); })) {
      outer.push_back(place);
    }
  }
  return outer;
}

std::vector<std::string> secret_place_names() {
  std::vector<std::string> names;
  for (const std::string_view place : k_in_home) {
    names.push_back("~/" + std::string(place));
  }
  names.insert(names.end(), k_of_the_machine.begin(), k_of_the_machine.end());
  return names;
}

std::vector<fs::path> locked_places(const fs::path& folder) {
  std::vector<fs::path> places{folder / ".errand"};
  std::error_code error;
  const fs::path repository = folder / ".git";
  if (!fs::is_directory(repository, error)) {
    return places;
  }
  for (const std::string_view name : k_of_a_repository) {
    places.push_back(repository / name);
  }
  for (fs::directory_iterator entry(repository / "modules", error), end; !error && entry != end;
       entry.increment(error)) {
    for (const std::string_view name : k_of_a_repository) {
      places.push_back(entry->path() / name);
    }
  }
  return places;
}

}  // namespace tools::sandbox
