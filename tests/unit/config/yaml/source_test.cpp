#include "config/yaml/source.h"

#include <catch2/catch.hpp>

#include <string>

TEST_CASE("source: two escapes for one character, as JSON writes it", "[config]") {
  const auto read = [](const char* text, const char* file) {
    return std::string(config::Source::create(text, file)->text());
  };
  CHECK(read(R"("\ud83d\ude00")", "a.json") == R"("\U0001f600")");
  CHECK(read(R"("\uDBFF\uDFFFx")", "a.json") == R"("\U0010ffffx")");
  const std::string same = GENERATE(as<std::string>(),
                                    R"("\\ud83d\\ude00")",
                                    R"("\\\\ud83d\ude00")",
                                    R"("\ud83d")",
                                    R"("\ud83d\u0041")",
                                    R"("\ude00\ud83d")",
                                    R"("\ud83d\ude0")",
                                    R"("\u00e9 \n")",
                                    R"(\)");
  CHECK(read(same.c_str(), "a.json") == same);
  CHECK(read(R"("\ud83d\ude00")", "a.yaml") == R"("\ud83d\ude00")");
}
