#include "tools/process/harmless_variables.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace tools {
namespace {

// What says how and where to work, and never who one is. Sorted.
// clang-format off
constexpr auto k_harmless = std::to_array<std::string_view>({
    "ACLOCAL_PATH", "ANDROID_HOME", "ANDROID_NDK_HOME", "ANDROID_SDK_ROOT", "ANT_HOME", "AR", "AS",
    "ASAN_OPTIONS", "ASDF_DATA_DIR", "ASDF_DIR", "BUNDLE_GEMFILE", "BUNDLE_JOBS", "BUNDLE_PATH",
    "BUNDLE_WITHOUT", "BUN_INSTALL", "CABAL_DIR", "CAML_LD_LIBRARY_PATH", "CARGO_BUILD_JOBS",
    "CARGO_BUILD_TARGET", "CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE",
    "CARGO_TARGET_DIR", "CARGO_TERM_COLOR", "CC", "CCACHE_BASEDIR", "CCACHE_COMPILERCHECK",
    "CCACHE_CONFIGPATH", "CCACHE_DIR", "CCACHE_MAXSIZE", "CCACHE_SLOPPINESS", "CFLAGS",
    "CGO_CFLAGS", "CGO_ENABLED", "CGO_LDFLAGS", "CHROME_BIN", "CI", "CLICOLOR", "CLICOLOR_FORCE",
    "CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_EXPORT_COMPILE_COMMANDS", "CMAKE_GENERATOR",
    "CMAKE_PREFIX_PATH", "CMAKE_TOOLCHAIN_FILE", "COLORTERM", "COLUMNS", "CONAN_HOME",
    "CONDA_DEFAULT_ENV", "CONDA_EXE", "CONDA_PREFIX", "CONDA_PYTHON_EXE", "CONDA_SHLVL",
    "COREPACK_HOME", "CPATH", "CPLUS_INCLUDE_PATH", "CPP", "CPPFLAGS", "CTEST_OUTPUT_ON_FAILURE",
    "CTEST_PARALLEL_LEVEL", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CURL_CA_BUNDLE",
    "CXX", "CXXFLAGS", "CYPRESS_CACHE_FOLDER", "C_INCLUDE_PATH", "DEBIAN_FRONTEND", "DENO_DIR",
    "DENO_INSTALL_ROOT", "DOTNET_CLI_TELEMETRY_OPTOUT", "DOTNET_NOLOGO", "DOTNET_ROOT", "EDITOR",
    "FC", "FFLAGS", "FNM_DIR", "FNM_MULTISHELL_PATH", "FORCE_COLOR", "GEM_HOME", "GEM_PATH",
    "GHCUP_INSTALL_BASE_PREFIX", "GITHUB_ACTIONS", "GITLAB_CI", "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE", "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME", "GIT_EDITOR", "GIT_PAGER", "GIT_SSL_CAINFO", "GIT_TERMINAL_PROMPT",
    "GO111MODULE", "GOAMD64", "GOARCH", "GOARM", "GOBIN", "GOCACHE", "GOEXPERIMENT", "GOFLAGS",
    "GOMAXPROCS", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOOS", "GOPATH", "GOPRIVATE", "GOROOT",
    "GOSUMDB", "GOTMPDIR", "GOTOOLCHAIN", "GOWORK", "GRADLE_HOME", "GRADLE_USER_HOME", "HEX_HOME",
    "HOME", "HOMEBREW_CELLAR", "HOMEBREW_PREFIX", "HOMEBREW_REPOSITORY", "HOSTNAME", "INFOPATH",
    "JAVA_HOME", "JDK_HOME", "JRE_HOME", "JULIA_DEPOT_PATH", "KOTLIN_HOME", "LANG", "LANGUAGE",
    "LD", "LDFLAGS", "LDLIBS", "LD_LIBRARY_PATH", "LD_RUN_PATH", "LIBCLANG_PATH", "LIBRARY_PATH",
    "LINES", "LLVM_CONFIG_PATH", "LOGNAME", "LSAN_OPTIONS", "LS_COLORS", "LUA_CPATH", "LUA_PATH",
    "M2_HOME", "MAKE", "MAMBA_ROOT_PREFIX", "MANPAGER", "MANPATH", "MAVEN_HOME", "MISE_DATA_DIR",
    "MIX_ENV", "MIX_HOME", "MKL_NUM_THREADS", "MPLBACKEND", "MSAN_OPTIONS", "NINJA_STATUS",
    "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "NM", "NODE_ENV", "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS", "NODE_PATH", "NO_COLOR", "NUGET_PACKAGES", "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "NVM_BIN", "NVM_DIR", "NVM_INC", "OBJCOPY", "OBJDUMP",
    "OCAML_TOPLEVEL_PATH", "OMP_NUM_THREADS", "OPAMROOT", "OPAM_SWITCH_PREFIX",
    "OPENBLAS_NUM_THREADS", "OPENSSL_DIR", "PAGER", "PATH", "PERL5LIB", "PERL_LOCAL_LIB_ROOT",
    "PERL_MB_OPT", "PERL_MM_OPT", "PIPX_HOME", "PIP_CACHE_DIR", "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_INDEX", "PIP_REQUIRE_VIRTUALENV", "PKG_CONFIG", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_PATH",
    "PKG_CONFIG_SYSROOT_DIR", "PLAYWRIGHT_BROWSERS_PATH", "PNPM_HOME", "POETRY_HOME",
    "POETRY_VIRTUALENVS_CREATE", "POETRY_VIRTUALENVS_IN_PROJECT", "PROTOC",
    "PUPPETEER_EXECUTABLE_PATH", "PWD", "PYENV_ROOT", "PYENV_VERSION", "PYTEST_ADDOPTS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED", "PYTHONHOME", "PYTHONIOENCODING", "PYTHONNOUSERSITE", "PYTHONPATH",
    "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONWARNINGS", "QT_QPA_PLATFORM",
    "RACK_ENV", "RAILS_ENV", "RANLIB", "RBENV_ROOT", "RBENV_VERSION", "REQUESTS_CA_BUNDLE",
    "RUBYLIB", "RUBYOPT", "RUSTC", "RUSTC_WRAPPER", "RUSTDOCFLAGS", "RUSTFLAGS", "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS", "R_HOME", "R_LIBS",
    "R_LIBS_USER", "SCALA_HOME", "SCCACHE_DIR", "SDKMAN_CANDIDATES_DIR", "SDKMAN_DIR", "SHELL",
    "SOURCE_DATE_EPOCH", "SSL_CERT_DIR", "SSL_CERT_FILE", "STACK_ROOT", "STRIP", "TERM",
    "TERMINFO", "TERMINFO_DIRS", "TMPDIR", "TSAN_OPTIONS", "TZ", "UBSAN_OPTIONS", "USER",
    "UV_CACHE_DIR", "UV_LINK_MODE", "UV_OFFLINE", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON",
    "UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "VCPKG_ROOT", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT",
    "VISUAL", "VOLTA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_STATE_HOME", "YARN_CACHE_FOLDER",
    "ZIG_GLOBAL_CACHE_DIR", "npm_config_cache", "npm_config_prefix", "npm_config_yes"});

// Addresses: harmless as long as nobody's name and password are in them. Sorted.
constexpr auto k_addresses = std::to_array<std::string_view>({
    "ALL_PROXY", "FTP_PROXY", "GOPROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
    "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "UV_INDEX_URL", "all_proxy",
    "ftp_proxy", "http_proxy", "https_proxy", "no_proxy", "npm_config_registry"});
// clang-format on

// clang-format off
constexpr auto k_outside = std::to_array<std::string_view>({
    "ALL_PROXY", "CI", "FTP_PROXY", "HOME", "HTTPS_PROXY", "HTTP_PROXY", "LANG", "LANGUAGE", "LOGNAME",
    "NO_COLOR", "NO_PROXY", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TMPDIR", "TZ",
    "USER", "all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy"});
// clang-format on

constexpr std::string_view k_locale = "LC_";

static_assert(std::ranges::is_sorted(k_outside));

static_assert(std::ranges::is_sorted(k_harmless) && std::ranges::is_sorted(k_addresses));

// "https://name:word@host", also in the middle of an option, or "name:word@host".
bool has_credentials(std::string_view value) {
  static const RE2 pattern(R"(://[^\s"'<>/][^\s"'<>]*@|[^\s/@:]:[^\s/@]*@)");
  return RE2::PartialMatch(value, pattern);
}

