#include "providers/wire/json_lines.h"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

using Values = std::vector<std::string>;

struct Parsed {
  Values values;
  std::string rest;

  bool operator==(const Parsed&) const = default;
};

Parsed parse(std::string_view text, std::size_t piece = std::string_view::npos) {
  providers::JsonLinesParser parser;
  Parsed parsed;
  while (!text.empty()) {
    parser.feed(text.substr(0, piece), [&](const agent::StreamEvent& event) {
      parsed.values.push_back(event.data);
      return true;
    });
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (const auto last = parser.finish()) {
    parsed.rest = last->data;
  }
  return parsed;
}

}  // namespace

TEST_CASE("json_lines: values in a row, and spaces between them", "[providers]") {
  CHECK(parse("{\"a\":1}\n{\"b\":2}\n").values == Values{"{\"a\":1}", "{\"b\":2}"});
  CHECK(parse("{\"a\":1}{\"b\":2}\r\n\r\n [3]").values == Values{"{\"a\":1}", "{\"b\":2}", "[3]"});
  CHECK(parse("{\n  \"a\": [1,\n 2]\n}\n").values == Values{"{\n  \"a\": [1,\n 2]\n}"});
  CHECK(parse("").values.empty());
}

TEST_CASE("json_lines: what is no value is the last event", "[providers]") {
  const std::vector<std::string> strays = {std::string(1, '\0'), "oops", "}", "]", "\"a\"", "null"};
  for (const std::string& stray : strays) {
    CAPTURE(stray);
    CHECK(parse("{\"a\":1}\n" + stray + "\n{\"b\":2}").values.size() == 2);
    CHECK(parse("{\"a\":1}\n" + stray + "\n{\"b\":2}", 1).values.size() == 2);
    CHECK(parse("{\"a\":1}\n" + stray).values.back() == stray);
  }
  CHECK(parse("\xEF\xBB\xBF{}\n").values == Values{"{}"});
}

TEST_CASE("json_lines: brackets and quotes in text end nothing", "[providers]") {
  const std::string value = R"({"a":"}]\"{","b":"\\"})";
  CHECK(parse(value + value).values == Values{value, value});
}

TEST_CASE("json_lines: what is cut is the rest", "[providers]") {
  CHECK(parse("{\"a\":1}\n{\"b\":").rest == "{\"b\":");
  CHECK(parse("{\"a\":\"}").rest == "{\"a\":\"}");
}

TEST_CASE("json_lines: any cut gives the same values", "[providers]") {
  const std::string text = "{\"a\":\"\\\"}\"}\n\n{\"b\":[{\"c\":\"é\"}]} {\"d\":";
  const Parsed whole = parse(text);
  CHECK(whole.values.size() == 2);
  for (std::size_t size = 1; size < text.size(); ++size) {
    CHECK(parse(text, size) == whole);
  }
}

TEST_CASE("json_lines: who has heard enough hears no more", "[providers]") {
  providers::JsonLinesParser parser;
  int heard = 0;
  const auto once = [&](const agent::StreamEvent&) { return ++heard < 1; };
  parser.feed("{}{}", once);
  parser.feed("{}", once);
  CHECK(heard == 1);
  CHECK_FALSE(parser.finish());
}
