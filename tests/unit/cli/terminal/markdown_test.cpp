#include "cli/terminal/markdown.h"

#include "cli/terminal/columns.h"
#include "cli/terminal/word_wrap.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

namespace {

// Styles as <1;31> and </>.
std::string readable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      const std::size_t end = text.find('m');
      const std::string_view style = text.substr(2, end - 2);
      out += style == "0" ? "</>" : "<" + std::string(style) + ">";
      text.remove_prefix(end + 1);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

// In pieces of `size` characters.
std::string set(std::string_view text, std::size_t columns, std::size_t size) {
  cli::MarkdownSetter setter([columns] { return columns; });
  std::string out;
  std::string piece;
  std::size_t count = 0;
  while (!text.empty()) {
    const std::string_view character = cli::first_character(text);
    piece += character;
    text.remove_prefix(character.size());
    if (++count % size == 0) {
      out += setter.feed(piece);
      piece.clear();
    }
  }
  out += setter.feed(piece);
  return out += setter.finish();
}

std::string set(std::string_view text, std::size_t columns = 0) {
  return readable(set(text, columns, text.size() + 1));
}

}  // namespace

TEST_CASE("markdown: a line is what its beginning says", "[cli]") {
  struct Row {
    std::string text;
    std::string shown;
  };
  const auto row = GENERATE(values<Row>({
      {"plain", "plain\n"},
      {"two\nlines\n", "two\nlines\n"},
      {"# Title", "<1;35>Title</>\n"},
      {"### Part", "<1>Part</>\n"},
      {"#5 is no heading", "#5 is no heading\n"},
      {"####### nor this", "####### nor this\n"},
      {"- one\n* two\n+ three", "• one\n• two\n• three\n"},
      {"- [ ] open\n- [x] done", "☐ open\n☑ done\n"},
      {"-not a list", "-not a list\n"},
      {"12. twelve", "12. twelve\n"},
      {"2026 was a year", "2026 was a year\n"},
      {"> said", "<2>│</> said\n"},
      {"a\n\nb", "a\n\nb\n"},
      {"    deep", "    deep\n"},
      {"```c\nint **a**;\n\n```\nb", "  <36>int **a**;</>\n\nb\n"},
      {"~~~\n```\n~~~\nb", "  <36>```</>\nb\n"},
      {"````\n```\n````\nb", "  <36>```</>\nb\n"},
      {"```never closed\n*a*", "  <36>*a*</>\n"},
      {"```x``` is code", "<36>x</> is code\n"},
  }));
  INFO(row.text);
  CHECK(set(row.text) == row.shown);
}

TEST_CASE("markdown: marks within a line", "[cli]") {
  struct Row {
    std::string text;
    std::string shown;
  };
  const auto row = GENERATE(values<Row>({
      {"a **b** c", "a <1>b</> c\n"},
      {"a *b* _c_", "a <3>b</> <3>c</>\n"},
      {"***both***", "<1;3>both</>\n"},
      {"**bold *and* it**", "<1>bold</> <1;3>and</> <1>it</>\n"},
      {"*it **and** bold*", "<3>it</> <3;1>and</> <3>bold</>\n"},
      {"~~gone~~ ~5", "<9>gone</> ~5\n"},
      {"2 * 3 * 4", "2 * 3 * 4\n"},
      {"snake_case_name", "snake_case_name\n"},
      {"a ** b", "a ** b\n"},
      {"**never closed", "**never closed\n"},
      {"`a*b*` ``a`b``", "<36>a*b*</> <36>a`b</>\n"},
      {"`never closed", "`never closed\n"},
      {R"(\*no\* C:\dir)", "*no* C:\\dir\n"},
      {"[a](http://x)", "<4>a</> (<2>http://x</>)\n"},
      {"[a](x_(y)) [b] c](d)", "<4>a</> (<2>x_(y)</>) [b] c](d)\n"},
      {"![alt](p.png)!", "<4>alt</> (<2>p.png</>)!\n"},
      {"http://x", "http://x\n"},
      {"a[0] = b[1]", "a[0] = b[1]\n"},
      {"tail *", "tail *\n"},
      {"tail \\", "tail \\\n"},
  }));
  INFO(row.text);
  CHECK(set(row.text) == row.shown);
}

