// Namespaces of its own for a shim and its programs.
#pragma once
#include "agent/descriptor.h"

namespace tools::sandbox {

// Where the proxy of a private network listens; nobody else is there to take the port.
constexpr const char* k_outlet_address = "127.0.0.1";
constexpr int k_outlet_port = 3128;

// Moves this process, which must be single-threaded, into namespaces of its own for mounts and
// System V's shared memory, and for the network where `wants_network` is set and the kernel lets
// it; as an ordinary user into a user namespace, too, in which it keeps its own ids.
struct Namespaces {
  bool are_there = false;  // else nothing has changed
  bool has_network = false;
};
Namespaces enter_namespaces(bool wants_network);

// Where the proxy is to take connections from: in a private network, which has only its loopback,
// that this switches on. Does not block. Empty where the kernel refuses.
agent::Descriptor listen_in_private_network();

}  // namespace tools::sandbox
