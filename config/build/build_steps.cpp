// `steps` of a flow: what each is, which come before which, and what its expressions may name.
#include "agent/flow/expression.h"
#include "agent/template.h"
#include "agent/text.h"
#include "config/attachment.h"
#include "config/build/build.h"
#include "config/build/flow_order.h"
#include "config/check.h"
#include "config/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace config {
namespace {

using agent::StepSpec;
using agent::flow::Expression;
using agent::flow::Path;

// Of a file with steps; all others are an agent's.
constexpr auto k_flow_keys = std::to_array<std::string_view>({"version",
                                                              "name",
                                                              "description",
                                                              "prompt",
                                                              "parameters",
                                                              "steps",
                                                              "flow",
                                                              "limits",
                                                              "sandbox",
                                                              "session"});
constexpr auto k_flow_limits =
    std::to_array<std::string_view>({"max_cost_usd", "max_total_tokens", "timeout", "max_depth"});

constexpr std::size_t k_most_steps = 1'000;

// Words of expressions, and what is no step's in them.
constexpr auto k_taken_names = std::to_array<std::string_view>(
    {"item", "prompt", "parameters", "and", "or", "not", "true", "false", "null"});

constexpr auto k_of_agents = std::to_array<std::string_view>(
    {"text", "output", "status", "exit_code", "exit_name", "cost_usd", "run_id"});
constexpr auto k_of_commands =
    std::to_array<std::string_view>({"text", "lines", "output", "stderr", "status", "exit_code"});

template <std::size_t count>
bool has(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void check_keys_of_flow(const Value& root, Problems& problems) {
  for (const Entry& entry : root.entries) {
    if (!has(k_flow_keys, entry.key) && !is_free_key(entry.key)) {
      problems.add(entry.key_span,
                   fmt::format("`{}` does not go with `steps`: it is an agent's",
                               agent::one_line(entry.key, 60)),
                   "write it into the agent file of the step that it is for");
    }
  }
  for (const Entry& entry : map_at(root, "limits").entries) {
    if (!has(k_flow_limits, entry.key) && !is_free_key(entry.key)) {
      problems.add(
          entry.key_span,
          fmt::format("`limits.{}` does not go with `steps`", agent::one_line(entry.key, 60)),
          fmt::format("a flow has {}; the others are the agents' own",
                      fmt::join(k_flow_limits, ", ")));
    }
  }
}

class StepBuilder {
 public:
  StepBuilder(const Value& root, Problems& problems)
      : root_(root), items_(map_at(root, "steps").items), problems_(problems) {}

  std::vector<StepSpec> build() {
    if (items_.size() > k_most_steps) {
      problems_.add(
          items_[k_most_steps].span,
          fmt::format(
              "a flow has {} steps at most, and this one has {}", k_most_steps, items_.size()),
          "`for_each` runs one step for many items");
      return {};
    }
    std::ranges::transform(
        items_, std::back_inserter(steps_), [this](const Value& item) { return step_of(item); });
    number_steps();
    if (problems_.is_empty()) {
      order_steps();
    }
    if (problems_.is_empty()) {
      find_what_comes_before();
    }
    if (const Value* prompt = value_at(root_, "prompt")) {
      refuse_files(*prompt);
    }
    if (problems_.is_empty()) {
      for (std::size_t number = 0; number < steps_.size(); ++number) {
        link_repeat(number);
      }
      for (std::size_t number = 0; number < steps_.size(); ++number) {
        check_expressions(number);
      }
    }
    return std::move(steps_);
  }

 private:
  StepSpec step_of(const Value& item) {
    StepSpec step{.name = text_at(item, "name"),
                  .agent = text_at(item, "agent"),
                  .command = text_at(item, "run"),
                  .prompt = text_at(item, "prompt"),
                  .when = text_at(item, "when"),
                  .for_each = text_at(item, "for_each"),
                  .timeout = duration_at(item, "timeout"),
                  .where = problems_.source().where(item.span)};
    for (const Entry& entry : map_at(item, "parameters").entries) {
      step.parameters.emplace_back(entry.key, entry.value.text);
    }
    if (const Value* most = value_at(item, "max_parallel")) {
      step.max_parallel = integer_of(*most).value_or(step.max_parallel);
    }
    if (text_at(item, "on_error") == "continue") {
      step.on_error = StepSpec::OnError::proceed;
    }
    check_kind(item);
    return step;
  }

  void check_kind(const Value& item) {
    const Entry* agent = item.find("agent");
    const Entry* run = item.find("run");
    if ((agent == nullptr) == (run == nullptr)) {
      problems_.add(run != nullptr ? run->key_span : item.span,
                    run != nullptr ? "a step is an `agent` or a `run`, not both"
                                   : "the step has neither `agent` nor `run`",
                    "`agent: FILE` or `run: COMMAND`");
      return;
    }
    const auto refuse = [&](std::string_view key, std::string_view kind) {
      if (const Entry* entry = item.find(key)) {
        problems_.add(
            entry->key_span, fmt::format("`{}` is for steps with `{}`", key, kind), "take it out");
      }
    };
    if (run != nullptr) {
      refuse("prompt", "agent");
      refuse("parameters", "agent");
    } else {
      refuse("timeout", "run");
    }
    if (item.find("for_each") == nullptr) {
      refuse("max_parallel", "for_each");
    }
  }

  void number_steps() {
    for (std::size_t number = 0; number < steps_.size(); ++number) {
      const Value* name = value_at(items_[number], "name");
      if (name == nullptr) {
        continue;
      }
      if (has(k_taken_names, name->text)) {
        problems_.add(name->span,
                      fmt::format("a step cannot be called `{}`: expressions know it", name->text),
                      "choose another name");
      } else if (!numbers_.emplace(name->text, number).second) {
        problems_.add(name->span,
                      fmt::format("two steps are called `{}`", agent::one_line(name->text, 60)),
                      "give each a name of its own",
                      agent::Code::registry_duplicate);
      }
    }
  }

  std::optional<std::size_t> number_of(const std::string& name, Span span) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) {
      return found->second;
    }
    std::vector<std::string> names;
    std::ranges::transform(steps_, std::back_inserter(names), &StepSpec::name);
    const auto meant = agent::nearest(name, std::span<const std::string>(names));
    problems_.add(span,
                  fmt::format("there is no step `{}`", agent::one_line(name, 60)),
                  meant ? fmt::format("did you mean `{}`?", *meant)
                        : fmt::format("the steps: {}", fmt::join(names, ", ")));
    return std::nullopt;
  }

