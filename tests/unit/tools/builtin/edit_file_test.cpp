#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <filesystem>

using agent::Code;
using tests::FileFolder;

namespace {

tools::Output edit(const FileFolder& folder,
                   std::string_view old_string,
                   std::string_view new_string,
                   bool replace_all = false) {
  const agent::Json arguments{{"path", "a.txt"},
                              {"old_string", old_string},
                              {"new_string", new_string},
                              {"replace_all", replace_all}};
  return folder.call(*tests::made(tools::make_edit_file), agent::dump(arguments));
}

}  // namespace

TEST_CASE("edit_file: replaces the one place and shows it", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "1\n2\n3\nint x = 1;\n5\n6\n7\n");

  const auto output = edit(folder, "x = 1", "y = 2;\nint z = 3");
  CHECK(output.code == std::nullopt);
  CHECK(output.text ==
        "edited a.txt (1 replacement)\n"
        "@@ -2,5 +2,6 @@\n"
        " 2\n 3\n"
        "-int x = 1;\n"
        "+int y = 2;\n+int z = 3;\n"
        " 5\n 6\n");
  CHECK(folder.read("a.txt") == "1\n2\n3\nint y = 2;\nint z = 3;\n5\n6\n7\n");
  CHECK(folder.count() == 1);
}

TEST_CASE("edit_file: changes at the edges of a file", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "first\nlast");

  CHECK(edit(folder, "first\n", "").text ==
        "edited a.txt (1 replacement)\n@@ -1,2 +1,1 @@\n-first\n-last\n+last\n");
  CHECK(folder.read("a.txt") == "last");
  CHECK(edit(folder, "last", "last\n").code == std::nullopt);
  CHECK(folder.read("a.txt") == "last\n");
  CHECK(edit(folder, "last\n", "").code == std::nullopt);
  CHECK(folder.read("a.txt").empty());
}

TEST_CASE("edit_file: several places need replace_all", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "foo foo\nbar\nfoo\n");

  const auto refused = edit(folder, "foo", "baz");
  CHECK(refused.code == Code::tool_failed);
  CHECK_THAT(refused.message, Catch::Contains("3 times") && Catch::Contains("lines 1, 1, 3"));
  CHECK(folder.read("a.txt") == "foo foo\nbar\nfoo\n");

  CHECK(edit(folder, "foo", "x\ny", true).text ==
        "edited a.txt (3 replacements)\n"
        "@@ -1,3 +1,5 @@\n-foo foo\n+x\n+y x\n+y\n bar\n foo\n"
        "@@ -1,3 +3,4 @@\n foo foo\n bar\n-foo\n+x\n+y\n");
  CHECK(folder.read("a.txt") == "x\ny x\ny\nbar\nx\ny\n");
}

TEST_CASE("edit_file: says why a text is not there", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "one\n\tif (x) {\n\t\treturn;\n\t}\n");

  CHECK_THAT(edit(folder, "if (x) {\n  return;", "y").suggestion,
             Catch::Contains("Line 2 has the same text with other white space"));
  CHECK_THAT(edit(folder, "2\t\tif (x) {", "y").suggestion, Catch::Contains("line numbers"));
  CHECK_THAT(edit(folder, "key: [redacted]", "y").suggestion, Catch::Contains("cannot read"));
  CHECK_THAT(edit(folder, "if (x) {\n  throw;", "y").suggestion,
             Catch::Contains("first line stands in line 2"));
  const auto absent = edit(folder, "nowhere", "y");
  CHECK(absent.code == Code::tool_failed);
  CHECK(absent.message == "old_string does not occur in `a.txt`");
}

TEST_CASE("edit_file: CR LF files stay what they are", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "one\r\ntwo\r\nthree\r\n");
  CHECK(edit(folder, "one\ntwo", "1\n2").code == std::nullopt);
  CHECK(folder.read("a.txt") == "1\r\n2\r\nthree\r\n");
  CHECK(edit(folder, "three", "3\n4").code == std::nullopt);
  CHECK(folder.read("a.txt") == "1\r\n2\r\n3\r\n4\r\n");

  folder.write("a.txt", "mixed\r\nends\nhere\n");
  CHECK(edit(folder, "ends\nhere", "a\nb").code == std::nullopt);
  CHECK(folder.read("a.txt") == "mixed\r\na\nb\n");
}

TEST_CASE("edit_file: bytes that are no text survive around the change", "[tools]") {
  const FileFolder folder;
  const std::string odd("\xff\0\xfe one two", 11);
  folder.write("a.txt", odd);
  CHECK(edit(folder, "one", "1").code == std::nullopt);
  CHECK(folder.read("a.txt") == std::string("\xff\0\xfe 1 two", 9));
}

TEST_CASE("edit_file: what changes nothing or names nothing is refused", "[tools]") {
  const FileFolder folder;
  folder.write("a.txt", "x");
  CHECK(edit(folder, "x", "x").code == Code::tool_invalid_parameters);
  CHECK(edit(folder, "", "x").code == Code::tool_invalid_parameters);
  std::filesystem::remove(folder.at("a.txt"));
  CHECK(edit(folder, "x", "y").code == Code::tool_failed);
  CHECK_FALSE(std::filesystem::exists(folder.at("a.txt")));
}
