// The one way out of a network of its own: an HTTP proxy inside errand that connects to allowed
// hosts alone. It lives as long as one program.
#pragma once
#include "agent/descriptor.h"
#include "agent/dialer.h"
#include "tools/web/host_list.h"

#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace tools {

class EgressProxy {
 public:
  // All borrowed. `listener`: a listening TCP socket in the programs' network. os.failed: no
  // thread or no descriptor is left.
  static agent::Result<std::unique_ptr<EgressProxy>> open(int listener,
                                                          const HostList& hosts,
                                                          agent::Dialer& dialer);
  EgressProxy(const EgressProxy&) = delete;
  EgressProxy& operator=(const EgressProxy&) = delete;
  ~EgressProxy();  // cuts what is still connected; nobody may be left who connects

  // "example.com:443", each once: what was asked for and is not allowed.
  std::vector<std::string> refused() const;

 private:
  struct Connection;

  EgressProxy(int listener, const HostList& hosts, agent::Dialer& dialer, agent::Descriptor wake);

  void accept_connections(const std::stop_token& stop);
  void begin(agent::Descriptor client, const std::stop_token& stop);
  void serve(int client, const std::stop_token& stop);
  agent::Result<agent::Descriptor> connect(const std::string& host,
                                           int port,
                                           const std::stop_token& stop);
  void note_refused(const std::string& name);

  int listener_;
  const HostList& hosts_;
  agent::Dialer& dialer_;
  agent::Descriptor wake_;  // readable for good once the end has come
  mutable std::mutex mutex_;
  std::set<std::string> refused_;      // under mutex_
  std::list<Connection> connections_;  // the acceptor's own
  std::jthread acceptor_;              // last: ends before the rest
};

}  // namespace tools
