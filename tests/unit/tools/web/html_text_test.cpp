#include "tools/web/html_text.h"

#include "tests/support/linear.h"
#include "tests/unit/tools/file_support.h"
#include "tools/web/charset.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace {

std::string text_of(std::string_view page) {
  const auto text = tools::html_to_text(page, *tools::parse_url("https://example.com/docs/"), {});
  return text ? *text : "(no text) " + text.error().message;
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int at = 0; at < times; ++at) {
    text += part;
  }
  return text;
}

// About so many bytes of it.
std::string much_of(std::string_view part, std::size_t bytes) {
  return repeated(part, static_cast<int>(bytes / part.size()));
}

std::string numbered(std::string_view before, std::string_view after, std::size_t bytes) {
  std::string text;
  for (int at = 0; text.size() < bytes; ++at) {
    text += std::string(before) + std::to_string(at) + std::string(after);
  }
  return text;
}

std::string tangled(std::size_t kind, std::size_t bytes) {
  constexpr auto k_parts = std::to_array<std::string_view>({"<span>",
                                                            "<div><p>",
                                                            "<ul><li>",
                                                            "<table><tr><td>",
                                                            "<table><b>",
                                                            "<a href=/>",
                                                            "<div></span>",
                                                            "<!--><div>",
                                                            "<b><i><u><s><em>"});
  switch (kind) {
    case 0:
      return much_of("<i><p>", bytes) + repeated("</i>", 100);
    case 1:
      return much_of("<svg><g>", bytes) + repeated("</g></svg>", 500) + "<p>";
    case 2:
      return numbered("<b x=", "><p>", bytes);
    case 3:
      return "<p" + numbered(" a", "", bytes) + ">";
    default:
      return much_of(k_parts.at(kind - 4), bytes);
  }
}

}  // namespace

TEST_CASE("html: pages become text to read", "[tools]") {
  struct Row {
    const char* page;
    const char* text;
  };
  const auto row = GENERATE(values<Row>({
      {"", ""},
      {"Hello", "Hello"},
      {"<p>One\n  two</p><p>three</p>", "One two\n\nthree"},
      {"a<br>b<div>c</div><div>d</div>e", "a\nb\nc\nd\ne"},
      {"<title> My  page </title><h1>One</h1>x<h3>Two</h3>y",
       "Title: My page\n\n# One\n\nx\n\n### Two\n\ny"},
      {"<p>See <a href='a.html'>the docs</a>.", "See [the docs](https://example.com/docs/a.html)."},
      {"<a href='//x.example/y'><b>bold</b> one</a>", "[bold one](https://x.example/y)"},
      {"<a href='#top'>top</a> <a href='javascript:x()'>do</a> <a name=x>here</a>", "top do here"},
      {"a<a href='/x'> </a>b", "a b"},
      {"<ul><li>a<li>b<ul><li>c</ul><li><a href='/'>d</a></ul>e",
       "- a\n- b\n  - c\n- [d](https://example.com/)\n\ne"},
      {"<ol><li>a<li>b</ol>", "1. a\n2. b"},
      {"<ul><li></li><li>x</ul>", "- x"},
      {"<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td> 2 </td></tr></table>",
       "| A | B |\n| 1 | 2 |"},
      {"<p>Run <code>ls -l</code>:</p><pre>a  b\n  <b>c</b>\n</pre>done",
       "Run `ls -l`:\n\n```\na  b\n  c\n```\n\ndone"},
      {"a<script>if (x) document.write('<p>no</p>')</script>b<style>p{}</style>", "ab"},
      {"a<p hidden>no</p><p style='Display : none'>no</p><p aria-hidden=true>no</p>b", "ab"},
      {"<img src=x alt='A cat'><hr>&lt;b&gt; &eacute; &#x1F600; &nope;",
       "[image: A cat]\n\n---\n\n<b> é 😀 &nope;"},
      {"<frameset><frame src=x></frameset>text", "text"},
      {"<svg><title>no</title></svg>a<template>no</template><!-- no -->b", "ab"},
  }));
  INFO(row.page);
  CHECK(text_of(row.page) == row.text);
}

