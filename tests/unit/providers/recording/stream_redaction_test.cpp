#include "providers/recording/stream_redaction.h"

#include <catch2/catch.hpp>

using providers::redact_stream;

namespace {

agent::Redactor stream_redactor() {
  agent::Redactor redactor{agent::Environment{}};
  redactor.add("a-secret-of-the-test");
  return redactor;
}

}  // namespace

TEST_CASE("stream redaction: a secret that was said in pieces is found", "[providers]") {
  const agent::Redactor secrets = stream_redactor();
  CHECK(redact_stream("event: x\n"
                      "data: {\"id\":\"1\",\"delta\":[{\"text\":\"It is a-sec\"}]}\n\n"
                      ": comment\r\n"
                      "data: {\"id\":\"1\",\"delta\":[{\"text\":\"ret-of-t\"}]}\n\n"
                      "data:{\"id\":\"1\",\"delta\":[{\"text\":\"he-test, really\"}]}\n\n"
                      "data: [DONE]\n\n",
                      secrets) ==
        "event: x\n"
        "data: {\"id\":\"1\",\"delta\":[{\"text\":\"It is [redacted], really\"}]}\n\n"
        ": comment\r\n"
        "data: {\"id\":\"1\",\"delta\":[{\"text\":\"\"}]}\n\n"
        "data: {\"id\":\"1\",\"delta\":[{\"text\":\"\"}]}\n\n"
        "data: [DONE]\n\n");
}

TEST_CASE("stream redaction: JSON lines, too", "[providers]") {
  CHECK(redact_stream("{\"t\":\"a-secret-of\"}\n{\"t\":\"-the-test\"}", stream_redactor()) ==
        "{\"t\":\"[redacted]\"}\n{\"t\":\"\"}\n");
}

TEST_CASE("stream redaction: what is clean is left as it is", "[providers]") {
  for (const char* body : {"",
                           "\n",
                           "plain text",
                           "data: {\"t\":\"a-secret\"}\n\ndata: {\"u\":\"-of-the-test\"}\n\n",
                           "data: {\"t\":\"a\"}\n\ndata: {\"t\":\"b\"}\n\ndata: {broken\n"}) {
    INFO(body);
    CHECK_FALSE(redact_stream(body, stream_redactor()));
  }
}
