// Connections by libcurl: names, addresses of both families, proxies.
#pragma once
#include "agent/dialer.h"
#include "agent/environment.h"

#include <string>

namespace providers {

class CurlDialer final : public agent::Dialer {
 public:
  explicit CurlDialer(const agent::Environment& environment);

  // A minute at most.
  agent::Result<agent::Descriptor> dial(const std::string& host,
                                        int port,
                                        const agent::AddressFilter& may_connect,
                                        std::stop_token stop) override;

 private:
  std::string proxy_;
  std::string no_proxy_;
};

}  // namespace providers
