// How a run ended: the exit-code table, the result object, and the one function from an ending to
// an exit code.
#pragma once
#include "agent/error.h"
#include "agent/json.h"
#include "agent/message.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

class JsonText;

enum class Status : std::uint8_t { ok, failed, stopped, error, cancelled };
std::string_view to_string(Status status);

// One row of the contract (version 1). Numbers and names never change.
struct ExitRow {
  int exit_code;
  std::string_view name;
  Status status;
  std::string_view setting;  // of the agent file, that stops a run so; empty: no single one
  std::string_view when;
  std::string_view retry;      // "no", "maybe", "yes", "see cause", "-"
  std::string_view resumable;  // "yes", "no", "maybe", "fork", "-"
};

constexpr int k_exit_code_contract = 1;
std::span<const ExitRow> exit_table();
const ExitRow& exit_row(int exit_code);  // of an unknown code: the row of `internal`

bool is_built(const ExitRow& row);  // whether a run of this version can end so

Status status_of(int exit_code);

// Whether a run that ended so can be carried on from its end; the second: by a new message alone.
bool is_resumable(int exit_code);
bool needs_message(int exit_code);

// Why a stopped run stopped.
struct Stop {
  std::string reason;  // the exit name: "max_turns"
  std::string limit;   // "limits.max_turns", or empty
  double used = 0;
  double max = 0;
  std::string config_path;  // what to change: "limits.max_turns" in the agent file
  std::string detail;
};

// The terminal cause. Neither: a final answer.
struct Ending {
  std::optional<Error> error;
  std::optional<Stop> stop;
  int signal = 0;
};

// The only place where an exit code is made: signal > the error's row > 0.
int exit_code(const Ending& ending);
int exit_code(const Error& error);

// What a run asked of one model.
struct ModelUse {
  std::string model;  // PROVIDER/NAME, as it was asked
  std::int64_t turns = 0;
  Usage usage;
  std::optional<Money> cost = Money{};  // nullopt: unknown
  bool usage_estimated = false;         // in whole or in part

  ModelUse& operator+=(const ModelUse& more);  // but for the name
  bool operator==(const ModelUse&) const = default;
};

// One model took the place of another that had failed, so many times for this reason.
struct Fallback {
  std::string from;  // provider/model
  std::string to;
  Code reason = Code::internal;
  std::int64_t count = 1;
};

// The result object, present on every ending.
struct RunResult {
  int exit_code = 0;
  std::string text;    // the answer, or the partial one
  std::string output;  // the answer as JSON text, where a schema asks for it
  bool partial = false;
  std::optional<Stop> stop;
  std::optional<Error> error;
  Usage usage;
  std::int64_t turns = 0;
  std::int64_t tool_calls = 0;
  std::int64_t denials = 0;
  std::string model;  // that gave the last answer; the agent's own where there is none
  std::vector<Fallback> fallbacks;
  bool over_budget = false;
  std::string run_id;
  std::string resume_cmd;
  std::string trace_id;
  std::int64_t duration_ms = 0;
  std::optional<Money> cost = Money{};  // nullopt: unknown, in whole or in part
  std::vector<ModelUse> models;         // in the order in which they first cost something
  bool usage_estimated = false;         // in whole or in part
};
constexpr std::string_view k_result_schema = "errand.result/1";

Json to_json(const Usage& usage);
Usage usage_from_json(const Json& json);
Json to_json(const ModelUse& use);
ModelUse model_use_from_json(const Json& json);
Json to_json(const Error& error);
Error error_from_json(const Json& json);  // without its place
Json to_json(const RunResult& result);
void write(Json& place, const RunResult& result);
void write(JsonText&& place, const RunResult& result);
// The same as text, without a copy of what is large in it.
std::string dump(const RunResult& result);
// The inverse, for the journal; a field that is missing keeps its default, but for a cost: it is
// unknown.
RunResult result_from_json(const Json& json);

}  // namespace agent