  // ---- the order ----

  void order_steps() {
    if (const Entry* flow = root_.find("flow")) {
      order_by(flow->value);
      return;
    }
    for (std::size_t number = 0; number < steps_.size(); ++number) {
      const Value* needs = value_at(items_[number], "needs");
      if (needs == nullptr && number > 0) {
        steps_[number].needs = {number - 1};
      }
      for (const Value& name : needs != nullptr ? needs->items : std::vector<Value>()) {
        if (const auto other = number_of(name.text, name.span)) {
          steps_[number].needs.push_back(*other);
        }
      }
    }
  }

  void order_by(const Value& flow) {
    auto order = read_flow_order(flow.text);
    if (!order) {
      problems_.add(span_in(flow, order.error().offset, order.error().length),
                    order.error().message,
                    "for example `flow: \"plan >> (fix | docs) >> note\"`");
      return;
    }
    for (std::size_t number = 0; number < steps_.size(); ++number) {
      if (const Entry* needs = items_[number].find("needs")) {
        problems_.add(needs->key_span, "`needs` does not go with `flow`", "take one of them out");
      }
      const auto before = order->find(steps_[number].name);
      if (before == order->end()) {
        problems_.add(
            value_at(items_[number], "name")->span,
            fmt::format("`flow` does not say when the step `{}` is run", steps_[number].name),
            "name it there, or take it out");
        continue;
      }
      for (const std::string& name : before->second) {
        if (const auto other = number_of(name, flow.span)) {
          steps_[number].needs.push_back(*other);
        }
      }
      order->erase(before);
    }
    for (const auto& [name, before] : *order) {
      number_of(name, flow.span);
    }
  }

