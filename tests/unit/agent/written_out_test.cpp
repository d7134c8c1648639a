#include "agent/written_out.h"

#include <catch2/catch.hpp>

#include <string>
#include <tuple>

namespace {

std::string joined(const agent::WrittenOut& out) {
  std::string text;
  for (const agent::WrittenRow& row : out.rows) {
    text += (row.goes_on ? "+" : "|") + row.text;
  }
  return text;
}

TEST_CASE("written_out: what passes shows what it is, all else is written out", "[agent]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"ls -l ~/a_b", "ls -l ~/a_b"},
      {"Grüße, Łódź, 日本語, 한국어", "Grüße, Łódź, 日本語, 한국어"},
      {"tab\there", "tab→    here"},
      {"tab    here", "tab    here"},
      {"eight 78\t\t\u2192", "eight 78→       →       \\u{2192}"},
      {"x \n\ny  ", R"(x\u{20}||y \u{20})"},
      {"x", "x"},
      {"x\n", "x|"},
      {"\n", "|"},
      {"\x1b[2K\r\x7f", R"(\u{1b}[2K\u{d}\u{7f})"},
      {"a\u202e\u200b\ufeff\u00ad\u00a0b", R"(a\u{202e}\u{200b}\u{feff}\u{ad}\u{a0}b)"},
      {"e\u0301", R"(e\u{301})"},
      {"\u0440\u0430ypal", R"(\u{440}\u{430}ypal)"},       // Cyrillic in a Latin word
      {"\u0441\u043e\u0440", R"(\u{441}\u{43e}\u{440})"},  // a word that looks Latin as a whole
      {"привет, Ελλάδα", "привет, Ελλάδα"},                // words that do not
      {"при\u03bdет", R"(\u{43f}\u{440}\u{438}\u{3bd}\u{435}\u{442})"},  // two scripts in one
      {"\uff41\U0001d41a\u2044\u30ce\u4e3f", R"(\u{ff41}\u{1d41a}\u{2044}\u{30ce}\u{4e3f})"},
      {"\u0131\u017f\u0153\u0132", R"(\u{131}\u{17f}\u{153}\u{132})"},
      {"\u05d0\u0627\u0e01", R"(\u{5d0}\u{627}\u{e01})"},  // turned round, or unknown here
      {"\xff\xc3(\xed\xa0\x80", R"(\x{ff}\x{c3}(\x{ed}\x{a0}\x{80})"},
      {R"(\u{41} \x{41} \u41 \\u{)", R"(\u{5c}u{41} \u{5c}x{41} \u41 \\u{5c}u{)"},
  }));
  INFO(expected);
  CHECK(joined(agent::written_out(text, 200)) == "|" + expected);
}

TEST_CASE("written_out: rows break at the width, and say how many bytes they show", "[agent]") {
  const agent::WrittenOut out =
      agent::written_out("aaaaaaaaaaaaaaaa\n\n日本語日本語日本語\n\u202e", 12);
  CHECK(joined(out) == "|aaaaaaaaaaaa+aaaa||日本語日本語+日本語|\\u{202e}");
  std::size_t bytes = 0;
  for (const agent::WrittenRow& row : out.rows) {
    bytes += row.bytes;
  }
  CHECK(bytes == 17 + 1 + 28 + 3);
  CHECK(out.rows[1].bytes == 5);
  CHECK(out.characters == 1);
  CHECK(agent::written_out("", 80).rows.empty());
}

TEST_CASE("written_out: a line stays one", "[agent]") {
  CHECK(agent::written_out_line("a\nb\tc") == R"(a\u{a}b\u{9}c)");
  CHECK(agent::written_out_line("") == "");
}

TEST_CASE("written_out: a line that is cut is written out once", "[agent]") {
  CHECK(agent::written_out_line("a\u200bb\n", 100) == R"(a\u{200b}b\u{a})");
  CHECK(agent::written_out_line("abcdef", 6) == "abcdef");
  CHECK(agent::written_out_line("abcdefg", 6) == "abc…");
  CHECK(agent::written_out_line("abc…", 6) == "abc…");
  CHECK(agent::written_out_line("abc…", 2) == "…");
}

TEST_CASE("written_out: long texts take linear time", "[agent]") {
  const std::string text(4'000'000, 'x');
  CHECK(agent::written_out(text, 76).rows.size() == 4'000'000 / 76 + 1);
  std::string greek;
  for (int at = 0; at < 500'000; ++at) {
    greek += "\u03bf";
  }
  CHECK(agent::written_out(greek, 76).characters == 500'000);
}

}  // namespace
