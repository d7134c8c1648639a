#include "agent/text.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

std::string random_bytes(std::size_t count) {
  // A fixed generator: bytes that are often UTF-8 leads and continuations.
  std::string out;
  std::uint32_t state = 42;
  for (std::size_t at = 0; at < count; ++at) {
    state = state * 1'664'525 + 1'013'904'223;
    const auto byte = static_cast<unsigned char>(state >> 24);
    out += static_cast<char>(at % 3 == 0 ? byte : byte | 0x80);
  }
  return out;
}

}  // namespace

TEST_CASE("text: UTF-8 is valid or it is not", "[agent]") {
  const auto [text, valid] = GENERATE(table<std::string, std::string>({
      {"", ""},
      {"plain", "plain"},
      {"Grüße, 世界 🌍", "Grüße, 世界 🌍"},
      {std::string("a\0b\x1b", 4), std::string("a\0b\x1b", 4)},
      {"\x80", "�"},
      {"a\xFF\xFE", "a��"},
      {"\xC0\xAF", "��"},            // overlong
      {"\xE0\x80\x80", "���"},       // overlong
      {"\xED\xA0\x80", "���"},       // surrogate
      {"\xF4\x90\x80\x80", "����"},  // above U+10FFFF
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
      {"\xE2\x82", "�"},      // cut
      {"\xF0\x9F\x8C", "�"},  // cut
      {"\xE2\x82x", "�x"},
      {"\xE2\xE2\x82\xAC", "�€"},
      {"12345678\xFF"
       "12345678",
       "12345678�12345678"},
  }));
  INFO(text);
  CHECK(agent::to_valid_utf8(text) == valid);
  CHECK(agent::is_valid_utf8(text) == (text == valid));
  CHECK(agent::is_valid_utf8(valid));
}

TEST_CASE("text: a stream is made valid wherever it is cut", "[agent]") {
  const std::string bytes =
      "Grüße 🌍 \xF0\x9F\x8C \xED\xA0\x80 end " + random_bytes(3'000) + "\xE2";
  const std::string expected = agent::to_valid_utf8(bytes);
  CHECK(agent::is_valid_utf8(expected));
  const std::size_t step = GENERATE(1u, 2u, 3u, 5u, 7u, 1000u, 10000u);
  agent::Utf8Stream stream;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const std::string piece = stream.feed(bytes.substr(at, step));
    CHECK(agent::is_valid_utf8(piece));
    out += piece;
  }
  out += stream.finish();
  CHECK(out == expected);
  CHECK(stream.finish().empty());
}

TEST_CASE("text: a stream keeps back only what may become a character", "[agent]") {
  agent::Utf8Stream stream;
  CHECK(stream.feed("a\xE2\x82") == "a");
  CHECK(stream.feed("") == "");
  CHECK(stream.feed("\xAC!") == "€!");
  CHECK(stream.feed("\xE2\x82") == "");
  CHECK(stream.feed("x") == "�x");
}

TEST_CASE("text: a prefix ends between characters", "[agent]") {
  CHECK(agent::prefix("abc", 3) == "abc");
  CHECK(agent::prefix("abc", 2) == "ab");
  CHECK(agent::prefix("abc", 0) == "");
  CHECK(agent::prefix("a€b", 4) == "a€");
  CHECK(agent::prefix("a€b", 3) == "a");
  CHECK(agent::prefix("🌍", 3) == "");
  CHECK(agent::prefix("\x80\x80\x80\x80\x80\x80\x80", 5).size() == 5);
}

