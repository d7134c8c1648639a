#include "tools/web/address.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

namespace {

struct Address {
  explicit Address(const std::string& text) {
    const bool is_six = text.find(':') != std::string::npos;
    storage.ss_family = is_six ? AF_INET6 : AF_INET;
    void* const to = is_six
                         ? static_cast<void*>(&reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr)
                         : static_cast<void*>(&reinterpret_cast<sockaddr_in*>(&storage)->sin_addr);
    REQUIRE(::inet_pton(storage.ss_family, text.c_str(), to) == 1);
  }
  const sockaddr& get() const { return *reinterpret_cast<const sockaddr*>(&storage); }

  sockaddr_storage storage{};
};

std::string name_of(const std::string& text) {
  return std::string(tools::reserved_for(Address(text).get()));
}

}  // namespace

TEST_CASE("addresses: both ends of a reserved range are in it, their neighbours are not",
          "[tools]") {
  struct Row {
    const char* before;  // "": reserved, too
    const char* first;
    const char* last;
    const char* after;
    const char* name;
  };
  const auto row = GENERATE(values<Row>({
      {"", "0.0.0.0", "0.255.255.255", "1.0.0.0", "this network"},
      {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", "private use"},
      {"100.63.255.255",
       "100.64.0.0",
       "100.127.255.255",
       "100.128.0.0",
       "shared by carriers (CGNAT)"},
      {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", "loopback"},
      {"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", "Azure's wire server"},
      {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "link-local"},
      {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", "private use"},
      {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "protocol assignments"},
      {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", "documentation"},
      {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", "6to4 relays"},
      {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", "private use"},
      {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "benchmarks"},
      {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", "documentation"},
      {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", "documentation"},
      {"223.255.255.255", "224.0.0.0", "239.255.255.255", "", "multicast"},
      {"", "240.0.0.0", "255.255.255.255", "", "reserved"},
      {"2000:ffff::", "2001::", "2001:0:ffff::", "", "Teredo"},
      {"", "2001:1::", "2001:1ff:ffff::", "2001:200::", "protocol assignments"},
      {"2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::", "documentation"},
      {"2001:ffff::", "2002::", "2002:ffff::", "2003::", "6to4"},
      {"3ffe::1", "3fff::", "3fff:fff::", "3fff:1000::", "documentation"},
  }));
  INFO(row.first);

  CHECK(name_of(row.first) == row.name);
  CHECK(name_of(row.last) == row.name);
  for (const std::string neighbour : {row.before, row.after}) {
    CHECK((neighbour.empty() || name_of(neighbour).empty()));
  }
}

TEST_CASE("addresses: IPv6 that is no global unicast is reserved", "[tools]") {
  struct Row {
    const char* address;
    const char* name;
  };
  const auto row = GENERATE(values<Row>({{"::", "unspecified"},
                                         {"::1", "loopback"},
                                         {"::7f00:1", "IPv4-compatible"},
                                         {"::ffff:127.0.0.1", "IPv4-mapped"},
                                         {"::ffff:8.8.8.8", "IPv4-mapped"},
                                         {"64:ff9b:1::a00:1", "local NAT64"},
                                         {"100::1", "discard"},
                                         {"100:0:0:1::1", "dummy"},
                                         {"5f00::1", "segment routing"},
                                         {"fc00::1", "unique local"},
                                         {"fdff:ffff::1", "unique local"},
                                         {"fe80::1", "link-local"},
                                         {"febf::1", "link-local"},
                                         {"fec0::1", "site-local"},
                                         {"ff02::1", "multicast"},
                                         {"4000::1", "not assigned"},
                                         {"1fff::1", "not assigned"}}));
  INFO(row.address);
  CHECK(name_of(row.address) == row.name);
}

TEST_CASE("addresses: behind NAT64 the IPv4 address counts", "[tools]") {
  CHECK(name_of("64:ff9b::127.0.0.1") == "loopback");
  CHECK(name_of("64:ff9b::169.254.169.254") == "link-local");
  CHECK(name_of("64:ff9b::168.63.129.16") == "Azure's wire server");
  CHECK(name_of("64:ff9b::8.8.8.8").empty());
}

TEST_CASE("addresses: public ones are nobody's secret", "[tools]") {
  CHECK(name_of("8.8.8.8").empty());
  CHECK(name_of("2606:4700::1111").empty());
  CHECK(tools::to_text(Address("2606:4700::1111").get()) == "2606:4700::1111");
}

TEST_CASE("addresses: what is none of the internet is refused", "[tools]") {
  sockaddr_storage local{};
  local.ss_family = AF_UNIX;
  CHECK(tools::reserved_for(*reinterpret_cast<const sockaddr*>(&local)) == "of no internet family");
}
