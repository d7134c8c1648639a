// HTTP/1.1 requests out of the bytes of one connection. What may be read in two ways is refused.
#pragma once
#include "agent/http.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

// `headers` have their names in lower case, and their values without blanks around them.
struct ReceivedRequest {
  std::string method;
  std::string path;  // as it was sent, without a query
  agent::Headers headers;
  std::string body;
  bool is_last = false;      // of its connection
  bool knows_chunks = true;  // else a stream ends with the connection
};

class RequestReader {
 public:
  static constexpr std::size_t k_most_head_bytes = 16u << 10;

  explicit RequestReader(std::size_t most_body_bytes) : most_body_bytes_(most_body_bytes) {}

  enum class State : std::uint8_t {
    head,     // more of it is to come
    judging,  // the head is there: who reads on says so with accept()
    body,
    done,     // take() has it
    refused,  // the connection is of no more use
  };

  State feed(std::string_view bytes);
  State state() const { return state_; }
  State accept();  // the head: its body may come
  // Of the request whose head is there.
  const ReceivedRequest& head() const { return request_; }
  bool wants_to_be_told_to_continue() const;
  // The whole of it. What came behind it is the beginning of the next one.
  ReceivedRequest take();
  // The HTTP status of one that is refused, and why.
  int status() const { return status_; }
  const std::string& why() const { return why_; }
  std::size_t buffered() const { return buffer_.size() + request_.body.size(); }  // bytes
  bool has_begun() const { return !buffer_.empty() || state_ != State::head; }

 private:
  State advance();
  State refuse(int status, std::string why);
  State read_head(std::string_view head);
  bool read_first_line(std::string_view line);
  bool read_header(std::string_view line);
  State read_framing();
  State read_length(std::string_view length);
  State read_chunks();
  bool read_chunk_line(std::string_view line);

  std::size_t most_body_bytes_;
  State state_ = State::head;
  std::string buffer_;
  ReceivedRequest request_;
  // What of a body by chunks comes next.
  enum class Part : std::uint8_t { none, size, data, end_of_data, trailer };

  std::size_t body_bytes_ = 0;  // of the body; by chunks, of what is left of this one
  Part part_ = Part::none;      // none: the body has its length
  std::size_t framing_ = 0;     // bytes of the lines around chunks
  int status_ = 0;
  std::string why_;
};

}  // namespace cli
