#include "agent/retry.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using agent::Code;
using agent::Error;
using agent::Milliseconds;
using agent::RetryPolicy;
using namespace std::chrono_literals;

constexpr auto k_year = std::chrono::duration_cast<Milliseconds>(8760h);

struct Range {
  Milliseconds least;
  Milliseconds most;
};

struct Row {
  std::string name;
  RetryPolicy policy;
  int attempt;
  Milliseconds waited;
  Error error;
  std::optional<Range> wanted;  // nullopt: final
};

Error of(Code code) {
  return {.code = code};
}

Error after(Code code, Milliseconds floor) {
  return {.code = code, .retry_after = floor};
}

Error server_says(Code code, bool retry) {
  return {.code = code, .server_says_retry = retry};
}

Error loopback_refused() {
  return {.code = Code::provider_network, .retry_once = true};
}

Error told_twice(Milliseconds floor, bool retry) {
  return {.code = Code::provider_rate_limited, .retry_after = floor, .server_says_retry = retry};
}

// Attempts and elapsed time that never are the reason.
const RetryPolicy k_patient{.max_attempts = 1000, .max_elapsed = k_year};

RetryPolicy patient(Milliseconds initial, Milliseconds most) {
  return {.max_attempts = 1000, .initial_delay = initial, .max_delay = most, .max_elapsed = k_year};
}

constexpr auto k_final = std::nullopt;

