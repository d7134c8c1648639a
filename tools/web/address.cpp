#include "tools/web/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace tools {
namespace {

// https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry, all
// that is not globally reachable or is deprecated, and the registries of multicast addresses. And
// what looks public and is answered by the host that a machine of a cloud runs on.
constexpr std::array k_reserved = {
    AddressRange{"0.0.0.0", 8, "this network"},
    AddressRange{"10.0.0.0", 8, "private use"},
    AddressRange{"100.64.0.0", 10, "shared by carriers (CGNAT)"},
    AddressRange{"127.0.0.0", 8, "loopback"},
    AddressRange{"168.63.129.16", 32, "Azure's wire server"},
    AddressRange{"169.254.0.0", 16, "link-local"},
    AddressRange{"172.16.0.0", 12, "private use"},
    AddressRange{"192.0.0.0", 24, "protocol assignments"},
    AddressRange{"192.0.2.0", 24, "documentation"},
    AddressRange{"192.88.99.0", 24, "6to4 relays"},
    AddressRange{"192.168.0.0", 16, "private use"},
    AddressRange{"198.18.0.0", 15, "benchmarks"},
    AddressRange{"198.51.100.0", 24, "documentation"},
    AddressRange{"203.0.113.0", 24, "documentation"},
    AddressRange{"224.0.0.0", 4, "multicast"},
    AddressRange{"240.0.0.0", 4, "reserved"},

    AddressRange{"::", 128, "unspecified"},
    AddressRange{"::1", 128, "loopback"},
    AddressRange{"::", 96, "IPv4-compatible"},
    AddressRange{"::ffff:0:0", 96, "IPv4-mapped"},
    AddressRange{"64:ff9b:1::", 48, "local NAT64"},
    AddressRange{"100::", 64, "discard"},
    AddressRange{"100:0:0:1::", 64, "dummy"},
    AddressRange{"2001::", 32, "Teredo"},
    AddressRange{"2001::", 23, "protocol assignments"},
    AddressRange{"2001:db8::", 32, "documentation"},
    AddressRange{"2002::", 16, "6to4"},
    AddressRange{"3fff::", 20, "documentation"},
    AddressRange{"5f00::", 16, "segment routing"},
    AddressRange{"fc00::", 7, "unique local"},
    AddressRange{"fe80::", 10, "link-local"},
    AddressRange{"fec0::", 10, "site-local"},
    AddressRange{"ff00::", 8, "multicast"},
};

// What is reached through them is an IPv4 address in their last 32 bits.
constexpr AddressRange k_nat64{"64:ff9b::", 96, "NAT64"};
constexpr AddressRange k_global_unicast{"2000::", 3, "global unicast"};

using Bytes = std::array<std::uint8_t, 16>;

struct Address {
  Bytes bytes{};
  std::size_t size = 0;  // 4 or 16; 0: of another family
};

Address read(const sockaddr& address) {
  Address read;
  if (address.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    std::memcpy(read.bytes.data(), &four.sin_addr, 4);
    read.size = 4;
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    std::memcpy(read.bytes.data(), &six.sin6_addr, 16);
    read.size = 16;
  }
  return read;
}

bool is_in(const AddressRange& range, const Address& address) {
  Bytes first{};
  const bool is_six = range.first.contains(':');
  if ((is_six ? 16 : 4) != address.size ||
      ::inet_pton(is_six ? AF_INET6 : AF_INET, std::string(range.first).c_str(), first.data()) !=
          1) {
    return false;
  }
  for (int bit = 0; bit < range.bits; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if (((first[at] ^ address.bytes[at]) & mask) != 0) {
      return false;
    }
  }
  return true;
}

std::string_view reserved_for(const Address& address) {
  if (address.size == 0) {
    return "of no internet family";
  }
  if (is_in(k_nat64, address)) {
    Address inner{.size = 4};
    std::copy_n(address.bytes.begin() + 12, 4, inner.bytes.begin());
    return reserved_for(inner);
  }
  const auto found = std::ranges::find_if(
      k_reserved, [&](const AddressRange& range) { return is_in(range, address); });
  if (found != k_reserved.end()) {
    return found->name;
  }
  return address.size == 16 && !is_in(k_global_unicast, address) ? "not assigned" : "";
}

}  // namespace

std::span<const AddressRange> reserved_addresses() {
  return k_reserved;
}

std::string_view reserved_for(const sockaddr& address) {
  return reserved_for(read(address));
}

std::string_view reserved_for(std::string_view host) {
  std::string text(host);
  const bool is_six = text.starts_with('[') && text.ends_with(']');
  text = is_six ? text.substr(1, text.size() - 2) : text;
  Address address{.size = text.contains(':') ? std::size_t{16} : std::size_t{4}};
  const int family = address.size == 16 ? AF_INET6 : AF_INET;
  return ::inet_pton(family, text.c_str(), address.bytes.data()) == 1 ? reserved_for(address) : "";
}

std::string to_text(const sockaddr& address) {
  const Address bytes = read(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* const written =
      bytes.size == 0
          ? nullptr
          : ::inet_ntop(address.sa_family, bytes.bytes.data(), text.data(), text.size());
  return written == nullptr ? "?" : written;
}

}  // namespace tools
