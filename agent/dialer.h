// A connection to a host as a port: what a tunnel is made of.
#pragma once
#include "agent/descriptor.h"
#include "agent/http.h"
#include "agent/result.h"

#include <stop_token>
#include <string>

namespace agent {

class Dialer {
 public:
  virtual ~Dialer() = default;

  // An open TCP connection that does not block; through a proxy where the environment names one.
  // `host` as in a URL. `may_connect` is asked of each address that is tried, but not where a
  // proxy resolves the name. provider.network, provider.timeout, run.cancelled. Thread-safe.
  virtual Result<Descriptor> dial(const std::string& host,
                                  int port,
                                  const AddressFilter& may_connect,
                                  std::stop_token stop) = 0;
};

}  // namespace agent