  // All that each step needs, at whatever remove. A circle is a mistake: each is told, but of those
  // that share a step one.
  void find_what_comes_before() {
    before_.resize(steps_.size());
    enum class Seen : std::uint8_t { no, on_the_way, yes };
    std::vector<Seen> seen(steps_.size(), Seen::no);
    for (std::size_t first = 0; first < steps_.size(); ++first) {
      std::vector<std::pair<std::size_t, std::size_t>> way;  // a step, and which need comes next
      if (seen[first] == Seen::no) {
        way.emplace_back(first, 0);
        seen[first] = Seen::on_the_way;
      }
      while (!way.empty()) {
        auto& [step, next] = way.back();
        if (next == steps_[step].needs.size()) {
          seen[step] = Seen::yes;
          for (const std::size_t need : steps_[step].needs) {
            before_[step].insert(need);
            before_[step].insert(before_[need].begin(), before_[need].end());
          }
          way.pop_back();
          continue;
        }
        const std::size_t need = steps_[step].needs[next++];
        if (seen[need] == Seen::on_the_way) {
          refuse_circle(way, need);
          continue;
        }
        if (seen[need] == Seen::no) {
          seen[need] = Seen::on_the_way;
          way.emplace_back(need, 0);
        }
      }
    }
  }

  void refuse_circle(const std::vector<std::pair<std::size_t, std::size_t>>& way,
                     std::size_t need) {
    const auto begin = std::ranges::find(way, need, &std::pair<std::size_t, std::size_t>::first);
    const auto is_told = [&](const auto& on_the_way) {
      return in_circles_.contains(on_the_way.first);
    };
    if (std::any_of(begin, way.end(), is_told)) {
      return;
    }
    std::string circle;
    for (auto at = begin; at != way.end(); ++at) {
      in_circles_.insert(at->first);
      circle += steps_[at->first].name + " → ";
    }
    circle += steps_[need].name;
    problems_.add(value_at(items_[need], "name")->span,
                  fmt::format("the steps need each other in a circle: {}", circle),
                  "take one of the `needs` out; `repeat` runs steps again",
                  agent::Code::team_invalid);
  }

  void link_repeat(std::size_t number) {
    const Entry* repeat = items_[number].find("repeat");
    if (repeat == nullptr) {
      return;
    }
    if (!steps_[number].for_each.empty()) {
      problems_.add(
          repeat->key_span, "`repeat` does not go with `for_each`", "take one of them out");
      return;
    }
    const Value* with = value_at(repeat->value, "with");
    const Value* max = value_at(repeat->value, "max");
    if (with == nullptr || max == nullptr) {
      return;
    }
    const auto other = number_of(with->text, with->span);
    if (other && !before_[number].contains(*other)) {
      problems_.add(
          with->span,
          fmt::format("the step `{}` does not come before `{}`", with->text, steps_[number].name),
          "a step is repeated with one that it needs",
          agent::Code::team_invalid);
    } else if (other) {
      steps_[number].repeat = StepSpec::Repeat{.with = *other, .max = integer_of(*max).value_or(1)};
      known_again_[*other].insert(number);
    }
  }

  // ---- expressions ----

  // Where parts of a value's text stand in the source: cheap for those that come in order.
  class Places {
   public:
    Places(const Problems& problems, const Value& value)
        : last_(value.text.empty() ? 0 : value.text.size() - 1),
          offsets_(problems.source().text(), value) {}

    Span of(std::size_t offset, std::size_t length) {
      return {offsets_.of(std::min(offset, last_)), length};
    }

   private:
    std::size_t last_;
    SourceOffsets offsets_;
  };

  Span span_in(const Value& value, std::size_t offset, std::size_t length) const {
    return Places(problems_, value).of(offset, length);
  }

  void check_expressions(std::size_t number) {
    const Value& item = items_[number];
    for (const std::string_view key : {"when", "for_each"}) {
      if (const Value* value = value_at(item, key); value != nullptr && value->kind == Kind::text) {
        Places places(problems_, *value);
        check_expression(number, places, value->text, 0, false);
      }
    }
    if (const Value* prompt = value_at(item, "prompt")) {
      check_template(number, *prompt);
      refuse_files(*prompt);
    }
    for (const Entry& entry : map_at(item, "parameters").entries) {
      if (entry.value.kind == Kind::text) {
        check_template(number, entry.value);
      }
    }
    if (const Value* command = value_at(item, "run")) {
      warn_of_tags(*command);
    }
  }

