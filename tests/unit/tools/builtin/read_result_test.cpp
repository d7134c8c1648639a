#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace {

// The second result is "zwölf".
std::string read(const char* arguments, std::size_t page) {
  const std::filesystem::path folder;
  const agent::Environment environment;
  const auto tool = tests::made(tools::make_read_result);
  const tools::Output output =
      tool->call(agent::parse_json(arguments).value(),
                 {.cwd = folder,
                  .temporary = folder,
                  .environment = environment,
                  .earlier_result = [](std::int64_t number) -> std::optional<std::string> {
                    return number == 2 ? std::optional<std::string>("zw\xC3\xB6lf") : std::nullopt;
                  },
                  .result_page = page});
  return output.code ? output.message : output.text;
}

}  // namespace

TEST_CASE("read_result: a result is shown as it was, page by page, between characters", "[tools]") {
  CHECK(read(R"({"result": 2})", 100) == "zw\xC3\xB6lf");
  CHECK(read(R"({"result": 2})", 3) == "zw\n[bytes 0 to 2 of 6; from: 2 shows more]");
  CHECK(read(R"({"result": 2, "from": 2})", 3) ==
        "\xC3\xB6l\n[bytes 2 to 5 of 6; from: 5 shows more]");
  CHECK(read(R"({"result": 2, "from": 3})", 100) == "\xC3\xB6lf\n[bytes 2 to 6 of 6]");
  CHECK(read(R"({"result": 2, "from": 1000})", 100) == "\n[bytes 6 to 6 of 6]");
}

TEST_CASE("read_result: what is not there is said", "[tools]") {
  CHECK(read(R"({"result": 3})", 100) == "there is no result 3");
  CHECK(read(R"({"result": 9223372036854775807})", 100) ==
        "there is no result 9223372036854775807");
}
