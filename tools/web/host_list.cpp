#include "tools/web/host_list.h"

#include <algorithm>

namespace tools {
namespace {

constexpr std::string_view k_below = "*.";

bool is_below(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() + 1 && host.ends_with(domain) &&
         host[host.size() - domain.size() - 1] == '.';
}

}  // namespace

agent::Result<HostList> HostList::create(std::span<const std::string> texts) {
  HostList list;
  for (const std::string_view text : texts) {
    const bool is_pattern = text.starts_with(k_below);
    TRY_ASSIGN(HostPort host, parse_host(is_pattern ? text.substr(k_below.size()) : text));
    list.entries_.push_back({.host = std::move(host), .is_pattern = is_pattern});
  }
  return list;
}

HostList::Access HostList::access(std::string_view host, int port) const {
  Access access = Access::none;
  for (const Entry& entry : entries_) {
    if (!entry.host.covers_port(port)) {
      continue;
    }
    if (entry.is_pattern ? is_below(host, entry.host.host) : host == entry.host.host) {
      access = std::max(access, entry.is_pattern ? Access::public_only : Access::any);
    }
  }
  return access;
}

}  // namespace tools