TEST_CASE("html: no page takes the process's stack, memory or time", "[tools]") {
#ifdef ERRAND_SANITIZED
  constexpr std::size_t k_bytes = 16'000;
#else
  constexpr std::size_t k_bytes = 128'000;
#endif
  const std::string end = GENERATE("QED", "QED<FRAMESET>");
  const std::size_t kind = GENERATE(range(std::size_t{0}, std::size_t{13}));
  INFO("kind " << kind << " " << end);
  CHECK(tests::grows_linearly(k_bytes, [&](std::size_t bytes) {
    const std::string page = tangled(kind, bytes) + end;
    std::string text;
    const double seconds = tests::seconds_of([&] { text = text_of(page); });
    CHECK((text.contains("QED") || text.contains("too tangled") || kind == 1));
    return seconds;
  }));
}

TEST_CASE("html: what is left out of a page that is nested too deeply is said", "[tools]") {
  CHECK(
      text_of(repeated("<span>", 200'000) + "deep" + repeated("</span>", 200'000) + "<p>after") ==
      "[199500 tags of the page left out: nested too deeply; the text is all here]\ndeep\n\nafter");
  CHECK(text_of(repeated("<div>", 499) + "x" + repeated("</div>", 499)) == "x");
  CHECK_FALSE(text_of(repeated("<li>a<p>b", 3'000)).contains("left out"));
  CHECK_FALSE(text_of(repeated("<a name=x>a <div>b</div>", 3'000)).contains("left out"));
  CHECK_FALSE(
      text_of(repeated("<p>a <b>b", 60) + repeated("<tr><td>c<p>d", 3'000)).contains("left out"));
  CHECK_FALSE(text_of("<script>" + repeated("if (a<b) x='<div>';", 1'000) + "</script>x")
                  .contains("left out"));
  CHECK(text_of(repeated("<dl><dt>a<dd>b</dl>", 1'000)).size() > 3'000);
}

TEST_CASE("html: a stop is heard in the middle of a page", "[tools]") {
  const auto text = tools::html_to_text(repeated("<p>x", 100'000),
                                        *tools::parse_url("https://example.com/"),
                                        tests::requested_stop());
  REQUIRE_FALSE(text);
  CHECK(text.error().code == agent::Code::tool_cancelled);
}

TEST_CASE("charset: what servers say is turned into UTF-8", "[tools]") {
  using tools::to_utf8;
  CHECK(to_utf8("caf\xc3\xa9", "") == "café");
  CHECK(to_utf8("caf\xe9", "") == "café");
  CHECK(to_utf8("caf\xe9 \x80", "ISO-8859-1") == "café €");
  CHECK(to_utf8("\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251") == "Привет");
  CHECK(to_utf8("\x93\xfa\x96\x7b", "Shift_JIS") == "日本");
  CHECK(to_utf8("\xc4\xe3\xba\xc3", "gb2312") == "你好");
  CHECK(to_utf8(std::string_view("a\0\xe9\0", 4), "utf-16le") == "aé");
  CHECK(to_utf8("\xef\xbb\xbfx", "iso-8859-1") == "x");
  CHECK(to_utf8(std::string_view("\xff\xfe"
                                 "a\0",
                                 4),
                "") == "a");
  CHECK(to_utf8("a\xff", "utf-8") == "a\xEF\xBF\xBD");
  CHECK(to_utf8("ab\xe3", "euc-jp") == "ab\xEF\xBF\xBD");
  CHECK_FALSE(to_utf8("a", "utf-7"));
  CHECK_FALSE(to_utf8("a", "utf-8//translit"));
}

TEST_CASE("charset: a page says it itself", "[tools]") {
  using tools::charset_in_page;
  CHECK(charset_in_page("<html><META charset=\"koi8-r\">") == "koi8-r");
  CHECK(charset_in_page("<meta http-equiv=x content='text/html; charset=gbk'>") == "gbk");
  CHECK(charset_in_page("<meta charset=utf-16>") == "utf-8");
  CHECK(charset_in_page("charset=gbk").empty());
  CHECK(charset_in_page(std::string(1'024, ' ') + "<meta charset=gbk>").empty());
  CHECK(charset_in_page("<meta charset").empty());
}
