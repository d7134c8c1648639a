#include "config/build/build.h"

#include "agent/absence.h"
#include "agent/text.h"
#include "config/attachment.h"
#include "config/build/build_guardrails.h"
#include "config/build/build_hooks.h"
#include "config/build/build_permissions.h"
#include "config/build/build_price.h"
#include "config/check.h"
#include "config/expand.h"
#include "config/read.h"
#include "config/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace config {
namespace {

void read_duration(const Value& map, std::string_view key, agent::Milliseconds& target) {
  target = duration_at(map, key).value_or(target);
}

agent::Timeouts build_timeouts(const Value& map) {
  agent::Timeouts timeouts;
  read_duration(map, "connect", timeouts.connect);
  read_duration(map, "first_byte", timeouts.first_byte);
  read_duration(map, "idle", timeouts.idle);
  read_duration(map, "request", timeouts.request);
  return timeouts;
}

void check_protocol(const Value& model, const KnownNames& known, Problems& problems) {
  const Value* protocol = value_at(model, "protocol");
  if (protocol == nullptr || protocol->kind != Kind::text || known.protocols.empty() ||
      std::ranges::find(known.protocols, protocol->text) != known.protocols.end()) {
    return;
  }
  const auto meant = agent::nearest(protocol->text, std::span<const std::string>(known.protocols));
  problems.add(protocol->span,
               fmt::format("there is no protocol `{}`", agent::one_line(protocol->text)),
               meant ? fmt::format("did you mean `{}`?", *meant)
                     : fmt::format("one of: {}", fmt::join(known.protocols, ", ")));
}

// `auto` looks for a provider; what describes one of one's own contradicts it.
void check_automatic(const Value& model, Problems& problems) {
  if (text_at(model, "name") != "auto") {
    return;
  }
  for (const char* key : {"protocol", "base_url", "api_key_env"}) {
    if (const Entry* entry = model.find(key)) {
      problems.add(entry->key_span,
                   fmt::format("`model.{}` does not go with the model `auto`", key),
                   "name the model as PROVIDER/NAME, or leave this key out");
    }
  }
}

}  // namespace

void check_headers(const Value& headers, Problems& problems) {
  for (const Entry& entry : headers.entries) {
    if (entry.value.text.find('\n') != std::string::npos) {
      problems.add(entry.value.span, "a header cannot hold a line end", "write it in one line");
    }
    // Whoever serves several hosts at one address goes by it: the key would be another host's.
    if (agent::to_lower(entry.key) == "host") {
      problems.add(entry.key_span,
                   "the header `Host` cannot be set: it follows from the server's address",
                   "name the server in its address");
    }
  }
}

agent::ModelSpec build_model(const Value& value, const KnownNames& known, Problems& problems) {
  agent::ModelSpec model;
  model.name = "auto";
  if (value.kind == Kind::text) {
    model.name = value.text;
    model.where = problems.source().where(value.span);
    return model;
  }
  if (const Value* name = value_at(value, "name")) {
    model.where = problems.source().where(name->span);
  }
  check_protocol(value, known, problems);
  check_automatic(value, problems);
  model.name = text_at(value, "name", "auto");
  model.protocol = text_at(value, "protocol");
  model.base_url = text_at(value, "base_url");
  model.api_key_env = text_at(value, "api_key_env");
  if (const Value* url = value_at(value, "base_url")) {
    model.in_base_url = build_uses(*url, problems);
  }
  if (const Value* key = value_at(value, "api_key_env")) {
    model.api_key_where = problems.source().where(key->span);
  }
  model.stream = boolean_at(value, "stream", true);
  const Value& headers = map_at(value, "headers");
  check_headers(headers, problems);
  model.in_headers = build_uses(headers, problems);
  for (const Entry& entry : headers.entries) {
    model.headers.emplace_back(entry.key, entry.value.text);
  }
  if (const Value* temperature = value_at(value, "temperature")) {
    model.temperature = number_of(*temperature);
  }
  model.max_output_tokens = count_at(value, "max_output_tokens");
  model.reasoning = text_at(value, "reasoning");
  if (const Value* stop = value_at(value, "stop")) {
    if (stop->kind == Kind::text) {
      model.stop.push_back(stop->text);
    }
    for (const Value& text : stop->items) {
      model.stop.push_back(text.text);
    }
  }
  model.tool_choice = text_at(value, "tool_choice");
  model.timeouts = build_timeouts(map_at(value, "timeouts"));
  model.cost = build_price(value, "cost", problems);
  model.requests_per_minute = count_at(value, "requests_per_minute");
  model.max_in_flight = count_at(value, "max_in_flight");
  model.context_window = count_at(value, "context_window");
  return model;
}