TEST_CASE("text: head and tail keep both ends within the limit", "[agent]") {
  CHECK(agent::head_and_tail("short", 5) == "short");
  CHECK(agent::head_and_tail("", 0) == "");
  const std::string text = "BEGIN" + std::string(10'000, 'x') + "END";
  CHECK(agent::head_and_tail(text, 57) == "BEGINxxxxxxxx\n[… 9983 bytes left out …]\nxxxxxxxxxEND");

  const std::string wide = [] {
    std::string out;
    for (int count = 0; count < 3'000; ++count) {
      out += "€";
    }
    return out;
  }();
  for (std::size_t limit = 0; limit < 200; ++limit) {
    const std::string cut = agent::head_and_tail(wide, limit);
    CHECK(cut.size() <= limit);
    CHECK(agent::is_valid_utf8(cut));
  }
  CHECK(agent::head_and_tail(wide, wide.size()) == wide);
}

TEST_CASE("text: a terminal cannot be steered", "[agent]") {
  const auto [text, shown] = GENERATE(table<std::string, std::string>({
      {"plain\ttext\n", "plain\ttext\n"},
      {"Grüße 🌍", "Grüße 🌍"},
      {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
      {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"ok\rGONE", "ok\\rGONE"},
      {"\x7f", "\\x7f"},
      {"\xC2\x9B"
       "31m",
       "\\u009b31m"},  // a one-character CSI
      {"safe \xE2\x80\xAE"
       "txt.exe",
       "safe \\u202etxt.exe"},
      {"\xff\xE2\x82", "\\xff\\xe2\\x82"},
  }));
  CHECK(agent::printable(text) == shown);
}

TEST_CASE("text: JSON on a terminal says what it said before", "[agent]") {
  const auto [json, shown] = GENERATE(table<std::string, std::string>({
      {"{}\n", "{}\n"},
      {R"({"Grüße": "🌍", "a": "\u001b"})", R"({"Grüße": "🌍", "a": "\u001b"})"},
      {"\"\u202e\u009b31m\u2066 Grüße 12345678\"", R"("\u202e\u009b31m\u2066 Grüße 12345678")"},
      {"[\"\ufeff\", 1]", R"(["\ufeff", 1])"},
      {"\"a\u200bb\u00ad\U0001d173\"", R"("a\u200bb\u00ad\ud834\udd73")"},
  }));
  CHECK(agent::printable_json(json) == shown);
  CHECK(agent::printable(shown) == shown);
}

TEST_CASE("text: the nearest name is found where there is just one", "[agent]") {
  const std::vector<std::string> names = {
      "read_file", "write_file", "edit_file", "grep", "glob", "shell", "max_turns", "temperature"};
  const auto [word, expected] = GENERATE(table<std::string, std::string>({
      {"read_file", "read_file"},
      {"Read-File", "read_file"},
      {"READFILE", "read_file"},
      {"raed_file", "read_file"},  // a swap is one edit
      {"read_fiel", "read_file"},
      {"maxturns", "max_turns"},
      {"max_turn", "max_turns"},
      {"tempature", "temperature"},
      {"tempe", "temperature"},  // its beginning
      {"grepp", "grep"},
      {"grepping", "grep"},  // begins with it
      {"shel", "shell"},
      {"sh", ""},  // too short to tell
      {"bash", ""},
      {"g", ""},
      {"", ""},
      {"gob", "glob"},
      {"gro", ""},
      {"gre", "grep"},
      {"completely_different", ""},
  }));
  INFO(word);
  const auto found = agent::nearest(word, names);
  CHECK(found.value_or("") == expected);
  const std::vector<std::string_view> views(names.begin(), names.end());
  CHECK(agent::nearest(word, views) == found);
}

TEST_CASE("text: two names that are equally near are no suggestion", "[agent]") {
  const std::vector<std::string> names = {"read_file", "lead_file", "Lead_File"};
  CHECK(agent::nearest("dead_file", names) == std::nullopt);
  CHECK(agent::nearest("LEAD_FILE", names) == std::nullopt);  // two names fold to it
  CHECK(agent::nearest("lead_file", names) == "lead_file");   // but one is the word itself
  const std::vector<std::string> twice = {"output", "output"};
  CHECK(agent::nearest("ouptut", twice) == "output");
}

TEST_CASE("text: an endless word costs nothing", "[agent]") {
  const std::string word(1'000'000, 'a');
  const std::vector<std::string> names = {"a", std::string(999'999, 'a'), "b"};
  CHECK(agent::nearest(word, names) == std::nullopt);
}

TEST_CASE("text: characters are counted, not bytes", "[agent]") {
  CHECK(agent::character_count("") == 0);
  CHECK(agent::character_count("a\xC3\x84\xE2\x82\xAC\xF0\x9F\x98\x80") == 4);
}

TEST_CASE("text: only ASCII letters have a lower case", "[agent]") {
  CHECK(agent::folded("Max-Turns_2") == "max_turns_2");
  CHECK(agent::to_lower("AZ az 09 [@`{ \xC3\x84") == "az az 09 [@`{ \xC3\x84");
}

TEST_CASE("text: a stranger's words are one line", "[agent]") {
  CHECK(agent::one_line("shell") == "shell");
  CHECK(agent::one_line("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(agent::one_line("a\x1b[31mb\x7f") == "a\\x1b[31mb\\x7f");
  CHECK(agent::one_line("a\u2028b\u202Ec\u2066d\u0085") == "a\\u2028b\\u202ec\\u2066d\\u0085");
  CHECK(agent::one_line("a\xff") == "a\\xff");
  CHECK(agent::one_line("größe", 6) == "gr…");
  CHECK(agent::one_line("a\u200Bb\u00ADc\U000E0073d\u2060") ==
        "a\\u{200b}b\\u{00ad}c\\u{e0073}d\\u{2060}");
  CHECK(agent::one_line("— “so” \u00A0 \u3000 می\u200Cخواهم ⚠\uFE0F") ==
        "— “so” \u00A0 \u3000 می\u200Cخواهم ⚠\uFE0F");
  CHECK(agent::one_line(std::string(10'000, 'x')).size() == 1'000);
  CHECK(agent::one_line(std::string(10'000, '\n')).size() <= 1'000);
  const std::string once = agent::one_line(std::string(5'000, '\n') + "x", 100);
  CHECK(agent::one_line(once, 100) == once);
}

TEST_CASE("text: what shows nothing is blank", "[agent]") {
  const auto* const blank = GENERATE("",
                                     " ",
                                     " \t\r\n",
                                     "\xC2\xA0",                           // no-break space
                                     "\xE2\x80\x8B\xEF\xBB\xBF",           // zero width, mark
                                     "\xE3\x80\x80\xE2\x80\xA8",           // wide, line separator
                                     "\xE2\x81\xA0\xC2\xAD\xE2\x80\x8D",   // joiners, soft hyphen
                                     "\xE3\x85\xA4\xE2\xA0\x80",           // fillers
                                     "\xF3\xA0\x80\xA0\xEF\xB8\x8F\x1B");  // tags, selectors
  CHECK(agent::is_blank(blank));
  CHECK(agent::is_blank(std::string(blank) + std::string(3, '\0')));
  CHECK_FALSE(agent::is_blank(std::string(blank) + "."));
}

TEST_CASE("text: what shows anything is not blank", "[agent]") {
  CHECK_FALSE(agent::is_blank("\xC3\x84"));
  CHECK_FALSE(agent::is_blank("\xE2\x80\x90"));      // a hyphen
  CHECK_FALSE(agent::is_blank("\xEF\xBF\xBD"));      // the sign for what could not be read
  CHECK_FALSE(agent::is_blank("\xF0\x9F\x98\x80"));  // a face
  CHECK_FALSE(agent::is_blank("\xFF"));
}
