#include "tools/process/cache_variables.h"

#include <array>
#include <string>
#include <string_view>
#include <system_error>

namespace tools {
namespace {

struct Cache {
  std::string_view variable;
  std::string_view in_home;  // where it is if the variable does not say
  std::string_view in_temporary;
};
constexpr auto k_caches = std::to_array<Cache>({
    {"XDG_CACHE_HOME", ".cache", "cache"},
    {"CCACHE_DIR", ".cache/ccache", "cache/ccache"},
    {"GOCACHE", ".cache/go-build", "cache/go-build"},
    {"PIP_CACHE_DIR", ".cache/pip", "cache/pip"},
    {"npm_config_cache", ".npm", "cache/npm"},
});

}  // namespace

agent::Environment cache_variables(const agent::Environment& environment,
                                   const sandbox::Policy& policy,
                                   const std::filesystem::path& temporary) {
  const std::filesystem::path home = agent::value_of(environment, "HOME");
  agent::Environment variables;
  for (const Cache& cache : k_caches) {
    const std::string_view named = agent::value_of(environment, cache.variable);
    const std::filesystem::path users = named.empty() ? home / cache.in_home : named;
    std::error_code ignored;
    const bool is_open = policy.writing(std::filesystem::weakly_canonical(users, ignored)) ==
                         sandbox::Verdict::allowed;
    variables.emplace(cache.variable, (is_open ? users : temporary / cache.in_temporary).string());
  }
  return variables;
}

}  // namespace tools
