#include "agent/flow/flow_state.h"

#include "agent/template.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace agent::flow {
namespace {

constexpr std::size_t k_most_rendered = 32u << 20;  // bytes of a text with what steps have brought
constexpr int k_could_not_be_run = 126;             // as a shell says it

// A list or a map stands in a text as JSON, and a text as it is.
std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : dump(value);
}

Json lines_of(std::string_view text) {
  Json lines = Json::array();
  for (const std::string_view line : split_lines(text)) {
    lines.push_back(line);
  }
  return lines;
}

bool waits_for_a_person(const MemberEnd& end) {
  return end.is_suspended && (is_parked(end.result) || has_waited_too_long(end.result));
}

Result<Expression> parsed(std::string_view text) {
  auto expression = Expression::parse(text);
  if (!expression) {
    return fail(Code::team_invalid, expression.error().message);
  }
  return *std::move(expression);
}

}  // namespace

FlowState::FlowState(std::span<const StepSpec> steps, Json inputs)
    : steps_(steps), inputs_(std::move(inputs)), progress_(steps.size()) {
  for (std::size_t number = 0; number < steps_.size(); ++number) {
    numbers_.emplace(steps_[number].name, number);
  }
}

// ---- what begins ----

std::vector<Member> FlowState::begin() {
  std::vector<Member> members;
  for (bool is_news = true; is_news && !ending_;) {  // a step that is skipped lets others begin
    is_news = false;
    for (std::size_t step = 0; step < steps_.size() && !ending_; ++step) {
      if (!is_ready(step)) {
        continue;
      }
      is_news = true;
      if (auto opened = open(step); !opened) {
        Error& why = opened.error();
        why.message = fmt::format("step `{}`: {}", steps_[step].name, why.message);
        ending_ = Ending{.error = std::move(why)};
      }
    }
  }
  for (std::size_t step = 0; step < steps_.size() && !ending_; ++step) {
    Progress& progress = progress_[step];
    const bool is_list = !steps_[step].for_each.empty();
    const auto room = is_list ? static_cast<std::size_t>(steps_[step].max_parallel) : 1;
    while (progress.phase == Phase::running && progress.begun < progress.items.size() &&
           progress.running < room) {
      members.push_back({.step = step,
                         .item = is_list ? std::optional(progress.begun) : std::nullopt,
                         .round = progress.round});
      ++progress.begun;
      ++progress.running;
    }
  }
  return members;
}

bool FlowState::is_ready(std::size_t step) const {
  const auto is_over = [&](std::size_t other) {
    const Phase phase = progress_[other].phase;
    return phase == Phase::done || phase == Phase::skipped;
  };
  const auto& repeat = steps_[step].repeat;
  const bool comes_again = progress_[step].round > 1;
  return progress_[step].phase == Phase::waiting &&
         std::ranges::all_of(steps_[step].needs, is_over) &&
         (!repeat || !comes_again || is_over(repeat->with));
}

Result<void> FlowState::open(std::size_t number) {
  const StepSpec& step = steps_[number];
  Progress& progress = progress_[number];
  if (!step.when.empty()) {
    TRY_ASSIGN(const Expression when, parsed(step.when));
    TRY_ASSIGN(const bool holds, when.is_true(lookup(nullptr)));
    if (!holds) {
      progress.phase = Phase::skipped;
      return {};
    }
  }
  progress.items = {Json()};
  if (!step.for_each.empty()) {
    TRY_ASSIGN(const Expression for_each, parsed(step.for_each));
    TRY_ASSIGN(const Json list, for_each.value(lookup(nullptr)));
    if (!list.is_array()) {
      return fail(Code::team_invalid,
                  fmt::format("`for_each: {}` is not a list, but `{}`",
                              one_line(step.for_each, 100),
                              one_line(dump(list), 60)),
                  list.is_null()
                      ? "the step that brings it has failed, was skipped or has said more than is "
                        "kept, or its output has no such member; `when` keeps a step from being "
                        "run without it"
                      : "");
    }
    if (list.size() > k_most_items) {
      return fail(Code::team_invalid,
                  fmt::format("its list has {} items, more than {}", list.size(), k_most_items));
    }
    progress.items.assign(list.begin(), list.end());
  }
  if (progress.round > progress.round_of_ends) {
    std::ranges::move(members_of(number), std::back_inserter(progress.earlier));
    progress.round_of_ends = progress.round;
  }
  progress.ends.assign(progress.items.size(), std::nullopt);
  progress.ended = 0;
  progress.phase = Phase::running;
  if (progress.items.empty()) {
    close(number);
  }
  return {};
}

// ---- what ends ----

void FlowState::end(const Member& member, MemberEnd end) {
  const StepSpec& step = steps_[member.step];
  Progress& progress = progress_[member.step];
  if (waits_for_a_person(end)) {
    progress.ends[member.item.value_or(0)] = std::move(end);
    return;
  }
  const bool has_failed = end.result.exit_code != 0;
  const bool ends_it = has_failed && !step.repeat && step.on_error == StepSpec::OnError::stop;
  if (!ending_ && (ends_it || end.is_suspended)) {
    ending_ = ending_of(member, end);
    ends_the_same_way_ = end.is_final;
  }
  progress.ends[member.item.value_or(0)] = std::move(end);
  --progress.running;
  if (++progress.ended == progress.items.size()) {
    close(member.step);
  }
}