const std::vector<Row> k_rows = {
    // Which codes.
    {"network", {}, 1, 0ms, of(Code::provider_network), Range{0ms, 500ms}},
    {"rate limited", {}, 1, 0ms, of(Code::provider_rate_limited), Range{0ms, 500ms}},
    {"timeout", {}, 1, 0ms, of(Code::provider_timeout), Range{0ms, 500ms}},
    {"unavailable", {}, 1, 0ms, of(Code::provider_unavailable), Range{0ms, 500ms}},
    {"stream broken", {}, 1, 0ms, of(Code::provider_stream_broken), Range{0ms, 500ms}},
    {"model loading", {}, 1, 0ms, of(Code::provider_model_loading), Range{0ms, 500ms}},
    {"bad response, first", {}, 1, 0ms, of(Code::provider_bad_response), Range{0ms, 500ms}},
    {"bad response, second", {}, 2, 0ms, of(Code::provider_bad_response), k_final},
    {"refused loopback port, first", {}, 1, 0ms, loopback_refused(), Range{0ms, 500ms}},
    {"refused loopback port, second", {}, 2, 0ms, loopback_refused(), k_final},
    {"tls", {}, 1, 0ms, of(Code::provider_tls), k_final},
    {"auth", {}, 1, 0ms, of(Code::provider_auth), k_final},
    {"quota", {}, 1, 0ms, of(Code::provider_quota), k_final},
    {"quota with a delay", {}, 1, 0ms, after(Code::provider_quota, 1s), k_final},
    {"invalid request", {}, 1, 0ms, of(Code::provider_invalid_request), k_final},
    {"model not found", {}, 1, 0ms, of(Code::provider_model_not_found), k_final},
    {"refused", {}, 1, 0ms, of(Code::provider_refused), k_final},
    {"circuit open is the caller's", {}, 1, 0ms, of(Code::provider_circuit_open), k_final},
    {"context overflow", {}, 1, 0ms, of(Code::context_overflow), k_final},
    {"truncated is the model's", {}, 1, 0ms, of(Code::output_truncated), k_final},
    {"cancelled", {}, 1, 0ms, of(Code::run_cancelled), k_final},
    {"internal", {}, 1, 0ms, of(Code::internal), k_final},
    {"replay miss", {}, 1, 0ms, of(Code::replay_miss), k_final},
    // The server's word.
    {"server says no", {}, 1, 0ms, server_says(Code::provider_unavailable, false), k_final},
    {"server says no, with a delay", {}, 1, 0ms, told_twice(1s, false), k_final},
    {"server says yes to a 400",
     {},
     1,
     0ms,
     server_says(Code::provider_invalid_request, true),
     Range{0ms, 500ms}},
    {"server says yes to a second bad response",
     {},
     2,
     0ms,
     server_says(Code::provider_bad_response, true),
     Range{0ms, 1000ms}},
    {"server says yes, attempts are used up",
     {},
     4,
     0ms,
     server_says(Code::provider_unavailable, true),
     k_final},
    {"server cannot undo a cancellation",
     {},
     1,
     0ms,
     server_says(Code::run_cancelled, true),
     k_final},
    // Attempts.
    {"third of four", {}, 3, 0ms, of(Code::provider_unavailable), Range{0ms, 2s}},
    {"fourth of four", {}, 4, 0ms, of(Code::provider_unavailable), k_final},
    {"fifth of four", {}, 5, 0ms, of(Code::provider_unavailable), k_final},
    {"one attempt only", {.max_attempts = 1}, 1, 0ms, of(Code::provider_unavailable), k_final},
    // Doubling and its cap.
    {"second doubles", k_patient, 2, 0ms, of(Code::provider_timeout), Range{0ms, 1s}},
    {"sixth", k_patient, 6, 0ms, of(Code::provider_timeout), Range{0ms, 16s}},
    {"seventh is capped", k_patient, 7, 0ms, of(Code::provider_timeout), Range{0ms, 30s}},
    {"doubling meets the cap exactly",
     patient(1s, 8s),
     4,
     0ms,
     of(Code::provider_timeout),
     Range{0ms, 8s}},
    {"one under the cap", patient(1s, 8001ms), 4, 0ms, of(Code::provider_timeout), Range{0ms, 8s}},
    {"attempt 40 does not overflow",
     k_patient,
     40,
     0ms,
     of(Code::provider_timeout),
     Range{0ms, 30s}},
    {"attempt 999 does not overflow",
     k_patient,
     999,
     0ms,
     of(Code::provider_timeout),
     Range{0ms, 30s}},
    {"the longest delay does not overflow",
     patient(1s, Milliseconds::max()),
     3,
     0ms,
     of(Code::provider_timeout),
     Range{0ms, 4s}},
    {"initial over the cap", patient(10s, 3s), 1, 0ms, of(Code::provider_timeout), Range{0ms, 3s}},
    {"no initial delay", patient(0ms, 3s), 9, 0ms, of(Code::provider_timeout), Range{0ms, 0ms}},
    {"no delay at all", patient(1s, 0ms), 2, 0ms, of(Code::provider_timeout), Range{0ms, 0ms}},
    {"loading has a longer cap",
     k_patient,
     12,
     0ms,
     of(Code::provider_model_loading),
     Range{0ms, 120s}},
    {"loading's cap does not overflow",
     patient(1s, Milliseconds::max()),
     1,
     0ms,
     of(Code::provider_model_loading),
     Range{0ms, 1s}},
    // The server's delay.
    {"a floor", k_patient, 1, 0ms, after(Code::provider_rate_limited, 7s), Range{7s, 7500ms}},
    {"a floor of exactly max_delay",
     k_patient,
     1,
     0ms,
     after(Code::provider_rate_limited, 30s),
     Range{30s, 30'500ms}},
    {"a floor 1 ms over max_delay",
     k_patient,
     1,
     0ms,
     after(Code::provider_rate_limited, 30'001ms),
     k_final},
    {"a floor over max_delay while loading",
     {},
     1,
     0ms,
     after(Code::provider_model_loading, 45s),
     Range{45s, 45'500ms}},
    {"a floor of exactly the loading cap",
     k_patient,
     1,
     0ms,
     after(Code::provider_model_loading, 120s),
     Range{120s, 120'500ms}},
    {"a floor over the loading cap",
     k_patient,
     1,
     0ms,
     after(Code::provider_model_loading, 120'001ms),
     k_final},
    {"a floor of zero is none",
     {},
     1,
     0ms,
     after(Code::provider_rate_limited, 0ms),
     Range{0ms, 500ms}},
    {"a negative floor is none",
     {},
     1,
     0ms,
     after(Code::provider_rate_limited, -5s),
     Range{0ms, 500ms}},
    {"an absurd floor",
     k_patient,
     1,
     0ms,
     after(Code::provider_rate_limited, Milliseconds::max()),
     k_final},
    {"server says yes, the floor is too long", {}, 1, 0ms, told_twice(31s, true), k_final},
    // What is left of max_elapsed.
    {"a floor of exactly what is left",
     {},
     2,
     40s,
     after(Code::provider_rate_limited, 20s),
     Range{20s, 20s}},
    {"a floor 1 ms over what is left",
     {},
     2,
     40s,
     after(Code::provider_rate_limited, 20'001ms),
     k_final},
    {"jitter above a floor stops at what is left",
     {},
     3,
     40s,
     after(Code::provider_rate_limited, 19s),
     Range{19s, 20s}},
    {"nothing is left for a floor", {}, 2, 60s, after(Code::provider_rate_limited, 1ms), k_final},
    {"more was waited than allowed", {}, 2, 61s, of(Code::provider_rate_limited), k_final},
    {"no waiting allowed, none needed",
     {.initial_delay = 0ms, .max_elapsed = 0ms},
     1,
     0ms,
     of(Code::provider_network),
     Range{0ms, 0ms}},
};

constexpr int k_draws = 3000;

}  // namespace

TEST_CASE("retry: the table of who waits how long", "[agent]") {
  for (const auto& row : k_rows) {
    DYNAMIC_SECTION(row.name) {
      std::mt19937_64 rng(7);
      auto least = Milliseconds::max();
      auto most = Milliseconds::min();
      for (int draw = 0; draw < k_draws; ++draw) {
        const auto delay = next_delay(row.policy, row.attempt, row.waited, row.error, rng);
        REQUIRE(delay.has_value() == row.wanted.has_value());
        if (delay) {
          least = std::min(least, *delay);
          most = std::max(most, *delay);
        }
      }
      if (row.wanted) {
        const auto slack = (row.wanted->most - row.wanted->least) / 50;
        CHECK(least >= row.wanted->least);
        CHECK(least <= row.wanted->least + slack);
        CHECK(most <= row.wanted->most);
        CHECK(most >= row.wanted->most - slack);
      }
    }
  }
}

TEST_CASE("retry: a wait that would cross max_elapsed is not made, a shorter one is", "[agent]") {
  const RetryPolicy policy{.initial_delay = 1s, .max_elapsed = 10s};
  std::mt19937_64 rng(7);
  int made = 0;
  for (int draw = 0; draw < k_draws; ++draw) {
    const auto delay = next_delay(policy, 1, 9'500ms, of(Code::provider_timeout), rng);
    CHECK((!delay || *delay <= 500ms));
    made += delay.has_value() ? 1 : 0;
  }
  CHECK(made > k_draws * 2 / 5);  // half of them, but for chance
  CHECK(made < k_draws * 3 / 5);
}

TEST_CASE("retry: no code retries by itself unless its row says so", "[agent]") {
  std::mt19937_64 rng(7);
  for (const auto& row : agent::error_table()) {
    CAPTURE(row.name);
    const bool is_retried = next_delay(k_patient, 1, 0ms, of(row.code), rng).has_value();
    CHECK(is_retried == (agent::is_automatic(row.retry)));
  }
}

TEST_CASE("retry: the same seed gives the same waits", "[agent]") {
  std::mt19937_64 one(42);
  std::mt19937_64 two(42);
  for (int attempt = 1; attempt < 20; ++attempt) {
    CHECK(next_delay(k_patient, attempt, 0ms, of(Code::provider_timeout), one) ==
          next_delay(k_patient, attempt, 0ms, of(Code::provider_timeout), two));
  }
}
