#include "config/attachment.h"

#include "agent/base64.h"

#include "load_support.h"
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

using namespace std::string_literals;

namespace {

std::vector<std::string> paths_in(std::string_view text) {
  std::vector<std::string> paths;
  for (const config::Mention& mention : config::find_mentions(text)) {
    CHECK(text[mention.at] == '@');
    CHECK(text.substr(mention.from).starts_with(mention.path));
    paths.push_back(mention.path);
  }
  return paths;
}

const std::string k_png = "\x89PNG\r\n\x1A\n..";

}  // namespace

TEST_CASE("attachment: what a prompt names", "[config]") {
  using Paths = std::vector<std::string>;
  CHECK(paths_in("@a.png") == Paths{"a.png"});
  CHECK(paths_in("What is in @a.png?") == Paths{"a.png"});
  CHECK(paths_in("Compare @a.png, @dir/b.JPEG and (@c.webp).") ==
        Paths{"a.png", "dir/b.JPEG", "c.webp"});
  CHECK(paths_in("Read @\"my report.pdf\" and @x.gif\n@y.jpg") ==
        Paths{"my report.pdf", "x.gif", "y.jpg"});
  CHECK(paths_in("@../up.png @/abs/olute.png @./here.png") ==
        Paths{"../up.png", "/abs/olute.png", "./here.png"});
  CHECK(paths_in("@a.b.png!?") == Paths{"a.b.png"});
}

TEST_CASE("attachment: every other @ is text", "[config]") {
  for (const std::string_view text : {"",
                                      "@",
                                      "@ a.png",
                                      "ask @alice",
                                      "npm install @types/node",
                                      "someone@example.png",
                                      "`@a.png`",
                                      "@notes.txt",
                                      "@\"never closed.png",
                                      "@png",
                                      "@a.pngx",
                                      "@a.png.exe"}) {
    CAPTURE(text);
    CHECK(paths_in(text).empty());
  }
}

TEST_CASE("attachment: a file goes as its bytes, under its own name", "[config]") {
  const config_test::Folder folder;
  std::vector<agent::Attachment> attachments;
  // What it is, its bytes say.
  REQUIRE(config::attach(folder.write("shot.jpg", k_png), attachments));
  REQUIRE(attachments.size() == 1);
  CHECK(attachments[0].name == "shot.jpg");
  CHECK(attachments[0].media_type == "image/png");
  CHECK(agent::from_base64(attachments[0].base64) == k_png);
  // Named twice, sent once.
  REQUIRE(config::attach(folder.path() / "shot.jpg", attachments));
  CHECK(attachments.size() == 1);
}

TEST_CASE("attachment: what cannot go is refused", "[config]") {
  const config_test::Folder folder;
  std::vector<agent::Attachment> attachments;
  const auto refusal = [&](const std::filesystem::path& file) {
    const auto attached = config::attach(file, attachments);
    return attached ? "none"s : attached.error().message;
  };
  CHECK_THAT(refusal(folder.path() / "gone.png"), Catch::Contains("there is no file"));
  CHECK_THAT(refusal(folder.write("empty.png", "")),
             Catch::Contains("is neither a picture nor a PDF"));
  CHECK_THAT(refusal(folder.write("text.pdf", "hello")),
             Catch::Contains("is neither a picture nor a PDF"));
  std::filesystem::create_directory(folder.path() / "folder.png");
  CHECK_THAT(refusal(folder.path() / "folder.png"), Catch::Contains("is a folder"));
  CHECK(attachments.empty());
}

TEST_CASE("attachment: 32 MiB in all, and not a byte more", "[config]") {
  constexpr std::size_t k_most = 32u << 20;
  const config_test::Folder folder;
  std::vector<agent::Attachment> attachments;
  const auto png = [](std::size_t size, char filling) {
    return k_png + std::string(size - k_png.size(), filling);
  };
  CHECK_FALSE(config::attach(folder.write("huge.png", png(k_most + 1, 'x')), attachments));
  REQUIRE(config::attach(folder.write("most.png", png(k_most - 30, 'x')), attachments));
  const auto over = config::attach(folder.write("over.png", png(31, 'y')), attachments);
  REQUIRE_FALSE(over);
  CHECK_THAT(over.error().message, Catch::Contains("more than 32 MiB"));
  CHECK(config::attach(folder.write("last.png", png(30, 'z')), attachments));
  CHECK(attachments.size() == 2);
}
