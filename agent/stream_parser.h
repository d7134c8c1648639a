// How an answer's bytes fall into events: one kind of framing a subclass. Knows no protocol.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

struct StreamEvent {
  std::string name;  // empty: none was sent
  std::string data;

  bool operator==(const StreamEvent&) const = default;
};

class StreamParser {
 public:
  // Returning false stops the parser for good.
  using OnEvent = std::function<bool(const StreamEvent&)>;

  virtual ~StreamParser() = default;
  // Takes the bytes as they come, cut anywhere.
  virtual void feed(std::string_view bytes, const OnEvent& on_event) = 0;
  // Bytes of the event that is not yet whole.
  virtual std::size_t pending() const = 0;
  // Comments that have come: some servers send them so that a connection is not taken for dead.
  virtual std::size_t comments() const { return 0; }
  // The event that the last byte left without its end, if there is one with data.
  virtual std::optional<StreamEvent> finish() = 0;
  // Whether what came so far can be such a stream.
  virtual bool is_plausible() const = 0;
  // Which limit it is over, as "has a frame of … bytes, …"; empty: none.
  virtual std::string over_limit() const { return {}; }
};

}  // namespace agent