namespace {

// The list of models, in the short form and in the long one.
const Value& fallback_models(const Value& fallback) {
  return fallback.kind == Kind::list ? fallback : map_at(fallback, "models");
}

void check_fallback(const Value& item,
                    const agent::ModelSpec& model,
                    std::set<std::string>& names,
                    Problems& problems) {
  const Value* name = value_at(item, "name");  // of the long form
  const Span span = name != nullptr ? name->span : item.span;
  if (name != nullptr && model.name == "auto") {
    problems.add(span, "a fallback cannot be `auto`", "name the model as PROVIDER/NAME");
  } else if (!names.insert(model.name).second) {
    problems.add(
        span,
        fmt::format("the model `{}` appears twice in the chain", agent::one_line(model.name)),
        "take it out; the same model on another server needs another label before the "
        "slash, with `protocol` and `base_url`");
  }
}

agent::FallbackSpec build_fallback(const Value& value,
                                   const agent::ModelSpec& first,
                                   const KnownNames& known,
                                   Problems& problems) {
  agent::FallbackSpec fallback;
  std::set<std::string> names{first.name};
  for (const Value& item : fallback_models(value).items) {
    if (item.kind == Kind::text || item.kind == Kind::map) {
      fallback.models.push_back(build_model(item, known, problems));
      check_fallback(item, fallback.models.back(), names, problems);
    }
  }
  read_duration(value, "cooldown", fallback.cooldown);
  if (const Value* reasons = value_at(value, "on")) {
    fallback.on.clear();
    for (const Value& word : reasons->items) {
      if (const auto reason = agent::fallback_reason_from(word.text)) {
        fallback.on.push_back(*reason);
      }
    }
  }
  return fallback;
}

// What must be called has to be there.
void check_tool_choice(const Value& root,
                       const std::vector<agent::ToolSpec>& tools,
                       Problems& problems) {
  const Value* choice = value_at(map_at(root, "model"), "tool_choice");
  if (choice == nullptr || choice->text == "auto" || choice->text == "none") {
    return;
  }
  std::vector<std::string> names;
  std::ranges::transform(tools, std::back_inserter(names), &agent::ToolSpec::name);
  if (choice->text == "required" && names.empty()) {
    problems.add(choice->span,
                 "`model.tool_choice` is required, but the agent has no tools",
                 "list its tools under `tools`, or take this key out");
  } else if (choice->text != "required" && std::ranges::find(names, choice->text) == names.end()) {
    const auto meant = agent::nearest(choice->text, std::span<const std::string>(names));
    problems.add(choice->span,
                 fmt::format("`model.tool_choice` names `{}`, which is not a tool of this agent",
                             agent::one_line(choice->text)),
                 meant ? fmt::format("did you mean `{}`?", *meant)
                       : "write auto, required, none, or the name of a tool in `tools`");
  }
}

agent::Limits build_limits(const Value& map, const Problems& problems) {
  agent::Limits limits;
  limits.max_turns = count_at(map, "max_turns");
  limits.max_tool_calls = count_at(map, "max_tool_calls");
  limits.max_total_tokens = count_at(map, "max_total_tokens");
  limits.timeout = duration_at(map, "timeout");
  limits.max_cost_usd = money_at(map, "max_cost_usd");
  if (const Value* cost = value_at(map, "max_cost_usd")) {
    limits.max_cost_where = problems.source().where(cost->span);
  }
  if (text_at(map, "max_repeat_calls") == "unlimited") {
    limits.max_repeat_calls = std::nullopt;
  } else if (const auto count = count_at(map, "max_repeat_calls")) {
    limits.max_repeat_calls = count;
  }
  limits.wrap_up = boolean_at(map, "wrap_up", limits.wrap_up);
  limits.max_parallel = count_at(map, "max_parallel").value_or(limits.max_parallel);
  limits.max_depth = count_at(map, "max_depth").value_or(limits.max_depth);
  limits.max_handoffs = count_at(map, "max_handoffs");
  return limits;
}

agent::RetryPolicy build_retry(const Value& map, Problems& problems) {
  agent::RetryPolicy retry;
  if (const auto attempts = count_at(map, "max_attempts")) {
    retry.max_attempts = static_cast<int>(std::clamp<std::int64_t>(*attempts, 1, 100));
  }
  read_duration(map, "initial_delay", retry.initial_delay);
  read_duration(map, "max_delay", retry.max_delay);
  read_duration(map, "max_elapsed", retry.max_elapsed);
  const Value* initial = value_at(map, "initial_delay");
  if (retry.initial_delay > retry.max_delay && initial != nullptr) {
    problems.add(initial->span,
                 fmt::format("`retry.initial_delay` ({}) is longer than `retry.max_delay` ({})",
                             agent::format_duration(retry.initial_delay),
                             agent::format_duration(retry.max_delay)),
                 "make the first wait the shorter one");
  }
  return retry;
}

void check_parameter_value(const Value& value,
                           const agent::ParameterSpec& parameter,
                           std::string_view key,
                           Problems& problems) {
  const std::string path = fmt::format("parameters.{}.{}", parameter.name, key);
  if (!value.is_scalar()) {
    return;
  }
  if (!is_value_of_type(value.text, parameter.type)) {
    problems.add(value.span,
                 fmt::format("`{}` is not of type {}", path, parameter.type),
                 fmt::format("`type` is {}; change one of the two", parameter.type));
  } else if (key == "default" && !parameter.options.empty() &&
             std::ranges::find(parameter.options, value.text) == parameter.options.end()) {
    problems.add(value.span,
                 fmt::format("`{}` is not in `enum`", path),
                 fmt::format("one of: {}", fmt::join(parameter.options, ", ")));
  }
}

agent::ParameterSpec build_parameter(const Entry& entry, Problems& problems) {
  const Value& map = entry.value;
  agent::ParameterSpec parameter;
  parameter.name = entry.key;
  parameter.type = text_at(map, "type", "string");
  parameter.required = boolean_at(map, "required", false);
  parameter.description = text_at(map, "description");
  if (const Value* options = value_at(map, "enum")) {
    for (const Value& option : options->items) {
      check_parameter_value(option, parameter, "enum", problems);
      parameter.options.push_back(option.text);
    }
  }
  if (const Value* standard = value_at(map, "default")) {
    check_parameter_value(*standard, parameter, "default", problems);
    parameter.fallback = standard->text;
    if (parameter.required) {
      problems.add(map.find("default")->key_span,
                   fmt::format("the required parameter `{}` has a default", parameter.name),
                   "take out `required: true`, or the default");
    }
  }
  return parameter;
}

// What it leads to; render() looks again at what it opens.
void check_reading(const Value& item,
                   const agent::ContextFile& file,
                   const NamedFiles& files,
                   Problems& problems) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(files.locate(file.path), failure);
  if (const auto judged = failure ? agent::Result<void>() : files.foresee(file.path, real);
      !judged) {
    problems.add(item.span, judged.error().message, judged.error().help);
  }
}

