// Where a login is kept between runs: one file in the user's state folder, readable by the user
// alone, and changed by one process at a time.
#pragma once
#include "agent/clock.h"
#include "agent/descriptor.h"
#include "agent/json.h"
#include "agent/result.h"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tools::oauth {

// What was got for one MCP server. Without an access token it is no login, but may say what the
// next one has to ask for.
struct Login {
  std::string server;    // its address
  std::string issuer;    // who gave the tokens
  std::string resource;  // what they are for (RFC 8707)
  std::string token_endpoint;
  std::string client_id;
  std::string client_secret;  // of a client that was registered on the way; else empty
  std::string client_auth;    // how the client says who it is: "client_secret_basic", …
  std::string access_token;
  std::string refresh_token;        // empty: none
  std::int64_t got = 0;             // when, in seconds since 1970
  std::int64_t expires = 0;         // likewise; 0: not said
  std::vector<std::string> scopes;  // that the tokens have, or were asked for with
  std::vector<std::string> wanted;  // that the server has asked for since

  bool operator==(const Login&) const = default;
};

agent::Json json_of(const Login& login);
// nullopt: no such object, or something in it is of another type.
std::optional<Login> login_of(const agent::Json& json);

class LoginStore {
 public:
  // `name` are the parts that tell the login from all others. Makes nothing.
  LoginStore(std::filesystem::path folder, std::initializer_list<std::string_view> name);

  // nullopt: there is none. mcp.auth: the file is not one of this program's, or others can read it.
  agent::Result<std::optional<Login>> load() const;
  // Makes the folder (0700) where it is missing; the file is 0600, and there as a whole or not at
  // all. storage.io.
  agent::Result<void> save(const Login& login) const;
  // False: there was none. storage.io.
  agent::Result<bool> remove() const;

  // Held until the descriptor is closed; of all processes, and all threads, one has it. Waits a
  // minute at most. storage.io, run.cancelled.
  agent::Result<agent::Descriptor> lock(agent::Clock& clock, std::stop_token stop) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  agent::Result<void> make_folder() const;

  std::filesystem::path folder_;
  std::filesystem::path file_;
};

}  // namespace tools::oauth
