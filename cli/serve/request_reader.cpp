#include "cli/serve/request_reader.h"

#include "agent/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace cli {
namespace {

constexpr std::size_t k_most_headers = 100;
constexpr std::size_t k_most_chunk_line = 256;    // bytes
constexpr std::size_t k_most_framing = 1u << 20;  // of lines around chunks, in one request
// Of these a second one would say something else to somebody.
constexpr auto k_once = std::to_array<std::string_view>({"host",
                                                         "content-length",
                                                         "content-type",
                                                         "authorization",
                                                         "origin",
                                                         "mcp-session-id",
                                                         "mcp-protocol-version",
                                                         "mcp-method",
                                                         "mcp-name"});

bool is_field_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

RequestReader::State RequestReader::feed(std::string_view bytes) {
  buffer_.append(bytes);
  return advance();
}

RequestReader::State RequestReader::accept() {
  if (state_ == State::judging) {
    state_ = State::body;
  }
  return advance();
}

RequestReader::State RequestReader::advance() {
  if (state_ == State::head) {
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (std::min(end, buffer_.size()) > k_most_head_bytes) {
      return refuse(431, "the head of the request is too long");
    }
    if (end == std::string::npos) {
      return state_;
    }
    const std::string head = buffer_.substr(0, end);
    buffer_.erase(0, end + 4);
    return read_head(head);
  }
  if (state_ == State::body && part_ != Part::none) {
    return read_chunks();
  }
  if (state_ == State::body && buffer_.size() >= body_bytes_) {
    request_.body = buffer_.substr(0, body_bytes_);
    buffer_.erase(0, body_bytes_);
    state_ = State::done;
  }
  return state_;
}

ReceivedRequest RequestReader::take() {
  state_ = State::head;
  return std::exchange(request_, {});
}

bool RequestReader::wants_to_be_told_to_continue() const {
  return agent::to_lower(agent::header(request_.headers, "expect")) == "100-continue";
}

RequestReader::State RequestReader::refuse(int status, std::string why) {
  status_ = status;
  why_ = std::move(why);
  return state_ = State::refused;
}

RequestReader::State RequestReader::read_head(std::string_view head) {
  std::size_t end = std::min(head.find("\r\n"), head.size());
  if (!read_first_line(head.substr(0, end))) {
    return refuse(400, "the first line is none of HTTP/1.1");
  }
  while (end < head.size()) {
    head.remove_prefix(end + 2);
    end = std::min(head.find("\r\n"), head.size());
    if (request_.headers.size() == k_most_headers || !read_header(head.substr(0, end))) {
      return refuse(400, "a header is wrong, or one too many");
    }
  }
  return read_framing();
}

bool RequestReader::read_first_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return false;
  }
  const std::string_view version = line.substr(last + 1);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  request_.method = line.substr(0, first);
  request_.path = target.substr(0, target.find('?'));
  request_.is_last = version == "HTTP/1.0";
  request_.knows_chunks = !request_.is_last;
  return agent::is_token(request_.method) && is_visible(target) && target.starts_with('/') &&
         (version == "HTTP/1.1" || version == "HTTP/1.0");
}

bool RequestReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !agent::is_token(line.substr(0, colon))) {
    return false;
  }
  std::string name = agent::to_lower(line.substr(0, colon));
  const std::string_view value = agent::trimmed(line.substr(colon + 1));
  if (!is_field_text(value) || (std::ranges::find(k_once, name) != k_once.end() &&
                                std::ranges::any_of(request_.headers, [&](const auto& header) {
                                  return header.first == name;
                                }))) {
    return false;
  }
  request_.headers.emplace_back(std::move(name), value);
  return true;
}

RequestReader::State RequestReader::read_framing() {
  const auto& headers = request_.headers;
  if (agent::header(headers, "host").empty()) {
    return refuse(400, "there is no `Host`");
  }
  const std::string coding = agent::to_lower(agent::header(headers, "transfer-encoding"));
  const std::string_view length = agent::header(headers, "content-length");
  body_bytes_ = 0;
  framing_ = 0;
  part_ = coding.empty() ? Part::none : Part::size;
  if (!coding.empty() && (coding != "chunked" || !length.empty() || request_.is_last)) {
    return refuse(400, "the body is to be read in two ways, or in none that is known");
  }
  request_.is_last =
      request_.is_last || agent::to_lower(agent::header(headers, "connection")).contains("close");
  return read_length(length);
}

RequestReader::State RequestReader::read_length(std::string_view length) {
  if (!std::ranges::all_of(length, agent::is_digit)) {
    return refuse(400, "`Content-Length` is no number");
  }
  const auto parsed = std::from_chars(length.data(), length.data() + length.size(), body_bytes_);
  if (!length.empty() && (parsed.ec != std::errc() || body_bytes_ > most_body_bytes_)) {
    return refuse(413, "the body is too long");
  }
  return state_ = State::judging;
}

// What is there of them goes to the body, and leaves the buffer at once.
RequestReader::State RequestReader::read_chunks() {
  std::size_t at = 0;
  while (state_ == State::body && at < buffer_.size()) {
    if (part_ == Part::data) {
      const std::size_t bytes = std::min(body_bytes_, buffer_.size() - at);
      request_.body.append(buffer_, at, bytes);
      at += bytes;
      body_bytes_ -= bytes;
      part_ = body_bytes_ == 0 ? Part::end_of_data : part_;
      continue;
    }
    const std::size_t end = buffer_.find("\r\n", at);
    if (std::min(end, buffer_.size()) - at > k_most_chunk_line) {
      return refuse(400, "a line between the chunks is too long");
    }
    if (end == std::string::npos) {
      break;
    }
    if (!read_chunk_line(std::string_view(buffer_).substr(at, end - at))) {
      return state_;
    }
    at = end + 2;
  }
  buffer_.erase(0, at);
  return state_;
}

// False: the request is refused. What trailers say is not looked at.
bool RequestReader::read_chunk_line(std::string_view line) {
  framing_ += line.size() + 2;
  if (framing_ > k_most_framing || !is_field_text(line) ||
      (part_ == Part::end_of_data && !line.empty())) {
    refuse(400, "the body is not made of chunks");
    return false;
  }
  if (part_ == Part::trailer) {
    state_ = line.empty() ? State::done : state_;
    return true;
  }
  if (part_ == Part::end_of_data) {
    part_ = Part::size;
    return true;
  }
  const std::string_view size = agent::trimmed(line.substr(0, line.find(';')));
  const auto parsed = std::from_chars(size.data(), size.data() + size.size(), body_bytes_, 16);
  if (size.empty() || parsed.ptr != size.data() + size.size()) {
    refuse(400, "the size of a chunk is no number");
    return false;
  }
  if (parsed.ec != std::errc() || body_bytes_ > most_body_bytes_ - request_.body.size()) {
    refuse(413, "the body is too long");
    return false;
  }
  part_ = body_bytes_ == 0 ? Part::trailer : Part::data;
  return true;
}

}  // namespace cli
