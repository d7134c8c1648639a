#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

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

// Builds the value as the parser reads it. nlohmann's own builder looks for each key of an object
// from its beginning, so that 200,000 keys take half a minute. As there, the last of two equal keys
// counts, in the place of the first.
class JsonBuilder {
 public:
  Json take() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool key(std::string& name) {
    open_.back().member = member(open_.back(), name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

 private:
  static constexpr std::size_t k_few = 16;  // keys that are found faster without an index

  struct Container {
    Json* json;
    std::size_t member = 0;  // of an object: where the value that comes next belongs
    std::unordered_map<std::string, std::size_t> index = {};
  };

  static std::size_t member(Container& container, std::string& name) {
    Json::object_t::Container& members = container.json->get_ref<Json::object_t&>();
    if (members.size() < k_few) {
      for (std::size_t at = 0; at < members.size(); ++at) {
        if (members[at].first == name) {
          return at;
        }
      }
    } else {
      if (container.index.empty()) {
        for (std::size_t at = 0; at < members.size(); ++at) {
          container.index.emplace(members[at].first, at);
        }
      }
      if (const auto [known, is_new] = container.index.emplace(name, members.size()); !is_new) {
        return known->second;
      }
    }
    members.emplace_back(std::move(name), nullptr);
    return members.size() - 1;
  }

  Json& place(Json&& value) {
    if (open_.empty()) {
      return root_ = std::move(value);
    }
    const Container& container = open_.back();
    if (container.json->is_array()) {
      return container.json->emplace_back(std::move(value));
    }
    Json::object_t::Container& members = container.json->get_ref<Json::object_t&>();
    return members[container.member].second = std::move(value);
  }

  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }
  // The parent stays where it is until this one is closed.
  bool open(Json&& value) {
    Json* const placed = &place(std::move(value));
    open_.push_back({.json = placed});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Container> open_;
};

}  // namespace

std::optional<Json> parse_json(std::string_view text, int max_depth) {
  if (is_deeper_than(text, max_depth)) {
    return std::nullopt;
  }
  JsonBuilder builder;
  return Json::sax_parse(text, &builder) ? std::optional(builder.take()) : std::nullopt;
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
