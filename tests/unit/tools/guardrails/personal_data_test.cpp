#include "tools/guardrails/personal_data.h"

#include "config/keys.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using tools::find_personal_data;

namespace {

struct Row {
  std::string name;   // `find`
  std::string text;   // "\n" stands for the end of a line
  std::string found;  // what of it, joined with "|"; empty: nothing
};

std::string found_in(std::string_view name, std::string_view text) {
  std::string all;
  for (const tools::Found& found : find_personal_data(name, text)) {
    all +=
        (all.empty() ? "" : "|") + std::string(text.substr(found.begin, found.end - found.begin));
  }
  return all;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> k_rows = {
      {"email", "write to ada@example.org.", "ada@example.org"},
      {"email", "Ada.Lovelace+x@mail.example.co.uk, please", "Ada.Lovelace+x@mail.example.co.uk"},
      {"email", "<o'neill@example.ie>", "o'neill@example.ie"},
      {"email", "a@b.io and c@d.io", "a@b.io|c@d.io"},
      {"email", "mailto:x_y%z@a-b.museum", "x_y%z@a-b.museum"},
      {"email", "ümlaut@example.org", "mlaut@example.org"},
      {"email", "user@localhost", ""},
      {"email", "logo@2x.png", ""},
      {"email", "npm i left-pad@1.2.3", ""},
      {"email", "git@github.com:owner/name.git", ""},
      {"email", "@decorator", ""},
      {"email", "a@.example.org", ""},
      {"email", "a@b..org", ""},
      {"email", "a@b.c", ""},
      {"email", "x @ y.org", ""},
      {"phone", "call +49 30 1234567", "+49 30 1234567"},
      {"phone", "+1 (415) 555-2671", "+1 (415) 555-2671"},
      {"phone", "+442079460958", "+442079460958"},
      {"phone", "tel: +49 (0)30/1234-567", "+49 (0)30/1234-567"},
      {"phone", "(415) 555-2671", "(415) 555-2671"},
      {"phone", "415-555-2671 or 415.555.2672", "415-555-2671|415.555.2672"},
      {"phone", "1-415-555-2671", "1-415-555-2671"},
      {"phone", "415 555 2671.", "415 555 2671"},
      {"phone", "+12345", ""},
      {"phone", "2026-11-22 10:15:00 +0200", ""},
      {"phone", "4155552671", ""},
      {"phone", "115-555-2671", ""},
      {"phone", "415-155-2671", ""},
      {"phone", "v1.415-555-2671.8", ""},
      {"phone", "10.200.300.4000", ""},
      {"phone", "id 415-555-26712", ""},
      {"card", "4111 1111 1111 1111", "4111 1111 1111 1111"},
      {"card", "4111111111111111", "4111111111111111"},
      {"card", "4111-1111-1111-1111.", "4111-1111-1111-1111"},
      {"card", "5555555555554444", "5555555555554444"},
      {"card", "2223003122003222", "2223003122003222"},
      {"card", "3782 822463 10005", "3782 822463 10005"},
      {"card", "378282246310005", "378282246310005"},
      {"card", "30569309025904", "30569309025904"},
      {"card", "6011111111111117", "6011111111111117"},
      {"card", "3530111333300000", "3530111333300000"},
      {"card", "4222222222222", "4222222222222"},
      {"card", "no. 1234 4111 1111 1111 1111", "4111 1111 1111 1111"},
      {"card", "4111111111111112", ""},
      {"card", "1111111111111117", ""},
      {"card", "0000000000000000", ""},
      {"card", "41111111111111110", ""},
      {"card", "x4111111111111111", ""},
      {"card", "0.4111111111111111", ""},
      {"card", "1732233600000", ""},
      {"card", "9111111111111111", ""},
      {"ssn", "ssn 123-45-6789", "123-45-6789"},
      {"ssn", "123 45 6789", "123 45 6789"},
      {"ssn", "899-99-9999", "899-99-9999"},
      {"ssn", "000-12-3456", ""},
      {"ssn", "666-12-3456", ""},
      {"ssn", "900-12-3456", ""},
      {"ssn", "123-00-6789", ""},
      {"ssn", "123-45-0000", ""},
      {"ssn", "123-45 6789", ""},
      {"ssn", "123456789", ""},
      {"ssn", "1123-45-6789", ""},
      {"ssn", "123-45-67890", ""},
      {"ssn", "12-123-45-6789", ""},
      {"iban", "DE89370400440532013000", "DE89370400440532013000"},
      {"iban", "DE89 3704 0044 0532 0130 00 AND MORE", "DE89 3704 0044 0532 0130 00"},
      {"iban", "GB82WEST12345698765432.", "GB82WEST12345698765432"},
      {"iban", "FR1420041010050500013M02606", "FR1420041010050500013M02606"},
      {"iban", "NO9386011117947", "NO9386011117947"},
      {"iban", "CH93 0076 2011 6238 5295 7", "CH93 0076 2011 6238 5295 7"},
      {"iban", "MT84MALT011000012345MTLCAST001S", "MT84MALT011000012345MTLCAST001S"},
      {"iban", "DE88370400440532013000", ""},
      {"iban", "DE8937040044053201300", ""},
      {"iban", "DE893704004405320130000", ""},
      {"iban", "ZZ89370400440532013000", ""},
      {"iban", "XDE89370400440532013000", ""},
      {"iban", "DE89  3704 0044 0532 0130 00", ""},
      {"iban", "DE89-3704-0044-0532-0130-00", ""},
      {"pii",
       "ada@example.org, +442079460958, 123-45-6789",
       "ada@example.org|+442079460958|123-45-6789"},
      {"pii", "commit 3f2a9c1d0b8e7f6a5d4c3b2a1908f7e6d5c4b3a2", ""},
      {"pii", "550e8400-e29b-41d4-a716-446655440000", ""},
      {"pii", "127.0.0.1:8080 at 2026-11-22T10:15:00Z, 3.14159265358979", ""},
      {"pii", "", ""},
  };
  return k_rows;
}

}  // namespace

