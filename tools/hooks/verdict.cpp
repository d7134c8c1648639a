#include "tools/hooks/verdict.h"

#include "agent/refusal.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::Json;

constexpr std::string_view k_json_space = " \t\r\n";
constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";

// Tells how far the parser has read, which it says only of errors.
class ByteCounter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ByteCounter(const char* at, std::size_t& read) : at_(at), read_(&read) {}

  reference operator*() const { return *at_; }
  ByteCounter& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  ByteCounter operator++(int) {
    ByteCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const ByteCounter& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

// Builds nothing: looks for what makes an object ambiguous, or no object.
class VerdictSearch : public nlohmann::json_sax<Json> {
 public:
  explicit VerdictSearch(const std::size_t& read) : read_(read) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    end_ = read_;
    return true;
  }
  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second) {
      why_ = fmt::format("the key `{}` appears twice, the second time before byte {}",
                         agent::one_line(name, 40),
                         read_);
    }
    return why_.empty();
  }
  bool parse_error(std::size_t at,
                   const std::string&,
                   const nlohmann::detail::exception&) override {
    at_ = at;
    return false;
  }

  bool is_whole() const { return end_ > 0 && keys_.empty(); }
  std::size_t end() const { return end_; }  // of the last object, in bytes
  std::size_t at() const { return at_; }    // of an error: the last byte that was read
  const std::string& why() const { return why_; }

 private:
  const std::size_t& read_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::size_t end_ = 0;
  std::size_t at_ = 0;
  std::string why_;
};

std::string shown(std::string_view bytes) {
  return agent::one_line(bytes.substr(0, bytes.find('\n')), 20);
}

std::string why_not_one_object(std::string_view bytes) {
  std::size_t read = 0;
  VerdictSearch search(read);
  const bool is_json = Json::sax_parse(
      ByteCounter(bytes.data(), read), ByteCounter(bytes.data() + bytes.size(), read), &search);
  if (is_json) {
    return agent::parse_json(bytes) ? "" : agent::why_not_json(bytes);
  }
  if (!search.why().empty()) {
    return search.why();
  }
  if (search.is_whole()) {
    const std::size_t more = bytes.find_first_not_of(k_json_space, search.end());
    return fmt::format("byte {}: `{}` follows the object", more + 1, shown(bytes.substr(more)));
  }
  return search.at() > bytes.size()
             ? fmt::format("it ends in the middle of the object, at byte {}", bytes.size())
             : fmt::format("it is not valid JSON at byte {}", search.at());
}

}  // namespace

std::string snake_case(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    const char lower = agent::to_lower(c);
    snake += lower != c ? std::string{'_', lower} : std::string{c};
  }
  return snake;
}

std::string strange_member(const Json& object, std::span<const std::string_view> known) {
  for (const auto& [name, value] : object.items()) {
    const auto is_named = [&](std::string_view one) {
      return one == name || snake_case(one) == name;
    };
    const auto found = std::ranges::find_if(known, is_named);
    if (found == known.end() && !value.is_null()) {
      const auto near = agent::nearest(name, known);
      return fmt::format("`{}` is not a member of an answer{}",
                         agent::one_line(name, 40),
                         near ? fmt::format("; did you mean `{}`?", *near) : "");
    }
    if (found != known.end() && *found != name && object.contains(std::string(*found))) {
      return fmt::format("`{}` and `{}` are the same member", *found, name);
    }
  }
  return {};
}

std::expected<Json, std::string> read_verdict(std::string_view bytes) {
  if (const auto why = agent::why_not_text(bytes)) {
    return std::unexpected(*why);
  }
  const std::size_t first = bytes.find_first_not_of(k_json_space);
  if (first == std::string_view::npos) {
    return std::unexpected("it is empty");
  }
  const std::string_view rest = bytes.substr(first);
  if (rest.starts_with(k_byte_order_mark)) {
    return std::unexpected(fmt::format("byte {} begins a byte order mark", first + 1));
  }
  if (!rest.starts_with('{')) {
    return std::unexpected(
        fmt::format("byte {} is not the `{{` of a JSON object: `{}`", first + 1, shown(rest)));
  }
  if (std::string why = why_not_one_object(bytes); !why.empty()) {
    return std::unexpected(std::move(why));
  }
  std::optional<std::string> repeated_name;
  auto verdict = agent::parse_json(bytes, repeated_name);
  if (repeated_name) {
    return std::unexpected(
        fmt::format("`{}` appears twice in it", agent::one_line(*repeated_name, 60)));
  }
  return *std::move(verdict);
}

}  // namespace tools