TEST_CASE("markdown: a table has columns, at any width", "[cli]") {
  const std::string table =
      "| a | bb |\n|---|:-:|\n| `x|y` | one two three |\n| 日本 | d | e |\nafter";
  CHECK(set(table) ==
        "<1>a</>     <1>bb</>\n"
        "<2>────  ─────────────  ─</>\n"
        "<36>x|y</>   one two three\n"
        "日本  d              e\n"
        "after\n");
  CHECK(set("| a |\nno table") == "| a |\nno table\n");
  const std::string narrow = set(table, 16, 1);
  CHECK(readable(narrow).contains("one"));
  for (std::size_t begin = 0; begin < narrow.size(); begin = narrow.find('\n', begin) + 1) {
    const std::string line = narrow.substr(begin, narrow.find('\n', begin) - begin);
    INFO(line);
    CHECK(cli::columns_of(line) <= 16);
  }
}

TEST_CASE("markdown: how it comes changes nothing, and no line is too wide", "[cli]") {
  const std::string text =
      "# A *title* of some words\n\nText with **bold words that go on** and `code` and a "
      "[link](https://example.org/a/long/way) to it.\n\n- an entry that has to be broken\n"
      "  10) and one below\n> a quote that is broken as well\n\n日本語のテキストは空白がない。 "
      "e\u0301\n"
      "averyveryverylongwordthatfitsnowhereatall\n***\n| a | b |\n|--|--|\n| c | d |\n~~~\nx\n~~~";
  const std::size_t columns = GENERATE(20U, 40U, 80U, 120U);
  const std::string whole = set(text, columns, text.size());
  for (const std::size_t size : {1U, 2U, 3U, 7U}) {
    CHECK(set(text, columns, size) == whole);
  }
  for (std::size_t begin = 0; begin < whole.size(); begin = whole.find('\n', begin) + 1) {
    const std::string line = whole.substr(begin, whole.find('\n', begin) - begin);
    INFO(line);
    CHECK(cli::columns_of(line) <= columns);
  }
}

TEST_CASE("markdown: words come out as soon as they are whole", "[cli]") {
  cli::MarkdownSetter setter([] { return std::size_t{60}; });
  CHECK(setter.feed("1").empty());  // the beginning of a list, perhaps
  CHECK(setter.feed("st of all, plain wor") == "1st of all, plain");
  CHECK(setter.feed("ds that") == " words");
  CHECK(setter.feed(" **are bold") == " that");
  CHECK(readable(setter.feed("** and")) == " <1>are</> <1>bold</>");
  CHECK(setter.is_in_line());
  CHECK(setter.finish() == " and\n");
  CHECK_FALSE(setter.is_in_line());
}

TEST_CASE("markdown: what is long takes its time and no more", "[cli]") {
  const auto time_of = [](std::string_view pattern, std::size_t count) {
    std::string text;
    for (std::size_t at = 0; at < count; ++at) {
      text += pattern;
    }
    const std::clock_t begin = std::clock();  // others may be at work
    const std::string out = set(text, 80, 4'096);
    CHECK(out.size() + 4 * count >= text.size());
    return std::clock() - begin;
  };
  const std::string pattern = GENERATE(values<std::string>({"-",
                                                            "=",
                                                            " ",
                                                            "sk-",
                                                            "word ",
                                                            "*a ",
                                                            "**",
                                                            "`a",
                                                            "[",
                                                            "[a](",
                                                            "| a ",
                                                            "- a\n",
                                                            "```\n",
                                                            "_a*b`c[d "}));
  INFO(pattern);
  const auto small = time_of(pattern, 20'000);
  CHECK(time_of(pattern, 160'000) < 24 * small + CLOCKS_PER_SEC / 5);
}

TEST_CASE("word wrap: widths of characters", "[cli]") {
  CHECK(cli::columns_of("abc") == 3);
  CHECK(cli::columns_of("日本") == 4);
  CHECK(cli::columns_of("e\u0301\u200b") == 1);
  CHECK(cli::columns_of("\U0001F600") == 2);
  CHECK(cli::columns_of("한글") == 4);
  CHECK(cli::columns_of("\x1b[1;31mred\x1b[0m") == 3);
  CHECK(cli::cut_to_columns("abcdef", 4) == "abc…");
  CHECK(cli::cut_to_columns("abcd", 4) == "abcd");
  CHECK(cli::cut_to_columns("日本語", 4) == "日…");
  CHECK(cli::cut_to_columns("abc", 0).empty());
}

TEST_CASE("word wrap: a line goes on under itself", "[cli]") {
  CHECK(cli::wrap_line("one two three", 0, 2) == "one two three");
  CHECK(cli::wrap_line("one two three", 10, 2) == "one two\n  three");
  CHECK(cli::wrap_line("  one two", 6, 4) == "  one\ntwo");  // too narrow to be moved in
  CHECK(cli::wrap_line("abcdefghijkl", 5, 0) == "abcde\nfghij\nkl");
  CHECK(readable(cli::wrap_line("\x1b[33mone two\x1b[0m x", 4, 0)) == "<33>one</>\n<33>two</>\nx");
}
