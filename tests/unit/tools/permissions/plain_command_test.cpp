#include "tools/permissions/plain_command.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

// "git diff|wc": words apart by blanks, commands by bars, `?` for a wildcard.
std::string told(const std::vector<tools::PlainCommand>& line) {
  std::string text;
  for (const tools::PlainCommand& command : line) {
    text += text.empty() ? "" : "|";
    for (const std::string& assignment : command.assignments) {
      text += assignment + "+";
    }
    for (std::size_t at = 0; at < command.words.size(); ++at) {
      text += at > 0 ? "," : "";
      for (const char c : command.words[at]) {
        text += c == tools::k_unknown_name ? '?' : c;
      }
    }
    for (const tools::ShellFile& file : command.files) {
      text += (file.writes ? ">" : "<") + file.path;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("plain_command: words are what a program is given", "[tools]") {
  struct Row {
    const char* line;
    const char* told;
  };
  const auto row = GENERATE(values<Row>({
      {"a b  c\t'd e' \"f g\" h\\ i", "a,b,c,d e,f g,h i"},
      {"a'b'\"c\"\\d''", "abcd"},
      {"a '' \"\"", "a,,"},
      {"a 'b\\c\"$d' \"e\\f\\\\\\\"\\$'\"", "a,b\\c\"$d,e\\f\\\"$'"},
      {"a \"b\\\nc\" d\\\ne", "a,bc,de"},
      {"a 'b\nc'", "a,b\nc"},
      {"a;b&&c||d|e\nf\n\n;", ""},
      {"a;b&&c||d|e\nf\n\n", "a|b|c|d|e|f"},
      {"a &&\n # c\n b # d", "a|b"},
      {"a b#c '#d' \\#e", "a,b#c,#d,#e"},
      {"a src/*.c ./? '*'", "a,src/?.c,./?,*"},
      {"a HEAD~1 {} [ ] ! x=y", "a,HEAD~1,{},[,],!,x=y"},
      {"LC_ALL=C TZ=UTC a b=c", "LC_ALL=C+TZ=UTC+a,b=c"},
      {"a <in >out 2>>'e r' >&2", "a<in>out>e r"},
      {"a 2 > out", "a,2>out"},
      {"a\\\n>out", ""},
      {"größe", ""},
      {"a größe \xc2\xa0 \\é", "a,größe,\xc2\xa0,é"},
      {"a \xff", ""},
      {"a \x01", ""},
      {"a \r\n", ""},
      {"\xef\xbb\xbf"
       "a",
       ""},
      {"", ""},
  }));
  const auto line = tools::read_plain(row.line);
  INFO(row.line);
  CHECK((line ? told(*line) : std::string()) == row.told);
  CHECK((line || !line.error().empty()));
}

TEST_CASE("plain_command: a wrapper's command begins behind it", "[tools]") {
  struct Row {
    const char* line;
    std::vector<std::size_t> starts;
  };
  const auto row = GENERATE(values<Row>({
      {"make test", {0}},
      {"nice make", {0, 1}},
      {"time timeout 5 nohup make", {0, 1, 3, 4}},
      {"env A=b make", {0}},
      {"nice -n 5 make", {0}},
      {"timeout x make", {0}},
      {"/usr/bin/nice make", {0}},
      {"'nice' \"make\"", {0, 1}},
  }));
  const auto line = tools::read_plain(row.line);
  INFO(row.line);
  REQUIRE(line);
  CHECK(line->front().starts == row.starts);
}

TEST_CASE("plain_command: what is long or deep is refused at once", "[tools]") {
  const auto repeated = [](const char* text, int times) {
    std::string line;
    for (; times > 0; --times) {
      line += text;
    }
    return line;
  };
  CHECK(tools::read_plain(repeated("a ", 4'000)));
  CHECK_FALSE(tools::read_plain(repeated("a ", 6'000)));
  CHECK_FALSE(tools::read_plain(repeated("a;", 40'000)));
  CHECK_FALSE(tools::read_plain(repeated("nice ", 20) + "make"));
}
