// The hosts that confined programs may reach: `sandbox.allow_hosts`.
#pragma once
#include "agent/result.h"
#include "tools/web/url.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

class HostList {
 public:
  // Each is HOST, *.DOMAIN (what is below it, not the domain itself), either with :PORT.
  // config.invalid.
  static agent::Result<HostList> create(std::span<const std::string> texts);

  // public_only: by a pattern, whose names others may hand out.
  enum class Access : std::uint8_t { none, public_only, any };
  // `host` in its canonical form (HostPort).
  Access access(std::string_view host, int port) const;

 private:
  struct Entry {
    HostPort host;
    bool is_pattern = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace tools
