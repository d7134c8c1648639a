// Which addresses of the internet are no public ones: this machine, its networks, and what is
// reserved. Asked of a socket's address, after names are resolved.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct sockaddr;

namespace tools {

struct AddressRange {
  std::string_view first;  // "10.0.0.0"; the family by its form
  int bits;
  std::string_view name;
};

// The special-purpose registries of IANA (RFC 6890 and its updates), multicast, and what a cloud
// answers at a public address.
std::span<const AddressRange> reserved_addresses();

// What the address is reserved for ("loopback"); empty: it is a public one.
std::string_view reserved_for(const sockaddr& address);

// The same of a URL's host where that is an address ("127.0.0.1", "[::1]"); empty: it is a name.
std::string_view reserved_for(std::string_view host);

// Without the port: "10.0.0.1", "::1".
std::string to_text(const sockaddr& address);

}  // namespace tools