void check_file(const Value& item,
                const agent::ContextFile& file,
                const NamedFiles& files,
                std::string_view help,
                Problems& problems) {
  std::error_code failure;
  const auto status = std::filesystem::status(files.locate(file.path), failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    const bool may_be_missing = file.optional && agent::is_absent(files.locate(file.path));
    constexpr std::string_view k_home =
        "`~` is an ordinary character here: write the whole path, and name it in `sandbox.read`";
    const bool starts_at_home = file.path.starts_with("~/");
    if (may_be_missing && starts_at_home) {
      problems.warn(item.span,
                    fmt::format("there is no file `{}`", agent::one_line(file.path)),
                    std::string(k_home));
    } else if (starts_at_home) {
      problems.add(item.span,
                   fmt::format("there is no file `{}`", agent::one_line(file.path)),
                   std::string(k_home));
    } else if (!may_be_missing) {
      problems.add(item.span,
                   fmt::format("{} `{}`",
                               file.optional ? "there is no file behind" : "there is no file",
                               agent::one_line(file.path)),
                   fmt::format("paths start at the agent file's folder; {}", help));
    }
  } else if (failure) {
    problems.add(
        item.span,
        fmt::format("cannot look at `{}`: {}", agent::one_line(file.path), failure.message()),
        "check the permissions of the file and its folder");
  } else if (status.type() != std::filesystem::file_type::regular) {
    problems.add(item.span,
                 fmt::format("`{}` is not a regular file", agent::one_line(file.path)),
                 "name a file");
  } else {
    check_reading(item, file, files, problems);
  }
}