  // A command's braces are its own: only what one of the flow's names begins is taken for a tag.
  void warn_of_tags(const Value& command) {
    for (const agent::TemplatePiece& piece : agent::split_template(command.text)) {
      const bool is_tag = piece.kind == agent::TemplatePiece::Kind::tag;
      const auto expression = Expression::parse(is_tag ? piece.text : "");
      const auto is_known = [&](const Path& path) {
        return path.name == "item" || path.name == "prompt" || path.name == "parameters" ||
               numbers_.contains(path.name);
      };
      if (expression && std::ranges::any_of(expression->paths(), is_known)) {
        problems_.warn(span_in(command, piece.offset, piece.length),
                       fmt::format("`{{{{ {} }}}}` is passed on as it stands: a command gets "
                                   "nothing filled in",
                                   agent::one_line(piece.text, 60)),
                       "a shell would run what stood in it; an agent has it in its prompt");
      }
    }
  }

  // A flow hands on text: a picture would go with none of its prompts.
  void refuse_files(const Value& prompt) {
    for (const Mention& mention : find_mentions(prompt.text)) {
      problems_.add(span_in(prompt, mention.at, 1),
                    fmt::format("`@{}` attaches nothing here: the prompts of a flow are text",
                                agent::one_line(mention.path, 60)),
                    "name it in the `prompt` of the agent's file; as `@{{ picture }}`, where "
                    "`parameters` of the step says which",
                    agent::Code::team_invalid);
    }
  }