void FlowState::close(std::size_t number) {
  const StepSpec& step = steps_[number];
  Progress& progress = progress_[number];
  progress.phase = Phase::done;
  Json outputs = Json::array();
  for (const auto& end : progress.ends) {
    outputs.push_back(output_of(number, *end));
  }
  progress.output = step.for_each.empty() ? outputs.front() : std::move(outputs);
  if (!step.repeat || !has_failed(progress) || ending_ || repeats(number) ||
      step.on_error == StepSpec::OnError::proceed) {
    return;
  }
  const MemberEnd& last = *progress.ends.front();
  const Ending how = ending_of({.step = number, .round = progress.round}, last);
  ends_the_same_way_ = last.is_final;
  ending_ =
      Ending{.error = Error{
                 .code = Code::run_checks_failed,
                 .message = fmt::format("step `{}` failed in round {}, and `repeat.max` is {}",
                                        step.name,
                                        progress.round,
                                        step.repeat->max),
                 .help = last.is_final
                             ? "see what it says; `errand resume RUN --agent FILE` with a higher "
                               "`repeat.max` tries it again"
                             : "see what it says; `errand resume` tries the last round again, and "
                               "with `--agent FILE` and a higher `repeat.max` more of them",
                 .cause = cause_of(*how.error)}};
}

bool FlowState::has_failed(const Progress& progress) const {
  return std::ranges::any_of(progress.ends,
                             [](const auto& end) { return end && end->result.exit_code != 0; });
}

// What the steps have brought before counts until they are done again.
bool FlowState::repeats(std::size_t number) {
  const StepSpec::Repeat& repeat = *steps_[number].repeat;
  const std::int64_t round = progress_[number].round;
  if (round > repeat.max) {
    return false;
  }
  begin_round(repeat.with, progress_[repeat.with].round + 1);
  begin_round(number, round + 1);
  return true;
}

void FlowState::begin_round(std::size_t step, std::int64_t round) {
  Progress& progress = progress_[step];
  progress.phase = Phase::waiting;
  progress.round = round;
  progress.begun = 0;
}

Json FlowState::output_of(std::size_t step, const MemberEnd& end) const {
  const RunResult& result = end.result;
  Json output;
  output["text"] = result.text;
  output["status"] = to_string(status_of(result.exit_code));
  if (steps_[step].is_command()) {
    output["exit_code"] = end.exit_status.value_or(k_could_not_be_run);
    output["stderr"] = end.errors;
    const bool is_whole = !result.partial;  // else it is no list of anything
    output["output"] = is_whole ? parse_json(result.text).value_or(Json()) : Json();
    output["lines"] = is_whole ? lines_of(result.text) : Json();
    return output;
  }
  output["output"] = parse_json(result.output).value_or(Json());
  output["exit_code"] = result.exit_code;
  output["exit_name"] = exit_row(result.exit_code).name;
  output["cost_usd"] = to_json(result.cost);
  output["run_id"] = result.run_id;
  return output;
}

Ending FlowState::ending_of(const Member& member, const MemberEnd& end) const {
  const RunResult& result = end.result;
  Ending ending{.error = result.error, .stop = result.stop};
  if (!ending.error) {
    ending.error = Error{.code = Code::team_member_failed,
                         .message = std::string(exit_row(result.exit_code).when),
                         .help = {}};
  }
  ending.error->message = fmt::format("step `{}`: {}", name_of(member), ending.error->message);
  if (end.is_final) {  // its own steps are none of this flow's
    ending.error->help = "all of it has ended, and a step of it failed; " + done_again(member.step);
  }
  return ending;
}

std::string FlowState::done_again(std::size_t step) const {
  return fmt::format("`errand run FLOW --from {}` does it again", steps_[step].name);
}

std::string FlowState::name_of(const Member& member) const {
  const std::string& step = steps_[member.step].name;
  return member.item ? fmt::format("{}[{}]", step, *member.item) : step;
}

// ---- the whole ----

std::vector<Member> FlowState::waiting() const {
  std::vector<Member> members;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    const Progress& progress = progress_[step];
    const bool is_list = !steps_[step].for_each.empty();
    for (std::size_t item = 0; item < progress.ends.size(); ++item) {
      if (progress.ends[item] && waits_for_a_person(*progress.ends[item])) {
        members.push_back({.step = step,
                           .item = is_list ? std::optional(item) : std::nullopt,
                           .round = progress.round});
      }
    }
  }
  return members;
}

std::optional<Ending> FlowState::ending_of_waiting() const {
  const std::vector<Member> all = waiting();
  if (all.empty()) {
    return std::nullopt;
  }
  const Member& first = all.front();
  return ending_of(first, *progress_[first.step].ends[first.item.value_or(0)]);
}

