#include "config/yaml/yaml.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace {

// The document as JSON, or the first problem's message.
std::string read(const std::string& text) {
  const auto source = config::Source::create(text, "f");
  REQUIRE(source);
  config::Problems problems(*source);
  const auto root = config::parse_yaml(*source, {0, source->text().size()}, {}, problems);
  return root ? agent::dump(config::to_json(*root)) : problems.take_errors().at(0).message;
}

}  // namespace

TEST_CASE("yaml: values by the core schema", "[config]") {
  struct Row {
    std::string text;
    std::string json;
  };
  const auto row = GENERATE(values<Row>({
      {"[true, True, TRUE, false, yes, No, on, ~, null, NULL, nul]",
       R"([true,true,true,false,"yes","No","on",null,null,null,"nul"])"},
      {"[0, -1, +2, 017, 0o17, 0xfF, 0b1, 1_0, 0x, -0x1]",
       R"([0,-1,2,17,15,255,"0b1","1_0","0x","-0x1"])"},
      {"[1.5, .5, 5., 1e3, -1.5E-2, .inf, ., e3, 1.2.3]",
       R"([1.5,0.5,5.0,1e3,-1.5E-2,null,".","e3","1.2.3"])"},
      {"['1', \"true\", '', 'it''s', \"a\\tb\\u00e9\"]", R"(["1","true","","it's","a\tbé"])"},
      {"a: |\n  x\n   y\n\n  z\n", R"({"a":"x\n y\n\nz\n"})"},
      {"a: >-\n  x\n  y\n\n  z\n", R"({"a":"x y\nz"})"},
      {"a: x\n  y", R"({"a":"x y"})"},
      {R"(["\N\_\L\P", "é\_é"])", "[\"\u0085\u00a0\u2028\u2029\",\"é\u00a0é\"]"},
      {"a: \"x\n", "a quote is not closed"},
      {"a: 'x\n", "a quote is not closed"},
      {"a: \"x\nb: \"y\"\n", "this line does not fit the keys above it"},
      {"- \"x\n- y\n", "a quote is not closed"},
      {"a:\nb: []\nc: {}", R"({"a":null,"b":[],"c":{}})"},
      {"{a?: b?c, d: [e?, ?f, 'g?', \"h?\\x3f\"]}",
       R"yaml(this character cannot begin a value)yaml"},
      {"{a: b?c, d: [e.md?, 'g?', \"h?\\x3f\"], u: http://h/?q=1}",
       R"({"a":"b?c","d":["e.md?","g?","h??"],"u":"http://h/?q=1"})"},
      {"really? yes", R"("really? yes")"},
      {"? a\n: b", R"({"a":"b"})"},
      {"a: b # c\n# d\n", R"({"a":"b"})"},
      {"a: &x [1, 2]\nb: *x", R"({"a":[1,2],"b":[1,2]})"},
      {"{\"a\":1,\"b\":[{\"c\":null}]}", R"({"a":1,"b":[{"c":null}]})"},
      {"[99999999999999999999, 1e400, -0, 1.0, 1.50, +00.5e-07, -017, 0x10, -.5]",
       R"([99999999999999999999,1e400,-0,1.0,1.50,0.5e-07,-17,16,-0.5])"},
      {"[a, , b]", "an item is missing between the commas"},
      {"[ , a]", "an item is missing between the commas"},
      {"[a, , ]", "an item is missing between the commas"},
      {"[a, ~, null, &x , b, ]", R"(["a",null,null,null,"b"])"},
      {"[a]#x", "a comment needs a space before its `#`"},
      {"[a,#x\n]", "a comment needs a space before its `#`"},
      {"a: 'b'#x", "a comment needs a space before its `#`"},
      {"a: >#x\n  b", "a comment needs a space before its `#`"},
      {"a#b: [c#d, 'e#f', \"g#h\"] # i#j", R"({"a#b":["c#d","e#f","g#h"]})"},
      {"a: |\n  b#c\n  [d]#e", R"({"a":"b#c\n[d]#e\n"})"},
      {"[-]", "a dash that begins no item"},
      {"a: -", "a list item where none can begin"},
      {"a:\n  b\nc\n", "this line has no colon"},
      {"a: b\nc", "this line has no colon"},
      {"a: &k b\n*k :\n&l c:\n", R"({"a":"b","b":null,"c":null})"},
      {"? a\n? b\n", R"({"a":null,"b":null})"},
      {"{a, b: c}", R"({"a":null,"b":"c"})"},
      {R"("it\'s")", "an unknown escape in double quotes"},
      {R"("a\\'b")", R"("a\\'b")"},
      {"a: '\n\n  '\nb: \"\n  \"\nc: '  '\n", R"({"a":"\n","b":" ","c":"  "})"},
      {"--- {a: 1}\n...\n", R"({"a":1})"},
  }));
  INFO(row.text);
  CHECK(read(row.text) == row.json);
}

TEST_CASE("yaml: the depth of closed lists is counted one by one", "[config]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(read(nested(64)) == nested(64));
  CHECK(read(nested(65)) == "lists and maps nest more than 64 levels deep");
}

TEST_CASE("yaml: a character of a scalar is found in its source", "[config]") {
  struct Row {
    std::string text;
    std::size_t column;  // of the `Z`, which stands once
    int line;
  };
  const auto row = GENERATE(values<Row>({
      {"a: xZ", 5, 1},
      {"a: x\n  y Z", 5, 2},
      {"a: 'it''s Z'", 11, 1},
      {"a: \"\\x41\\t\\\"\\u00e9\\U0001F600 \\N\\_\\L Z\"", 37, 1},
      {"a: \"x\\\n   \\  Z\"", 6 + 1, 2},
      {"a: |\n  x\n\n    é Z\n", 7, 4},
      {"a: >\n  x\n\n  y Z\n", 5, 4},
      {"a: |2-  # comment with Y\n  x Z\n", 5, 2},
      {"a: &anchor\n  x Z", 5, 2},
      {"- [b, 'c', {d: \"\xC3\xA9Z\"}]", 18, 1},
  }));
  INFO(row.text);
  const auto source = config::Source::create(row.text, "f");
  config::Problems problems(*source);
  const auto root = config::parse_yaml(*source, {0, source->text().size()}, {}, problems);
  REQUIRE(root);
  const config::Value* value = &*root;
  while (!value->is_scalar()) {
    value = value->kind == config::Kind::list ? &value->items.back() : &value->entries.back().value;
  }
  const auto where = source->where({config::offset_of(*source, *value, value->text.find('Z')), 1});
  CHECK(where.line == row.line);
  CHECK(where.column == static_cast<int>(row.column));
  CHECK(source->text()[config::offset_of(*source, *value, value->text.find('Z'))] == 'Z');
}