std::vector<agent::ContextFile> build_context(const Value& list,
                                              const NamedFiles& named,
                                              Problems& problems) {
  std::vector<agent::ContextFile> files;
  for (const Value& item : list.items) {
    if (item.kind != Kind::text || item.text.empty()) {
      continue;
    }
    agent::ContextFile file{.path = item.text, .optional = item.text.ends_with('?')};
    if (file.optional) {
      file.path.pop_back();
    }
    check_file(item,
               file,
               named,
               fmt::format("write `{}?` where it may be missing", agent::one_line(file.path)),
               problems);
    files.push_back(std::move(file));
  }
  return files;
}

// The pictures and documents whose paths need no parameter.
void check_prompt_files(const Value* prompt, const NamedFiles& files, Problems& problems) {
  for (const Mention& mention : find_mentions(prompt == nullptr ? "" : prompt->text)) {
    if (!mention.path.contains("{{")) {
      check_file(*prompt,
                 {.path = mention.path},
                 files,
                 "`@` names a picture or PDF that goes with the prompt",
                 problems);
    }
  }
}

agent::SessionSpec build_session(const Value& map) {
  agent::SessionSpec session;
  session.store = text_at(map, "store", session.store);
  if (text_at(map, "durability") == "full") {
    session.durability = agent::SessionSpec::Durability::full;
  }
  session.keep = duration_at(map, "keep");
  return session;
}

// 0: switched off.
std::int64_t share_at(const Value* map, std::int64_t standard) {
  if (map == nullptr) {
    return standard;
  }
  const std::string text = text_at(*map, "at");
  return map->kind == Kind::text ? 0
         : text.size() == 3      ? (text[0] - '0') * 10 + (text[1] - '0')
                                 : standard;
}

agent::ContextSpec build_context_management(const Value* value,
                                            const KnownNames& known,
                                            Problems& problems) {
  agent::ContextSpec spec;
  if (value == nullptr) {
    return spec;
  }
  spec.is_named = true;
  spec.is_off = value->kind == Kind::text;
  const Value* clear = value_at(*value, "clear");
  const Value* summarize = value_at(*value, "summarize");
  spec.clear_at = share_at(clear, spec.clear_at);
  spec.summarize_at = share_at(summarize, spec.summarize_at);
  if (spec.clear_at > spec.summarize_at && spec.summarize_at > 0) {
    problems.add(clear != nullptr ? clear->span : summarize->span,
                 fmt::format("`context_management.clear.at` ({}%) is above `summarize.at` ({}%)",
                             spec.clear_at,
                             spec.summarize_at),
                 "results go first: make it the smaller one");
  }
  if (clear != nullptr) {
    spec.keep_results = count_at(*clear, "keep_results").value_or(spec.keep_results);
  }
  if (summarize != nullptr) {
    spec.keep_recent = count_at(*summarize, "keep_recent").value_or(spec.keep_recent);
    read_duration(*summarize, "timeout", spec.summarize_timeout);
    if (const Value* model = value_at(*summarize, "model")) {
      spec.summarizer = build_model(*model, known, problems);
    }
  }
  for (const Value& item : map_at(*value, "pin").items) {
    spec.pins.push_back(item.text);
  }
  return spec;
}

