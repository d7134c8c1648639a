#include "agent/attachment.h"

#include "agent/base64.h"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

using namespace std::string_view_literals;

TEST_CASE("attachment: the first bytes say what it is", "[agent]") {
  CHECK(agent::media_type_of("\x89PNG\r\n\x1A\n\0"sv) == "image/png");
  CHECK(agent::media_type_of("\xFF\xD8\xFF\xE0"sv) == "image/jpeg");
  CHECK(agent::media_type_of("GIF87a"sv) == "image/gif");
  CHECK(agent::media_type_of("GIF89a"sv) == "image/gif");
  CHECK(agent::media_type_of("RIFF\x24\0\0\0WEBPVP8 "sv) == "image/webp");
  CHECK(agent::media_type_of("%PDF-1.7"sv) == "application/pdf");
}

TEST_CASE("attachment: anything else is nothing that a prompt carries", "[agent]") {
  for (const std::string_view bytes : {""sv,
                                       "\x89PN"sv,
                                       "\xFF\xD8"sv,
                                       "GIF88a"sv,
                                       "RIFF"sv,
                                       "RIFF\x24\0\0\0WAVEfmt "sv,
                                       "WEBP"sv,
                                       "<svg xmlns='http://www.w3.org/2000/svg'/>"sv,
                                       "A text about %PDF-1.7"sv}) {
    CAPTURE(bytes);
    CHECK(agent::media_type_of(bytes).empty());
  }
}

TEST_CASE("attachment: a picture counts the same whatever its size, a document by it", "[agent]") {
  const auto tokens = [](std::string media_type, std::size_t bytes) {
    return agent::estimated_tokens({.name = "f",
                                    .media_type = std::move(media_type),
                                    .base64 = agent::to_base64(std::string(bytes, 'x'))});
  };
  CHECK(tokens("image/png", 10) == tokens("image/png", 1'000'000));
  CHECK(tokens("application/pdf", 10) == 2'000);
  CHECK(tokens("application/pdf", 480'000) == 22'000);
}
