#include "agent/refusal.h"

#include "agent/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace agent {
namespace {

// Builds nothing: looks for the first number that is none here.
class NumberSearch : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at,
                   const std::string& token,
                   const nlohmann::detail::exception& error) override {
    constexpr int k_number_overflow = 406;
    if (error.id == k_number_overflow) {
      found_ = fmt::format(
          "has a number that is too large, {}… before byte {}", token.substr(0, 20), at);
    }
    return false;
  }

  const std::string& found() const { return found_; }

 private:
  std::string found_;
};

}  // namespace

std::optional<std::string> why_not_text(std::string_view bytes) {
  const std::string_view valid = bytes.substr(0, valid_utf8_prefix(bytes));
  if (const auto nul = valid.find('\0'); nul != std::string_view::npos) {
    return fmt::format("byte {} is NUL", nul + 1);
  }
  if (valid.size() == bytes.size()) {
    return std::nullopt;
  }
  return fmt::format("byte {} (0x{:02X}) is not UTF-8",
                     valid.size() + 1,
                     static_cast<unsigned char>(bytes[valid.size()]));
}

std::string why_not_json(std::string_view text, int max_depth) {
  NumberSearch search;
  if (Json::sax_parse(text, &search)) {  // the parser itself has no limit of depth
    return fmt::format("nests deeper than {} levels", max_depth);
  }
  return search.found().empty() ? "is not valid JSON" : search.found();
}

}  // namespace agent