bool is_harmless(std::string_view name, std::string_view value) {
  if (has_credentials(value)) {
    return false;
  }
  return name.starts_with(k_locale) || std::ranges::binary_search(k_harmless, name) ||
         (std::ranges::binary_search(k_addresses, name) && !value.contains('@'));
}

}  // namespace

agent::Environment harmless_variables(const agent::Environment& environment) {
  agent::Environment harmless;
  std::ranges::copy_if(environment, std::inserter(harmless, harmless.end()), [](const auto& one) {
    return is_harmless(one.first, one.second);
  });
  return harmless;
}

agent::Environment variables_outside(const agent::Environment& environment) {
  agent::Environment outside = harmless_variables(environment);
  std::erase_if(outside, [](const auto& one) {
    return !one.first.starts_with(k_locale) && !std::ranges::binary_search(k_outside, one.first);
  });
  return outside;
}

std::vector<std::string> names_outside() {
  std::vector<std::string> names(k_outside.begin(), k_outside.end());
  names.push_back(std::string(k_locale) + "*");
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> harmless_variable_names() {
  std::vector<std::string> names(k_harmless.begin(), k_harmless.end());
  names.insert(names.end(), k_addresses.begin(), k_addresses.end());
  names.push_back(std::string(k_locale) + "*");
  std::ranges::sort(names);
  return names;
}

}  // namespace tools
