#include "agent/secrets/guess_secrets.h"

#include "agent/secrets/redact.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

struct Row {
  std::string text;
  std::string expected;
};

// "a «b»" as the text "a b" that becomes "a [redacted]".
Row read_row(const std::string& line) {
  Row row{.text = line, .expected = {}};
  replace_all(row.text, "⏎", "\n");
  std::string_view rest = row.text;
  constexpr std::string_view k_begin = "«";
  constexpr std::string_view k_end = "»";
  for (std::size_t at = rest.find(k_begin); at != std::string_view::npos; at = rest.find(k_begin)) {
    row.expected += std::string(rest.substr(0, at)) + "[redacted]";
    rest.remove_prefix(rest.find(k_end) + k_end.size());
  }
  row.expected += rest;
  replace_all(row.text, k_begin, "");
  replace_all(row.text, k_end, "");
  return row;
}

std::vector<Row> rows() {
  std::ifstream file(ERRAND_SOURCE_DIR "/tests/unit/agent/secrets/secret_guesses.txt");
  std::vector<Row> all;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with("# ")) {
      all.push_back(read_row(line));
    }
  }
  return all;
}

std::string streamed(const agent::Redactor& redactor, std::string_view text, std::size_t step) {
  agent::StreamRedactor stream(redactor);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) {
    out += stream.feed(std::string(text.substr(at, step)));
  }
  return out + stream.finish();
}

// A fixed generator: the same random word everywhere.
std::string random_word(std::size_t size, std::uint64_t seed) {
  const std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string word;
  for (std::uint64_t state = seed; word.size() < size;) {
    state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    word += digits[state >> 58];
  }
  return word;
}

const agent::Redactor& guessing() {
  static const agent::Redactor redactor = agent::Redactor({}).guessing();
  return redactor;
}

}  // namespace

TEST_CASE("guess: what goes and what stays, whole and piece by piece", "[agent]") {
  const std::vector<Row> all = rows();
  CHECK(all.size() >= 120);
  for (const Row& row : all) {
    INFO(row.text);
    CHECK(guessing().apply(row.text) == row.expected);
    CHECK(guessing().is_clean(row.text) == (row.text == row.expected));
    for (const std::size_t step : {1u, 2u, 5u, 17u, 64u}) {
      CHECK(streamed(guessing(), row.text, step) == row.expected);
    }
  }
}

TEST_CASE("guess: the rows in one text, cut anywhere", "[agent]") {
  std::string text;
  std::string expected;
  for (const Row& row : rows()) {
    text += row.text + "\n\n";
    expected += row.expected + "\n\n";
  }
  CHECK(guessing().apply(text) == expected);
  for (const std::size_t step : {1u, 3u, 7u, 31u, 100u, 1'000u, 4'096u}) {
    INFO(step);
    CHECK(streamed(guessing(), text, step) == expected);
  }
}

TEST_CASE("guess: a redactor guesses only where it is told to", "[agent]") {
  const agent::Redactor plain({});
  for (const Row& row : rows()) {
    INFO(row.text);
    CHECK((plain.is_clean(row.text) || row.text != row.expected));
  }
  CHECK(plain.is_clean("password=aB3dE5gH7jK9"));
  CHECK(guessing().apply("password=aB3dE5gH7jK9") == "password=[redacted]");
}

TEST_CASE("guess: known values and guesses go together", "[agent]") {
  agent::Redactor known({});
  known.add("kJ9mN1pQ and more");
  const agent::Redactor redactor = known.guessing();
  const std::string text = "token=aB3dE5gH7kJ9mN1pQ and more, password=aB3dE5gH7jK9";
  CHECK(redactor.apply(text) == "token=[redacted], password=[redacted]");
  for (const std::size_t step : {1u, 2u, 3u, 9u}) {
    CHECK(streamed(redactor, text, step) == "token=[redacted], password=[redacted]");
  }
}

TEST_CASE("guess: the lengths at which a word is too short, or data", "[agent]") {
  const auto is_found = [](const std::string& text) {
    return !agent::guess_secrets(text).found.empty();
  };
  CHECK_FALSE(is_found("password=aB3dE5g"));
  CHECK(is_found("password=aB3dE5gH"));
  std::string word = random_word(300, 7);
  for (char& c : word) {
    c = c == '+' || c == '/' ? 'x' : c;
  }
  CHECK_FALSE(is_found(word.substr(0, 31)));
  CHECK(is_found(word.substr(0, 32)));
  CHECK(is_found(word.substr(0, 256)));
  CHECK_FALSE(is_found(word.substr(0, 257)));
  CHECK(is_found("token: " + word.substr(0, 256)));
  CHECK_FALSE(is_found("token: " + word.substr(0, 257)));
}

TEST_CASE("guess: megabytes of base64 stay, whole and piece by piece", "[agent]") {
  const std::string data = random_word(200'000, 7);
  CHECK(guessing().apply(data) == data);
  for (const std::size_t step : {100u, 999u, 4'096u, 50'000u}) {
    CHECK(streamed(guessing(), data, step) == data);
  }
}

// Each of these would take minutes if what is behind a name were read once more for each name.
TEST_CASE("guess: the time is linear in texts made to be slow", "[agent]") {
  const std::string part = GENERATE(std::string("token="),
                                    std::string("token=\""),
                                    std::string("://"),
                                    std::string("://a:b"),
                                    std::string("--token "),
                                    std::string("password: \\\\\\"),
                                    std::string("="),
                                    std::string("aB3/"),
                                    std::string("aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"),
                                    std::string("<token>"));
  std::string text;
  while (text.size() < 1'000'000) {
    text += part;
  }
  INFO(part);
  CHECK(agent::guess_secrets(text).open <= text.size());
}

TEST_CASE("guess: cost", "[.bench]") {
  std::string prose;
  std::string code;
  std::string json;
  while (prose.size() < 1'000'000) {
    prose += "The quick brown fox asks a task of the author: say https://example.org/a?b=c, 42.\n";
  }
  while (code.size() < 1'000'000) {
    code += "  const auto value = value_at(map, key);  // token: the name, see a::b::c\n";
  }
  while (json.size() < 1'000'000) {
    json += R"({"id":"toolu_01A09q90qw90lq917835lq9","password":null,"text":"a b c","n":1.5},)";
  }
  const std::string data = random_word(1'000'000, 7);
  const agent::Redactor plain({});
  const auto speed =
      [](const char* what, const agent::Redactor& redactor, const std::string& text) {
        constexpr int k_rounds = 20;
        const auto begin = std::chrono::steady_clock::now();
        std::size_t sum = 0;
        for (int round = 0; round < k_rounds; ++round) {
          sum += redactor.apply(text).size();
        }
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        WARN(what << ": " << static_cast<double>(text.size()) * k_rounds / 1e6 / spent.count()
                  << " MB/s (" << sum << ")");
      };
  speed("prose, plain", plain, prose);
  speed("prose, guessing", guessing(), prose);
  speed("code, plain", plain, code);
  speed("code, guessing", guessing(), code);
  speed("JSON, plain", plain, json);
  speed("JSON, guessing", guessing(), json);
  speed("base64, plain", plain, data);
  speed("base64, guessing", guessing(), data);
}
