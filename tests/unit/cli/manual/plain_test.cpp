// mdoc as text, macro by macro.
#include "cli/manual/plain.h"

#include <catch2/catch.hpp>

namespace {

std::string plain(std::string_view source, bool bold = false) {
  return cli::mdoc::plain_text(source, {.name = "errand", .bold = bold});
}

}  // namespace

TEST_CASE("plain: words of a line, with their punctuation", "[cli]") {
  const auto [source, text] = GENERATE(table<std::string, std::string>({
      {".Nm\nruns.", "errand runs."},
      {".Nm errand check", "errand check"},
      {"See\n.Xr errand-agent 5 ,\n.Xr errand 1 .", "See errand-agent(5), errand(1)."},
      {".Fl h , Fl -help .", "-h, --help."},
      {".Fl -version | -help", "--version | --help"},
      {".Op Fl o Ar FORMAT", "[-o FORMAT]"},
      {".Op Cm bash | zsh ...", "[bash | zsh ...]"},
      {"a limit\n.Pq Fl o Cm json .", "a limit (-o json)."},
      {".Pq Pa /proc , /sys , No and FUSE ,", "(/proc, /sys, and FUSE),"},
      {"what\n.Po in\n.Ev HOME\n.Pc ,\nand", "what (in HOME), and"},
      {".Ql git push ,\nor", "`git push`, or"},
      {".Ql a b , c d , No an alias", "`a b`, `c d`, an alias"},
      {".Ql |\nand\n.Ql \\&:", "`|` and `:`"},
      {".Sq \\-\\-", "'--'"},
      {".Ic \"a  b\" , c .", "a  b, c."},
      {".Ic limits .\nNext", "limits. Next"},
      {".Li {", "{"},
      {"\\&.profile \\(dqa\\(dq \\(aqb\\(aq c\\ed", ".profile \"a\" 'b' c\\d"},
  }));
  INFO(source);
  CHECK(plain(source) == "    " + text + "\n");
}

TEST_CASE("plain: headings, paragraphs and literal lines", "[cli]") {
  CHECK(plain(".\\\" not this\n.Dd today\n.Sh ONE\nText\n.Pp\nmore.\n.Ss Two\nText:\n"
              ".Bd -literal -offset indent\nif x\n\n  .y\n.Ed\nEnd.\n.Dl a \\-b\n") ==
        "ONE\n"
        "    Text\n\n"
        "    more.\n\n"
        "  Two\n"
        "    Text:\n\n"
        "        if x\n\n"
        "          .y\n\n"
        "    End.\n"
        "        a -b\n");
  CHECK(plain(".Sh ONE\nText", true) == "\x1b[1mONE\x1b[0m\n    Text\n");
}

TEST_CASE("plain: lists in lists", "[cli]") {
  CHECK(plain(".Bl -tag -width Ds\n.It Ic one , two\nText\n.Bl -bullet\n.It\na\n.It\nb\n.El\n"
              ".It Fl x\ny\n.El\nbehind") ==
        "    one, two\n"
        "        Text\n\n"
        "        - a\n\n"
        "        - b\n\n"
        "    -x\n"
        "        y\n"
        "    behind\n");
  CHECK(plain(".Bl -tag -width 3n -compact\n.It 7\nseven\n.It 12345\nlong\n.El\n") ==
        "    7    seven\n"
        "    12345\n"
        "         long\n");
}

TEST_CASE("plain: long lines are broken between words, and examples nowhere", "[cli]") {
  std::string words;
  for (int word = 0; word < 30; ++word) {
    words += "word ";
  }
  const std::string text = plain(words);
  CHECK(text.find('\n') <= 80);
  CHECK(text.find("\n    word") != std::string::npos);
  CHECK(plain("One that is longer:\n.Ql \"prices: {openai/gpt-5-mini: {input: 0.25, output: 2, "
              "more: 3}}\"") ==
        "    One that is longer:\n    `prices: {openai/gpt-5-mini: {input: 0.25, output: 2, more: "
        "3}}`\n");
}
