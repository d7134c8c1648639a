#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>

namespace agent {
namespace {

// Brackets outside strings; enough to bound the depth before a parser recurses.
bool is_deeper_than(std::string_view text, int max_depth) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) {
        return true;
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::optional<Json> parse_json(std::string_view text, int max_depth) {
  if (is_deeper_than(text, max_depth)) {
    return std::nullopt;
  }
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    return std::nullopt;
  }
  return value;
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json number_json(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

const Json* find(const Json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (member.key() == key) {
      return member->is_null() ? nullptr : &*member;
    }
  }
  return nullptr;
}

std::string_view text_at(const Json& object, std::string_view key, std::string_view otherwise) {
  const Json* member = find(object, key);
  return member != nullptr && member->is_string()
             ? std::string_view(member->get_ref<const std::string&>())
             : otherwise;
}

long long integer_at(const Json& object, std::string_view key, long long otherwise) {
  const Json* member = find(object, key);
  if (member == nullptr || !member->is_number()) {
    return otherwise;
  }
  constexpr double k_bound = 9.2e18;  // a float outside of the range has no integer
  return member->is_number_float() && !(std::abs(member->get<double>()) < k_bound)
             ? otherwise
             : member->get<long long>();
}

double real_at(const Json& object, std::string_view key, double otherwise) {
  const Json* member = find(object, key);
  return member != nullptr && member->is_number() ? member->get<double>() : otherwise;
}

bool bool_at(const Json& object, std::string_view key, bool otherwise) {
  const Json* member = find(object, key);
  return member != nullptr && member->is_boolean() ? member->get<bool>() : otherwise;
}

}  // namespace agent
