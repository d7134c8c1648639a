// Whose key goes where: to which servers the value of a variable of the environment may be sent.
// What is not allowed here is refused: an agent file comes from anywhere, and names both.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "agent/result.h"
#include "providers/http/url.h"
#include "providers/presets.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace providers {

// All of the network, as a request and as an entry; below a domain: https://*.DOMAIN.
inline constexpr std::string_view k_anywhere = "*";

// A value that is about to go to a server.
struct KeyRequest {
  // How the agent file names it. A text is all but what is named: the prompt, a tool, … A program
  // is one that is given the value and can reach the server. Told is a text, too, of which programs
  // or web_fetch come to hear that can reach the server. A client's is one that shows an
  // authorization server who asks; a login's is what else it is told with that, by `oauth` and by
  // the address of the server that it is for.
  enum class Place : std::uint8_t { key, header, address, text, program, told, client, login };

  std::string variable;
  Origin origin;
  Place place = Place::key;
  std::optional<agent::Where> where;  // in the agent file

  // The line of the user's settings, and the option, that allow it.
  std::string setting() const;
  std::string option() const;
};

class KeyHosts {
 public:
  // Loopback, and each preset's own origins for its key; where the environment names the address of
  // a preset, that is one of them.
  explicit KeyHosts(const agent::Environment& environment);

  // More, by the user's own word. k_anywhere: every server.
  void allow(std::string variable, Origin origin);

  // Loopback is from now on as any other server: programs of a stranger can listen there.
  void share_loopback() { is_loopback_shared_ = true; }

  // A text may go to every origin that is known here. A key that no provider here has as its own
  // may go to any of them: `api_key_env` is how a model's own is named.
  bool allows(const KeyRequest& request) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> origins_;  // by variable
  std::set<std::string> addresses_;  // of presets, as the environment names them
  bool is_loopback_shared_ = false;
};

// Says yes, or an Error of config.invalid.
using KeyCheck = std::function<agent::Result<void>(const KeyRequest&)>;
KeyCheck strict_check(KeyHosts hosts);
agent::Error refusal(const KeyRequest& request);
std::string shown(const Origin& origin);  // in a sentence

// Whether the provider has this origin besides what its variables say.
bool is_own_origin(const Preset& preset, const Origin& origin);

}  // namespace providers
