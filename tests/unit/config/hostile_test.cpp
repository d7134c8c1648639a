// Files that nobody wrote to be read: each ends in a clear error, soon, and in little memory.
#include "config/load.h"

#include "load_support.h"
#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace config_test;
using Lines = std::vector<std::string>;

namespace {

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string text;
  while (text.size() + piece.size() <= bytes) {
    text += piece;
  }
  return text;
}

long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("hostile: an alias bomb is refused before it is built", "[config]") {
  std::string text = k_head + "x-a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 12; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    text += "x-a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + below;
    for (int copy = 1; copy < 10; ++copy) {
      text += ", " + below;
    }
    text += "]\n";
  }
  const auto report = parse(text);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].message ==
        "more than 20000 values, aliases counted as often as they are used");
  CHECK(report.errors[0].where->line == 7);
}

TEST_CASE("hostile: an alias of a long text is bounded by bytes", "[config]") {
  const std::string text =
      k_head + "x-a: &a '" + repeated("x", 500'000) + "'\nx-b: [" + repeated("*a, ", 400) + "*a]\n";
  const auto report = parse(text);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].message ==
        "more than 4194304 bytes of text, aliases counted as often as they are used");
}

TEST_CASE("hostile: deep nesting is refused with its place", "[config]") {
  struct Row {
    std::string text;
    std::string line;
  };
  std::string indented;
  for (int depth = 0; depth < 1'000; ++depth) {
    indented += std::string(static_cast<std::size_t>(depth), ' ') + "a:\n";
  }
  const std::string too_deep = "lists and maps nest more than 64 levels deep";
  const auto row = GENERATE_COPY(values<Row>({
      {"x-a: " + repeated("[", 10'000), "1:1 more than 1000 brackets are open in this line"},
      {"x-a: " + repeated("{a: ", 40'000), "1:1 more than 1000 brackets are open in this line"},
      {"x-a: " + repeated("[", 100), "1:38 " + too_deep},
      {"x-a:\n" + repeated("[\n", 20'000), "34:1 " + too_deep},
      {repeated("- ", 20'000), "1:129 " + too_deep},
      {indented, "65:65 " + too_deep},
  }));
  CHECK(lines_of(parse(row.text).errors) == Lines{row.line});
}

TEST_CASE("hostile: aliases cannot nest deeper than the limit either", "[config]") {
  std::string text = k_head + "x-a0: &a0 [x]\n";
  for (int level = 1; level < 80; ++level) {
    const std::string number = std::to_string(level);
    text += "x-a" + number + ": &a" + number + " [*a" + std::to_string(level - 1) + "]\n";
  }
  const auto report = parse(text);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].message == "lists and maps nest more than 64 levels deep");
}

TEST_CASE("hostile: what is no text is refused with its place", "[config]") {
  struct Row {
    std::string text;
    std::string line;
  };
  using namespace std::string_literals;
  const auto row = GENERATE(values<Row>({
      {"version: 1\nname: a\0b\n"s, "2:8 a NUL byte in the text"},
      {"version: 1\nname: \x1B[31m\n", "2:7 the control character 0x1B in the text"},
      {"version: 1\nname: \x04\n", "2:7 the control character 0x04 in the text"},
      {"version: 1\rname: a\n", "1:11 a carriage return without a line feed"},
      {"version: 1\nname: \xC3\xA9\xFF\n", "2:8 the text is not valid UTF-8"},
      {"version: 1\nname: \xC3", "2:7 the text is not valid UTF-8"},
      {"version: 1\nname: \xED\xA0\x80\n", "2:7 the text is not valid UTF-8"},
      {"\xFF\xFEv\0e\0"s, "1:1 the file is UTF-16"},
      {"", "1:1 the file is empty"},
      {"\n\n# nothing\n", "1:1 the file is empty"},
      {"---\n", "1:1 the file is empty"},
      {"just words\n", "1:1 the file must be a map of keys, not text"},
      {"- a\n- b\n", "1:1 the file must be a map of keys, not a list"},
      {"%YAML 1.1\n---\nversion: 1\n", "1:1 YAML directives are not supported"},
  }));
  CHECK(lines_of(parse(row.text).errors) == Lines{row.line});
}

TEST_CASE("hostile: the first invalid byte is found in a long text", "[config]") {
  std::string text = k_head + "x-a: |\n";
  for (int line = 0; line < 5'000; ++line) {
    text += "  zwölf Boxkämpfer\n";
  }
  text.insert(text.size() - 3, "\x80");
  CHECK(lines_of(parse(text).errors) == Lines{"5003:17 the text is not valid UTF-8"});
}

TEST_CASE("hostile: a file of 100 MB is refused unread", "[config]") {
  const Folder folder;
  const auto file = folder.write("big.yaml", k_head);
  std::filesystem::resize_file(file, 100'000'000);  // sparse
  const long before = peak_kilobytes();
  const auto report = config::load_agent(file, {}, known());
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].message ==
        "`" + file.string() + "` is 100000000 bytes long; at most 1048576 are read");
  CHECK(report.errors[0].where->file == file.string());
  CHECK(peak_kilobytes() - before < 50'000);
}

TEST_CASE("hostile: what is no file is refused at once", "[config]") {
  const Folder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto message = [](const std::filesystem::path& file) {
    const auto report = config::load_agent(file, {}, known());
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].code == agent::Code::config_invalid);
    return report.errors[0].message;
  };
  CHECK(message(pipe) == "`" + pipe.string() + "` is not a regular file");
  CHECK(message("/dev/zero") == "`/dev/zero` is not a regular file");
  CHECK(message(folder.path()) == "`" + folder.path().string() + "` is a folder");
  CHECK(message(folder.path() / "none") ==
        "there is no file `" + (folder.path() / "none").string() + "`");
}

TEST_CASE("hostile: a megabyte of one construct ends in an error, in bounded memory", "[config]") {
  const auto piece = GENERATE(as<std::string>{},
                              "[",
                              "{",
                              "- ",
                              "? ",
                              "a: ",
                              "&a ",
                              "*a ",
                              "\"",
                              "'",
                              "! ",
                              "|",
                              "%",
                              ":",
                              "[a', ",
                              "{a: b, ",
                              "\"\\x41",
                              "?\n",
                              "-\n",
                              "--- a\n",
                              "${env:",
                              "{{ ",
                              "x: {{ x }}\n");
  INFO(piece);
  const auto report = parse(repeated(piece, 1'000'000));
  CHECK_FALSE(report.agent);
  CHECK_FALSE(report.errors.empty());
  CHECK(report.errors.size() <= 101);
  CHECK(peak_kilobytes() < 1'000'000);
}

TEST_CASE("hostile: random damage to a file never crashes the reader", "[config]") {
  const std::string original = k_head +
                               "model: {name: a/b, headers: {X-A: '${env:HOME}'}}\n"
                               "instructions: |\n  You {{ who }}\n    and \"so\" on\n"
                               "parameters: {who: {type: string, enum: [a, 'b', \"c\\n\"]}}\n"
                               "tools:\n- shell: &s {timeout: 2m}\n- grep: *s\n"
                               "- {name: t, description: >-\n   folded\n   text, command: [a]}\n";
  const std::string_view alphabet = "[]{}:,-?|>&*!%@`'\"#\n\t \\$~.0a\xC3\xA9\x80\r";
  std::mt19937 random(7);  // the same damage on every run
  for (int round = 0; round < 3'000; ++round) {
    std::string text = original;
    for (int hit = 0; hit < 1 + round % 4; ++hit) {
      const std::size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        default:
          text.erase(at, 1 + random() % 5);
      }
    }
    const auto report = parse(text, {{"HOME", "/"}}, round % 5 == 0);
    if (report.agent.has_value() != report.errors.empty()) {
      FAIL("neither an agent nor an error for:\n" << text);
    }
    for (const agent::Error& error : report.errors) {
      if (!error.where || error.where->line < 1 || error.where->column < 1) {
        FAIL("an error without a place for:\n" << text);
      }
    }
  }
}