std::optional<std::size_t> FlowState::answering_step() const {
  for (std::size_t step = steps_.size(); step-- > 0;) {
    const Progress& progress = progress_[step];
    const bool has_run =
        std::ranges::any_of(progress.ends, [](const auto& end) { return end.has_value(); });
    if (!steps_[step].is_command() && has_run && progress.phase != Phase::skipped) {
      return step;
    }
  }
  return std::nullopt;
}

Ending FlowState::last_ending() const {
  const auto step = answering_step();
  if (!step) {
    return {};
  }
  const Progress& progress = progress_[*step];
  for (std::size_t item = 0; item < progress.ends.size(); ++item) {
    const auto& end = progress.ends[item];
    if (end && end->result.exit_code != 0) {
      const bool is_list = !steps_[*step].for_each.empty();
      Ending ending =
          ending_of({.step = *step, .item = is_list ? std::optional(item) : std::nullopt}, *end);
      ending.error->help =
          fmt::format("the flow has gone on without it, by its `on_error`; {}", done_again(*step));
      return ending;
    }
  }
  return {};
}

std::string FlowState::text() const {
  const auto step = answering_step();
  std::string text;
  if (step) {
    for (const auto& end : progress_[*step].ends) {
      if (end && !end->result.text.empty()) {
        text += (text.empty() ? "" : "\n\n") + end->result.text;
      }
    }
  }
  return text;
}

std::string FlowState::output() const {
  const auto step = answering_step();
  if (!step) {
    return {};
  }
  const Progress& progress = progress_[*step];
  if (steps_[*step].for_each.empty()) {
    return progress.ends.front() ? progress.ends.front()->result.output : std::string();
  }
  Json list = Json::array();
  bool has_any = false;
  for (const auto& end : progress.ends) {
    auto output = end ? parse_json(end->result.output) : std::nullopt;
    has_any = has_any || output;
    list.push_back(output.value_or(Json()));
  }
  return has_any ? dump(list) : std::string();
}

std::vector<MemberResult> FlowState::members() const {
  std::vector<MemberResult> members;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    std::ranges::copy(progress_[step].earlier, std::back_inserter(members));
    std::ranges::move(members_of(step), std::back_inserter(members));
  }
  return members;
}

// In the last round of it that was begun.
std::vector<MemberResult> FlowState::members_of(std::size_t step) const {
  const Progress& progress = progress_[step];
  const bool is_list = !steps_[step].for_each.empty();
  std::vector<MemberResult> members;
  if (progress.ends.empty()) {
    members.push_back({.member = steps_[step].name});
  }
  for (std::size_t item = 0; item < progress.ends.size(); ++item) {
    const std::string name =
        name_of({.step = step, .item = is_list ? std::optional(item) : std::nullopt});
    const auto& end = progress.ends[item];
    MemberResult member = end ? member_result(name, end->result) : MemberResult{.member = name};
    member.exit_status = end ? end->exit_status : std::nullopt;
    if (end && !end->taken_from.empty()) {  // another run has paid for it
      member.taken_from = end->taken_from;
      member.cost = Money{};
      member.turns = 0;
      member.duration_ms = 0;
    }
    member.round = progress.round_of_ends;
    members.push_back(std::move(member));
  }
  return members;
}

// ---- what is named ----

Lookup FlowState::lookup(const Json* item) const {
  return [this, item](std::string_view name) -> const Json* {
    if (item != nullptr && name == "item") {
      return item;
    }
    if (const auto step = numbers_.find(name); step != numbers_.end()) {
      return &progress_[step->second].output;
    }
    return find(inputs_, name);
  };
}

Result<std::string> FlowState::rendered(std::string_view text, const Lookup& lookup) const {
  std::string all;
  for (const TemplatePiece& piece : split_template(text)) {
    if (piece.kind != TemplatePiece::Kind::tag) {
      all += piece.text;
      continue;
    }
    TRY_ASSIGN(const Expression expression, parsed(piece.text));
    TRY_ASSIGN(const Json value, expression.value(lookup));
    if (value.is_null()) {
      return fail(
          Code::team_invalid,
          fmt::format("`{}` is not there, or is null", one_line(piece.text, 100)),
          "a step that was skipped, a member that the output does not have, or an item that is "
          "null; `when` keeps a step from being run without it");
    }
    all += text_of(value);
    if (all.size() > k_most_rendered) {
      return fail(
          Code::team_invalid,
          fmt::format("with what its steps have brought, a prompt or parameter is more than "
                      "{} MiB",
                      k_most_rendered >> 20),
          "name what steps have brought less often, or a part of it");
    }
  }
  return all;
}

Result<Task> FlowState::task_of(const Member& member) const {
  const StepSpec& step = steps_[member.step];
  const Progress& progress = progress_[member.step];
  const Lookup names = lookup(member.item ? &progress.items[*member.item] : nullptr);
  Task task;
  TRY_ASSIGN(task.prompt, rendered(step.prompt, names));
  for (const auto& [name, text] : step.parameters) {
    TRY_ASSIGN(std::string value, rendered(text, names));
    task.parameters.emplace_back(name, std::move(value));
  }
  return task;
}

}  // namespace agent::flow
