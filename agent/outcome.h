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
// Whether its text is what the agent had to say in the end, be it that the task failed.
bool has_final_answer(int exit_code);

// Why a stopped run stopped.
struct Stop {
  std::string reason;  // the exit name: "max_turns"
  std::string limit;   // "limits.max_turns", or empty
  double used = 0;
  double max = 0;
  std::string config_path;  // what to change: "limits.max_turns" in the agent file
  std::string detail;
  // Of this process alone: which run stopped so, one that it worked for or a member of it, and the
  // command line that lets that one go on. Empty: the run itself; there is none that does.
  std::string run_id = {};
  std::string way_on = {};
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
  ModelUse& operator-=(const ModelUse& part);  // likewise; an unknown cost stays unknown
  bool operator==(const ModelUse&) const = default;
};

ModelUse& use_of_model(std::vector<ModelUse>& models, const std::string& model);
// What of them is not in those before, by model.
std::vector<ModelUse> uses_since(const std::vector<ModelUse>& before, std::vector<ModelUse> uses);
// Those that were heard of and that no record has, by model: it could not be written, or is gone.
std::vector<ModelUse> lost_uses(const std::vector<ModelUse>& heard,
                                const std::vector<ModelUse>& recorded);

// One model took the place of another that had failed, so many times for this reason.
struct Fallback {
  std::string from;  // provider/model
  std::string to;
  Code reason = Code::internal;
  std::int64_t count = 1;
};

// What became of a member: of a flow's step, or of one of its items; of a call of a sub-agent.
struct MemberResult {
  std::string member;  // "fix[2]"
  std::string run_id;  // empty: it was a command, or was not begun
  // The earlier run of the flow that it was a member of, and which has paid for it: here it costs
  // nothing, has no turns and took no time. Empty: this one.
  std::string taken_from = {};
  // Nullopt: the step was left out, for its `when` did not hold, its list was empty, or the flow
  // had ended before.
  std::optional<int> exit_code;
  // Of a command, as a shell says it: 128 and the signal's number, 124 where its time was over;
  // nullopt: it could not be run.
  std::optional<int> exit_status;
  std::optional<Cause> error = {};      // why it did not end well
  std::optional<Money> cost = Money{};  // nullopt: unknown
  std::int64_t turns = 0;
  std::int64_t duration_ms = 0;
  std::int64_t round = 1;                         // of a step that is repeated
  std::vector<std::string> missing_servers = {};  // RunResult's
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
  std::vector<MemberResult>
      members;  // of a flow, in the order of its steps; of an agent, of its calls
  // MCP servers that the run, or one of its members, went without.
  std::vector<std::string> missing_servers;
};

// More on its bill.
void add_uses(RunResult& result, const std::vector<ModelUse>& more);
// Whether a member's ending is meant for all that it works for: a kill switch, a person's stop,
// `--fail-on-denied`; and a replay without an answer, which is not the run that was recorded.
bool is_meant_for_all(const RunResult& member);
bool is_meant_for_all(Code code);
// Whether it waits for a person's answer to a call, of its own or of a member.
bool is_parked(const RunResult& result);
// Nobody has answered in time: carried on once more, its model reads that.
bool has_waited_too_long(const RunResult& result);
Cause cause_of(const Error& error);
// Of one that has ended.
MemberResult member_result(std::string member, const RunResult& result);
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
