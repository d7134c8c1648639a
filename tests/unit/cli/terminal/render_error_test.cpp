#include "cli/terminal/render_error.h"

#include <catch2/catch.hpp>

namespace {

const agent::Redactor k_redactor(agent::Environment{
    {"DEPLOY_KEY", "not-for-you-81c2-and-the-rest-of-it"}});

agent::Error misspelt() {
  return {
      .code = agent::Code::config_invalid,
      .message = "unknown key `instructon`",
      .help = "did you mean `instructions`?",
      .where = agent::Where{
          .file = "review.yaml", .line = 6, .column = 1, .excerpt = "instructon: |", .length = 10}};
}

std::string caret_line(std::string excerpt, int column, int length) {
  agent::Error error = misspelt();
  error.where->excerpt = std::move(excerpt);
  error.where->column = column;
  error.where->length = length;
  const std::string text = cli::render(error, false, k_redactor);
  const auto caret = text.find('^');
  const auto start = text.rfind('\n', caret) + 1;
  return text.substr(start, text.find('\n', caret) - start);
}

}  // namespace

TEST_CASE("render_error: no secret is in a message, whole or cut", "[cli]") {
  const std::string secret = "not-for-you-81c2-and-the-rest-of-it";
  agent::Error error = misspelt();
  error.message = "`x(" + secret + ")` and `y(" + secret.substr(0, 20) + "…` and `not-for…`";
  error.help = secret;
  error.where->file = secret + ".yaml";
  error.where->excerpt = "key: " + secret;
  error.context = {"reading " + secret};
  error.cause = agent::Cause{.code = agent::Code::os_failed, .message = secret};
  const std::string text = cli::render(error, true, k_redactor);
  INFO(text);
  CHECK(text.find("not-for-you") == std::string::npos);
  CHECK(text.find("`x([redacted])` and `y([redacted]…` and `not-for…`") != std::string::npos);
  CHECK(cli::render_warning(error, false, k_redactor).find("not-for-you") == std::string::npos);
}

TEST_CASE("render_error: an error in a file shows the line and a caret", "[cli]") {
  CHECK(cli::render(misspelt(), false, k_redactor) ==
        "error[config.invalid]: unknown key `instructon`\n"
        "  --> review.yaml:6:1\n"
        "   |\n"
        " 6 | instructon: |\n"
        "   | ^^^^^^^^^^\n"
        "   = help: did you mean `instructions`?");
}

TEST_CASE("render_error: the gutter is as wide as the line number", "[cli]") {
  agent::Error error = misspelt();
  error.where->line = 1234;
  CHECK(cli::render(error, false, k_redactor) ==
        "error[config.invalid]: unknown key `instructon`\n"
        "     --> review.yaml:1234:1\n"
        "      |\n"
        " 1234 | instructon: |\n"
        "      | ^^^^^^^^^^\n"
        "      = help: did you mean `instructions`?");
}

TEST_CASE("render_error: the caret stands under the place", "[cli]") {
  CHECK(caret_line("a: bad", 4, 3) == "   |    ^^^");
  CHECK(caret_line("\ta: bad", 5, 3) == "   | \t   ^^^");
  CHECK(caret_line("日本: bad", 5, 3) == "   |       ^^^");
  CHECK(caret_line("é: bad", 4, 3) == "   |    ^^^");
  CHECK(caret_line("日本", 2, 1) == "   |   ^^");
  CHECK(caret_line("abc", 4, 1) == "   |    ^");
  CHECK(caret_line("abc", 2, 50) == "   |  ^^");
  CHECK(caret_line("e\xCC\x81: bad", 5, 3) == "   |    ^^^");
}

TEST_CASE("render_error: a long line is shown around the place", "[cli]") {
  agent::Error error = misspelt();
  error.where->excerpt = std::string(5000, 'x') + "BAD" + std::string(5000, 'y');
  error.where->column = 5001;
  error.where->length = 3;
  const std::string text = cli::render(error, false, k_redactor);
  CHECK(text.size() < 600);
  CHECK(text.find("xBADy") != std::string::npos);
  CHECK(text.find("^^^") != std::string::npos);
}

TEST_CASE("render_error: a file or a line as a whole has no caret", "[cli]") {
  agent::Error error = misspelt();
  error.where = agent::Where{.file = "review.yaml"};
  CHECK(cli::render(error, false, k_redactor) ==
        "error[config.invalid]: unknown key `instructon`\n"
        "  --> review.yaml\n"
        "   = help: did you mean `instructions`?");
  error.where = agent::Where{.file = "review.yaml", .line = 3, .excerpt = "abc"};
  CHECK(cli::render(error, false, k_redactor).find('^') == std::string::npos);
}

TEST_CASE("render_error: context, cause and the call of a provider", "[cli]") {
  const agent::Error error{.code = agent::Code::provider_unavailable,
                           .message = "the provider is overloaded",
                           .context = {"asking the model", "running `review`"},
                           .cause = agent::Cause{agent::Code::provider_network, "reset by peer"},
                           .retry_after = std::chrono::seconds(30),
                           .http_status = 529,
                           .provider = "anthropic",
                           .model = "claude-x",
                           .request_id = "req_1",
                           .attempts = 4};
  const std::string advice(agent::row(error.code).advice);
  CHECK(cli::render(error, false, k_redactor) ==
        "error[provider.unavailable]: the provider is overloaded\n"
        "   = while: asking the model\n"
        "   = while: running `review`\n"
        "   = cause: provider.network: reset by peer\n"
        "   = call: anthropic, model claude-x, HTTP 529, request req_1, 4 attempts, try again in "
        "30s\n"
        "   = help: " +
            advice);
}

TEST_CASE("render_error: nothing of a message moves the terminal", "[cli]") {
  agent::Error error = misspelt();
  error.message = "a\x1b[2Jb\nc";
  error.help = "d\re";
  error.where->excerpt =
      "\x1b]0;x\x07"
      "bad";
  error.where->column = 7;
  error.where->length = 3;
  const std::string text = cli::render(error, false, k_redactor);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK(text.find("\\nc") != std::string::npos);  // nor writes a line of its own
}

TEST_CASE("render_error: colours only where asked", "[cli]") {
  CHECK(cli::render(misspelt(), false, k_redactor).find('\x1b') == std::string::npos);
  CHECK(cli::render(misspelt(), true, k_redactor).find("\x1b[1;31merror[config.invalid]\x1b[0m") ==
        0);
}

TEST_CASE("render_error: a warning has no code and no advice of one", "[cli]") {
  CHECK(cli::render_warning({.code = agent::Code::config_invalid, .message = "odd"},
                            false,
                            k_redactor) == "warning: odd");
}
