// JSON as text, filled in as a Json is, without a value in between: what is large is written from
// where it stands. What writes an object for both is a template over the place it writes to.
#pragma once
#include "agent/json.h"

#include <nlohmann/json.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace agent {

// The place of one value behind a text, which is borrowed. It is assigned once, or filled key by
// key, each key once; it is whole when the place goes.
class JsonText {
 public:
  explicit JsonText(std::string& out) : out_(out) {}
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;
  ~JsonText() { out_ += end_; }

  // A word of the program's own, in which there is nothing to escape; a std::string is any text.
  JsonText operator[](const char* key) {
    begin_next('{', "}");
    out_ += '"';
    out_ += key;
    out_ += "\":";
    return JsonText(out_);
  }
  JsonText operator[](const std::string& key) {
    begin_next('{', "}");
    append_json_text(out_, key);
    out_ += ':';
    return JsonText(out_);
  }

  void operator=(const Json& value) { append_json(out_, value); }
  template <typename Text>
    requires std::same_as<Text, std::string> || std::same_as<Text, std::string_view>
  void operator=(const Text& text) {
    append_json_text(out_, text);
  }

 private:
  template <typename Items, typename Write>
  friend void write_list(JsonText&& place, const Items& items, const Write& write);

  void begin_next(char begin, std::string_view end) {
    out_ += end_.empty() ? begin : ',';
    end_ = end;
  }

  std::string& out_;
  std::string_view end_;  // of the object or list that is open
};

// A list of what `write(place, item)` makes of each item.
template <typename Items, typename Write>
void write_list(JsonText&& place, const Items& items, const Write& write) {
  for (const auto& item : items) {
    place.begin_next('[', "]");
    write(JsonText(place.out_), item);
  }
  if (place.end_.empty()) {
    place.out_ += "[]";
  }
}
template <typename Items, typename Write>
void write_list(Json& place, const Items& items, const Write& write) {
  place = Json::array();
  for (const auto& item : items) {
    write(place.emplace_back(), item);
  }
}

}  // namespace agent