TEST_CASE("personal data: what is one, and what only looks so", "[tools]") {
  CHECK(rows().size() >= 60);
  for (const Row& row : rows()) {
    INFO(row.name << ": " << row.text);
    CHECK(found_in(row.name, row.text) == row.found);
  }
}

TEST_CASE("personal data: every kind has rows of both sorts", "[tools]") {
  for (const tools::PersonalData& kind : tools::personal_data()) {
    const auto has = [&](bool is_found) {
      return std::ranges::any_of(rows(), [&](const Row& row) {
        return row.name == kind.name && row.found.empty() != is_found;
      });
    };
    INFO(kind.name);
    CHECK(has(true));
    CHECK(has(false));
  }
}

TEST_CASE("personal data: the agent file's words are the kinds, and the two groups", "[tools]") {
  const auto keys = config::keys();
  const auto key = std::ranges::find(keys, "guardrails.tool_result[].find", &config::Key::path);
  REQUIRE(key != keys.end());
  std::vector<std::string_view> words{"secrets", "pii"};
  for (const tools::PersonalData& kind : tools::personal_data()) {
    words.push_back(kind.name);
  }
  CHECK(key->words() == words);
}

TEST_CASE("personal data: it is described by its number, and taken out by its kind", "[tools]") {
  const std::string text = "ada@example.org, bob@example.org and 123-45-6789";
  const auto found = find_personal_data("pii", text);
  CHECK(tools::describe(found) == "2 e-mail addresses, a social security number");
  CHECK(tools::without(text, found) == "[redacted email], [redacted email] and [redacted ssn]");
  CHECK(tools::without("nothing", {}) == "nothing");
  CHECK(tools::describe({}).empty());
}

TEST_CASE("personal data: long texts without any are read through", "[tools]") {
  CHECK(found_in("pii", std::string(200'000, 'a')).empty());
  CHECK(found_in("pii", std::string(200'000, '1')).empty());
  std::string numbers;
  for (int i = 0; i < 20'000; ++i) {
    numbers += "4111 ";
  }
  CHECK(found_in("card", numbers + "x").empty());
}