  void check_template(std::size_t number, const Value& value) {
    Places places(problems_, value);
    for (const agent::TemplatePiece& piece : agent::split_template(value.text)) {
      if (piece.kind == agent::TemplatePiece::Kind::open_tag) {
        problems_.add(places.of(piece.offset, piece.length),
                      "a template tag is not closed",
                      R"(write {{ plan.text }}, and {{ "{{" }} for two braces)");
      } else if (piece.kind == agent::TemplatePiece::Kind::tag) {
        const std::size_t inside = value.text.find(piece.text, piece.offset + 2);
        check_expression(number, places, piece.text, inside, !steps_[number].for_each.empty());
      }
    }
  }

  // `text` stands in the value from `offset` on.
  void check_expression(std::size_t number,
                        Places& places,
                        const std::string& text,
                        std::size_t offset,
                        bool has_item) {
    const auto expression = Expression::parse(text);
    if (!expression) {
      problems_.add(places.of(offset + expression.error().offset, 1),
                    expression.error().message,
                    "for example `test.exit_code == 0`, `plan.output.files`, `fix[*].text`");
      return;
    }
    for (const Path& path : expression->paths()) {
      check_path(number, path, places.of(offset + path.offset, path.length), has_item);
    }
    const Path* whole = expression->as_path();
    if (whole != nullptr) {
      check_is_there(number, *whole, places.of(offset + whole->offset, whole->length));
    }
  }

  void check_path(std::size_t number, const Path& path, Span span, bool has_item) {
    if (path.name == "item") {
      if (!has_item) {
        problems_.add(span,
                      "`item` stands for nothing here",
                      "it is known in `prompt` and `parameters` of a step with `for_each`",
                      agent::Code::team_invalid);
      }
      return;
    }
    if (path.name == "prompt") {
      return;
    }
    if (path.name == "parameters") {
      check_parameter(path, span);
      return;
    }
    if (const auto other = number_of(path.name, span)) {
      check_order(number, *other, span);
      check_members(*other, path, span);
    }
  }

  void check_parameter(const Path& path, Span span) {
    const auto* name = path.parts.empty() ? nullptr : std::get_if<std::string>(&path.parts.front());
    if (name == nullptr || map_at(root_, "parameters").find(*name) == nullptr) {
      problems_.add(span,
                    fmt::format("`{}` is not a parameter of the flow", path.shown()),
                    "declare it in `parameters`, and write `parameters.NAME`");
    }
  }

  void check_order(std::size_t number, std::size_t other, Span span) {
    const auto again = known_again_.find(number);
    const bool is_known = before_[number].contains(other) ||
                          (again != known_again_.end() && again->second.contains(other));
    if (!is_known) {
      problems_.add(span,
                    other == number ? std::string("a step does not know itself")
                                    : fmt::format("the step `{}` does not come before this one",
                                                  steps_[other].name),
                    "name it in `needs`",
                    agent::Code::team_invalid);
    }
  }

  // The step that is repeated with this one comes behind it: at first it has brought nothing.
  void check_is_there(std::size_t number, const Path& path, Span span) {
    const auto other = numbers_.find(path.name);
    const auto again = known_again_.find(number);
    if (other != numbers_.end() && again != known_again_.end() &&
        again->second.contains(other->second) && !before_[number].contains(other->second) &&
        may_run_without(number, path.name)) {
      problems_.add(span,
                    fmt::format("`{}` is not there yet in the first round", path.shown()),
                    fmt::format("`when: {} != null` of this step skips it until then", path.name),
                    agent::Code::team_invalid);
    }
  }

  // Whether `when` says, by that other step alone, that this one runs while the other has brought
  // nothing.
  bool may_run_without(std::size_t number, const std::string& other) const {
    const Value* when = value_at(items_[number], "when");
    if (when == nullptr) {
      return true;
    }
    const auto condition = Expression::parse(when->text);
    const auto is_of_other = [&](const Path& path) { return path.name == other; };
    const agent::Json nothing;
    return condition && std::ranges::all_of(condition->paths(), is_of_other) &&
           condition->is_true([&](std::string_view) { return &nothing; }).value_or(false);
  }

  void check_members(std::size_t other, const Path& path, Span span) {
    const StepSpec& step = steps_[other];
    const bool is_list = !step.for_each.empty();
    const bool is_indexed =
        !path.parts.empty() && !std::holds_alternative<std::string>(path.parts.front());
    if (is_list != is_indexed && !(is_list && path.parts.empty())) {
      problems_.add(span,
                    is_list
                        ? fmt::format("`{0}` is a list: `{0}[*]` or `{0}[0]`", step.name)
                        : fmt::format("`{}` is not a list: its step has no `for_each`", step.name),
                    "see EXPRESSIONS in errand-agent(5)",
                    agent::Code::team_invalid);
      return;
    }
    const std::size_t at = is_indexed ? 1 : 0;
    const auto* member =
        at < path.parts.size() ? std::get_if<std::string>(&path.parts[at]) : nullptr;
    const std::span<const std::string_view> known =
        step.is_command() ? std::span<const std::string_view>(k_of_commands) : k_of_agents;
    if (member != nullptr && std::ranges::find(known, *member) == known.end()) {
      const auto meant = agent::nearest(*member, known);
      problems_.add(span,
                    fmt::format("a step's result has no `{}`", agent::one_line(*member, 60)),
                    meant ? fmt::format("did you mean `{}`?", *meant)
                          : fmt::format("it has {}", fmt::join(known, ", ")),
                    agent::Code::team_invalid);
    }
  }

  const Value& root_;
  const std::vector<Value>& items_;
  Problems& problems_;
  std::vector<StepSpec> steps_;
  std::map<std::string, std::size_t> numbers_;
  std::set<std::size_t> in_circles_;           // steps of those that are told
  std::vector<std::set<std::size_t>> before_;  // all that a step needs, by its number
  std::map<std::size_t, std::set<std::size_t>> known_again_;  // those that are repeated with it
};

}  // namespace

std::vector<StepSpec> build_steps(const Value& root, Problems& problems) {
  if (root.find("steps") == nullptr) {
    if (const Entry* flow = root.find("flow")) {
      problems.add(
          flow->key_span, "`flow` says the order of `steps`, and there are none", "add `steps`");
    }
    return {};
  }
  check_keys_of_flow(root, problems);
  return problems.is_empty() ? StepBuilder(root, problems).build() : std::vector<StepSpec>();
}

}  // namespace config