void check_template(const Value& text,
                    const std::vector<std::string>& declared,
                    std::set<std::string>& used,
                    Problems& problems) {
  SourceOffsets offsets(problems.source().text(), text);
  for (const Piece& piece : parse_template(without_references(text.text))) {
    if (piece.kind == Piece::Kind::text) {
      continue;
    }
    const Span span{offsets.of(piece.offset), piece.length};
    if (piece.kind == Piece::Kind::mistake) {
      problems.add(
          span, piece.text, R"(write {{ name }} for a parameter, and {{ "{{" }} for two braces)");
      continue;
    }
    used.insert(piece.text);
    if (std::ranges::find(declared, piece.text) == declared.end()) {
      const auto meant = agent::nearest(piece.text, std::span<const std::string>(declared));
      problems.add(
          span,
          fmt::format("the template names `{}`, which is not a parameter", piece.text),
          meant ? fmt::format("did you mean `{}`?", *meant)
                : fmt::format("declare it: `parameters: {{{}: {{type: string}}}}`", piece.text));
    }
  }
}

}  // namespace

bool is_value_of_type(std::string_view text, std::string_view type) {
  Value value;
  value.text = text;
  value.kind = kind_of_plain(text);
  const auto number = number_of(value);
  if (type == "integer") {  // of any size, and `3.0`: as JSON Schema has it
    return value.kind == Kind::integer ||
           (number && std::isfinite(*number) && std::trunc(*number) == *number);
  }
  if (type == "number") {
    return number && std::isfinite(*number);
  }
  return type != "boolean" || text == "true" || text == "false";
}

void check_templates(const Value& root, Problems& problems) {
  for_each_written_out(root, [&](const std::string&, const Value& sub_agent) {
    check_templates(sub_agent, problems);
  });
  const Value& parameters = map_at(root, "parameters");
  std::vector<std::string> declared;
  for (const Entry& entry : parameters.entries) {
    declared.push_back(entry.key);
  }
  std::set<std::string> used;
  for (const Entry& entry : root.entries) {
    const bool is_template = entry.key == "instructions" || entry.key == "prompt";
    if (is_template && entry.value.kind == Kind::text) {
      check_template(entry.value, declared, used, problems);
    }
  }
  const bool is_flow = root.find("steps") != nullptr;  // whose expressions name them
  for (const Entry& entry : parameters.entries) {
    if (!is_flow && !used.contains(entry.key) && !is_free_key(entry.key)) {
      problems.warn(entry.key_span,
                    fmt::format("no template names the parameter `{}`", entry.key),
                    fmt::format("write {{{{ {} }}}} in `prompt` or `instructions`, or take it out",
                                entry.key));
    }
  }
}

namespace {

// Nobody could send back to the agent what they find of another one's work.
void refuse_checks_of_others(const Value& root, const agent::AgentSpec& spec, Problems& problems) {
  const Entry* handoffs = root.find("handoffs");
  if (handoffs != nullptr && !spec.checks.commands.empty()) {
    problems.add(handoffs->key_span,
                 "an agent with `checks` cannot hand over: nothing would look at what the other "
                 "one has done",
                 "give the checks to the agents that do the work");
  }
}

// A sub-agent is a tool of the agent, and so is a hand-over.
void refuse_taken_names(const Value& root, const agent::AgentSpec& spec, Problems& problems) {
  for (const Entry& sub : map_at(root, "sub_agents").entries) {
    if (std::ranges::find(spec.tools, sub.key, &agent::ToolSpec::name) != spec.tools.end()) {
      problems.add(sub.key_span,
                   fmt::format("the sub-agent `{}` has the name of a tool", sub.key),
                   "the model calls it by this name: give it another one",
                   agent::Code::registry_duplicate);
    }
  }
  for (const agent::HandoffSpec& handoff : spec.handoffs) {
    const std::string name = handoff.tool();
    if (std::ranges::find(spec.tools, name, &agent::ToolSpec::name) != spec.tools.end() ||
        std::ranges::find(spec.sub_agents, name, &agent::SubAgentSpec::name) !=
            spec.sub_agents.end()) {
      problems.add(root.find("handoffs")->key_span,
                   fmt::format("there are two tools `{}`", name),
                   "call the file of the one, or the other, something else",
                   agent::Code::registry_duplicate);
    }
  }
}

}  // namespace

agent::AgentSpec build_agent(const Value& root,
                             const std::filesystem::path& directory,
                             const KnownNames& known,
                             const agent::Environment& environment,
                             Problems& problems) {
  agent::AgentSpec spec;
  spec.directory = directory.string();
  spec.name = text_at(root, "name");
  spec.description = text_at(root, "description");
  spec.model = build_model(map_at(root, "model"), known, problems);
  spec.fallback = build_fallback(map_at(root, "fallback"), spec.model, known, problems);
  spec.instructions = text_at(root, "instructions");
  spec.prompt = text_at(root, "prompt");
  for (const Entry& entry : map_at(root, "parameters").entries) {
    if (!is_free_key(entry.key)) {
      spec.parameters.push_back(build_parameter(entry, problems));
    }
  }
  spec.sandbox = build_sandbox(map_at(root, "sandbox"), known, problems);
  ToolWorld world{.directory = directory,
                  .known = known,
                  .environment = environment,
                  .key_variables = known.key_variables};
  world.key_variables.push_back(spec.model.api_key_env);
  for (const agent::ModelSpec& model : spec.fallback.models) {
    world.key_variables.push_back(model.api_key_env);
  }
  spec.tools = build_tools(map_at(root, "tools"), world, problems);
  check_tool_choice(root, spec.tools, problems);
  std::vector<std::string> tool_names = known.tools;
  std::ranges::transform(spec.tools, std::back_inserter(tool_names), &agent::ToolSpec::name);
  for (const Entry& server : map_at(root, "mcp_servers").entries) {
    tool_names.push_back(agent::McpServerSpec{.name = server.key}.tool_prefix());
  }
  spec.sub_agents = build_sub_agents(root, world, problems);
  spec.handoffs = build_handoffs(root, problems);
  refuse_taken_names(root, spec, problems);
  if (!spec.sub_agents.empty() || !spec.handoffs.empty()) {
    tool_names.clear();  // rules may name their tools, too: whoever knows those looks at it
  }
  spec.permissions = build_permissions(map_at(root, "permissions"), tool_names, known, problems);
  const NamedFiles files(directory,
                         known.reading_policy ? known.reading_policy(spec) : ReadingPolicy());
  if (!known.recorded_schema) {
    check_prompt_files(value_at(root, "prompt"), files, problems);
    spec.context = build_context(map_at(root, "context"), files, problems);
  }
  spec.hooks = build_hooks(map_at(root, "hooks"), spec.tools, world, problems);
  const Value& output = map_at(root, "output");
  spec.output = known.recorded_schema
                    ? agent::OutputSpec{.schema = *known.recorded_schema,
                                        .repair_attempts = repair_attempts(output)}
                    : build_output(output, files, problems);
  spec.checks = build_checks(root, problems);
  refuse_checks_of_others(root, spec, problems);
  spec.approval.deadline = duration_at(map_at(root, "approval"), "deadline");
  spec.limits = build_limits(map_at(root, "limits"), problems);
  spec.retry = build_retry(map_at(root, "retry"), problems);
  spec.session = build_session(map_at(root, "session"));
  spec.guardrails = build_guardrails(map_at(root, "guardrails"), world, problems);
  spec.context_management =
      build_context_management(value_at(root, "context_management"), known, problems);
  spec.mcp_servers = build_mcp_servers(map_at(root, "mcp_servers"), world, problems);
  spec.steps = build_steps(root, problems);
  spec.in_texts = build_text_uses(root, world, problems);
  return spec;
}

}  // namespace config
