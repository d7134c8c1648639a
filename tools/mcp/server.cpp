#include "tools/mcp/server.h"

#include "agent/duration.h"
#include "agent/schema/json_schema.h"
#include "agent/text.h"
#include "tools/hooks/kept_modules.h"
#include "tools/mcp/call_end.h"
#include "tools/mcp/http_transport.h"
#include "tools/mcp/program_transport.h"
#include "tools/mcp/tool_result.h"
#include "tools/permissions/text_pattern.h"
#include "tools/process/program_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Json;
using agent::Milliseconds;
using agent::Result;
using Steady = std::chrono::steady_clock;

constexpr std::size_t k_most_tools = 10'000;
constexpr std::size_t k_most_description = 8'000;  // bytes
constexpr std::size_t k_most_schema = 256u << 10;
constexpr std::size_t k_most_questions = 20;    // in one result
constexpr std::size_t k_shown_of_wait = 200;    // characters
constexpr int k_most_answers = 10;              // to a call that asks for more
constexpr Milliseconds k_longest_list{10'000};  // between turns
constexpr Milliseconds k_to_read{5'000};        // what a list says, at least
constexpr int k_most_failed_lists = 3;          // likewise

// By `tools`: the last pattern that is about it counts; with none that adds, all are offered.
bool is_wanted(const std::vector<std::string>& patterns, std::string_view tool) {
  bool is_in =
      std::ranges::none_of(patterns, [](const auto& one) { return !one.starts_with('!'); });
  for (const std::string& pattern : patterns) {
    const bool takes_out = pattern.starts_with('!');
    if (TextPattern(std::string_view(pattern).substr(takes_out ? 1 : 0)).covers(tool)) {
      is_in = !takes_out;
    }
  }
  return is_in;
}

// A tool of the revisions that have tasks may say that it runs as one alone.
bool is_task_alone(const Json& item) {
  const Json* const execution = agent::find(item, "execution");
  return execution != nullptr && agent::text_at(*execution, "taskSupport") == "required";
}

bool says_that_it_only_reads(const Json& item) {
  const Json* const hints = agent::find(item, "annotations");
  const Json* const hint = hints != nullptr ? agent::find(*hints, "readOnlyHint") : nullptr;
  return hint != nullptr && hint->is_boolean() && hint->get<bool>();
}

// What a model reads of it: lines may be, control characters may not.
std::string clean_description(std::string_view text) {
  std::string clean = agent::to_valid_utf8(agent::excerpt(text, k_most_description));
  std::erase_if(clean, [](char one) {
    const auto byte = static_cast<unsigned char>(one);
    return (byte < ' ' && one != '\n' && one != '\t') || byte == 0x7f;
  });
  return clean;
}

// As the schema of arguments: `{}` stands for an object of any kind. Empty: it is none.
std::string parameters_of(const Json& item) {
  const Json* const schema = agent::find(item, "inputSchema");
  if (schema == nullptr || !schema->is_object()) {
    return {};
  }
  if (const Json* const type = agent::find(*schema, "type");
      type != nullptr && (!type->is_string() || type->get<std::string>() != "object")) {
    return {};
  }
  Json object = *schema;
  object["type"] = "object";
  return agent::dump(object);
}

// All that are as near as the nearest one; empty: none is near.
std::vector<std::string> nearest_names(std::string_view word, std::span<const std::string> names) {
  std::vector<std::string> nearest;
  for (const std::string& name : names) {
    if (!agent::nearest(word, std::span(&name, 1))) {
      continue;
    }
    const auto nearer = nearest.empty() ? std::optional(name)
                                        : agent::nearest(word, std::array{nearest.front(), name});
    if (nearer == name) {
      nearest.clear();
    }
    if (!nearer || *nearer == name) {
      nearest.push_back(name);
    }
  }
  return nearest;
}

}  // namespace

std::string meant_among(std::string_view word,
                        std::span<const std::string> names,
                        std::string_view prefix) {
  const auto listed = [&](std::span<const std::string> some, std::string_view last) {
    constexpr std::size_t k_most_named = 5;
    const bool is_whole = some.size() <= k_most_named;
    std::string list;
    for (std::size_t at = 0; at < std::min(some.size(), k_most_named); ++at) {
      const bool is_last = is_whole && at + 1 == some.size();
      list += fmt::format("{}`{}{}`",
                          at == 0   ? ""
                          : is_last ? last
                                    : ", ",
                          prefix,
                          agent::one_line(some[at], 64));
    }
    return is_whole ? list : fmt::format("{} and {} more", list, some.size() - k_most_named);
  };
  const bool is_name = TextPattern(word).is_literal();
  if (const auto meant = is_name ? nearest_names(word, names) : std::vector<std::string>();
      !meant.empty()) {
    return fmt::format("; did you mean {}?", listed(meant, " or "));
  }
  return names.empty() ? "; there are none" : "; there are " + listed(names, ", ");
}

std::string definition_of(const Json& item) {
  Json definition = Json::object();
  for (const char* const member : {"description", "inputSchema", "outputSchema"}) {
    if (const Json* const value = agent::find(item, member)) {
      definition[member] = *value;
    }
  }
  return agent::canonical(definition);
}

Server::Server(agent::McpServerSpec spec, const ServersOptions& options, Elicitor& elicitor)
    : spec_(std::move(spec)),
      options_(options),
      elicitor_(elicitor),
      authorizer_(!spec_.is_program() && options.authorizer_of ? options.authorizer_of(spec_)
                                                               : nullptr),
      rng_(options.seed) {}

Result<Server::Connected> Server::connect(Milliseconds start, const std::stop_token& stop) {
  auto session = std::make_shared<Session>(
      SessionOptions{.name = spec_.name,
                     .version = options_.version,
                     .start = start,
                     .trace = options_.trace,
                     .elicit = [this](const Json& params,
                                      const std::stop_token& ends) { return elicit(params, ends); },
                     .told_no = [this](std::string_view why) { count_unasked(why); }});
  auto tools = talk_first(*session, stop);
  if (!tools) {
    session->close();
    take_changes(*session);
    return agent::fail(std::move(tools).error());
  }
  return Connected{.session = std::move(session), .tools = *std::move(tools)};
}

Result<std::vector<Json>> Server::talk_first(Session& session, const std::stop_token& stop) {
  TRY(session.connect([&](Transport::Listener&& listener) { return open(std::move(listener)); },
                      stop));
  session.take_tools_changed();
  const Agreement& agreed = session.agreement();
  std::vector<Json> tools;
  if (agreed.has_tools || !(agreed.has_resources || agreed.has_prompts)) {
    TRY_ASSIGN(tools, session.list_at_start("tools/list", "tools", stop));
  }
  return tools;
}

// All attempts together have as long as one may take: one that hangs is not waited for again.
Result<Server::Connected> Server::connect_in_time(
    Milliseconds most,
    const std::stop_token& stop,
    const std::function<bool(const agent::Error&)>& may_be_again) {
  const auto ends = Steady::now() + most;
  Milliseconds waited{0};
  std::optional<agent::Error> before;
  for (int attempt = 1;; ++attempt) {
    const auto left = std::chrono::ceil<Milliseconds>(ends - Steady::now());
    auto connected = connect(attempt == 1 ? most : left, stop);
    const bool is_cut_short = !connected && before && Steady::now() >= ends;
    if (is_cut_short && !stop.stop_requested()) {
      return agent::fail(*std::move(before));  // what was left of the time says nothing
    }
    if (connected || connected.error().code == Code::run_cancelled ||
        !may_be_again(connected.error())) {
      return connected;
    }
    const auto delay = agent::next_delay(options_.retry, attempt, waited, connected.error(), rng_);
    if (!delay || Steady::now() + *delay >= ends || !options_.clock->sleep_for(*delay, stop)) {
      return connected;
    }
    waited += *delay;
    before = std::move(connected).error();
  }
}

Result<std::unique_ptr<Transport>> Server::open(Transport::Listener&& listener) const {
  if (!spec_.url.empty()) {
    return open_http({.url = spec_.url,
                      .headers = spec_.headers,
                      .is_older_form = spec_.is_older_form,
                      .start = spec_.start,
                      .longest = std::max(spec_.start, spec_.call),
                      .http = options_.http,
                      .authorizer = authorizer_.get()},
                     std::move(listener));
  }
  const ServerPlace place = options_.place_of(spec_);
  ProgramRequest request{.argv = spec_.command,
                         .environment = place.environment,
                         .cwd = place.folder,
                         .temporary = {},
                         .input = {},
                         .timeout = {},
                         .idle_timeout = {}};
  keep_no_modules(request);
  return open_program(*place.runner, request, std::move(listener));
}

Result<void> Server::start(const std::stop_token& stop) {
  const auto ends = Steady::now() + spec_.start;
  auto connected = connect_in_time(
      spec_.start, stop, [](const agent::Error& error) { return asks_for_time(error); });
  if (!connected) {
    agent::Error error = std::move(connected).error();
    if (error.code == Code::mcp_connection && spec_.is_program() && !spec_.sandbox.is_off) {
      error.help += error.help.empty() ? "" : " ";
      error.help +=
          "It starts in the sandbox (`sandbox`): see that its program is there, and that "
          "it may read and write all it needs";
      error.help += spec_.sandbox.network.value_or(false)
                        ? "."
                        : ", and what it needs the network for. A launcher (npx, uvx) cannot fetch "
                          "a package without it.";
    }
    return agent::fail(std::move(error));
  }
  session_ = std::move(connected->session);
  TRY(read_tools(connected->tools, std::max(ends, Steady::now() + k_to_read), stop));
  note_idle_patterns();
  return {};
}

// Of `tools`: one that fits nothing is a typing error, and lets in or leaves out what it should
// not. Before what the server makes to be said, which may be much.
void Server::note_idle_patterns() {
  std::vector<std::string> about_tools = take_unusable();
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const std::string& written : spec_.tools) {
    const std::string_view pattern =
        std::string_view(written).substr(written.starts_with('!') ? 1 : 0);
    const TextPattern text(pattern);
    if (pattern != "*" &&
        std::ranges::none_of(names, [&](const std::string& name) { return text.covers(name); })) {
      note_unusable(fmt::format("`{}` in `tools` fits none of its tools{}",
                                agent::one_line(written, 60),
                                meant_among(pattern, names, "")));
    }
  }
  std::ranges::move(about_tools, std::back_inserter(unusable_));
}

// Headers are not what programs read.
std::expected<std::vector<HeaderMirror>, std::string> Server::mirrors_of(
    const std::string& parameters) const {
  if (spec_.url.empty() || !agreement().is_stateless) {
    return {};
  }
  return header_mirrors(*agent::parse_json(parameters));
}

// What it says goes to the model.
std::string Server::shown_definition(Json item) const {
  options_.redactor->redact(item);
  return definition_of(item);
}

// Those that are new come behind the others.
Result<void> Server::read_tools(const std::vector<Json>& items,
                                Steady::time_point ends,
                                const std::stop_token& stop) {
  if (items.size() > k_most_tools) {
    return agent::fail(Code::mcp_transport,
                       fmt::format("the MCP server `{}` has {} tools, more than {}",
                                   spec_.name,
                                   items.size(),
                                   k_most_tools));
  }
  std::map<std::string, std::string> definitions;
  for (Json item : items) {
    if (stop.stop_requested()) {
      return agent::fail(Code::run_cancelled, "the tools of MCP servers were not all read");
    }
    if (Steady::now() >= ends) {
      return agent::fail(
          Code::mcp_connection,
          fmt::format("the schemas of the MCP server `{}` take too long to be read", spec_.name));
    }
    const std::string name(agent::text_at(item, "name"));
    options_.redactor->redact(item);  // the model reads it
    const bool is_first = definitions.try_emplace(name, definition_of(item)).second;
    if (name.empty()) {
      note_unusable("a tool has no name");
    } else if (name != agent::text_at(item, "name")) {
      note_unusable("a tool is left out: its name has a secret in it");
    } else if (!is_first) {
      note_unusable(fmt::format("two tools are called `{}`: the first one counts",
                                agent::one_line(name, 60)));
    } else if (known_.contains(name)) {
      continue;
    } else if (known_.size() == k_most_tools) {
      note_unusable(fmt::format("it has had {} tools, and no more are taken", k_most_tools));
    } else {
      known_.insert(name);
      read_tool(item, name);
    }
  }
  const std::lock_guard lock(mutex_);
  definitions_ = std::move(definitions);
  return {};
}

void Server::read_tool(const Json& item, const std::string& name) {
  std::string parameters = parameters_of(item);
  if (parameters.empty() || parameters.size() > k_most_schema) {
    note_unusable(fmt::format("the tool `{}` is left out: its schema is {}",
                              agent::one_line(name, 60),
                              parameters.empty() ? "not that of an object" : "too large"));
  } else if (!is_wanted(spec_.tools, name)) {
    hidden_.push_back(name);
  } else if (is_locked_out(item, name)) {
    note_unusable(fmt::format("the tool `{}` is new and not taken, for it is not in the lock",
                              agent::one_line(name, 60)));
  } else if (is_task_alone(item)) {
    note_unusable(
        fmt::format("the tool `{}` is left out: it can only be run as a task "
                    "(`execution.taskSupport: required`), and errand waits for the result of a "
                    "call",
                    agent::one_line(name, 60)));
  } else if (auto mirrors = mirrors_of(parameters); !mirrors) {
    note_unusable(
        fmt::format("the tool `{}` is left out: {}", agent::one_line(name, 60), mirrors.error()));
  } else {
    note_unchecked(name, parameters);
    tools_.push_back({.name = name,
                      .agent_name = {},
                      .description = clean_description(agent::text_at(item, "description")),
                      .parameters = std::move(parameters),
                      .definition = definition_of(item),
                      .mirrors = *std::move(mirrors),
                      .results = results_of(item, name),
                      .only_reads = says_that_it_only_reads(item)});
  }
}

bool Server::is_locked_out(const Json& item, const std::string& name) const {
  if (!lock_) {
    return false;
  }
  const auto locked = lock_->find(name);
  return locked == lock_->end() || locked->second != locked_tool(item, *options_.redactor);
}

void Server::note_unusable(std::string sentence) {
  if (said_.insert(sentence).second) {
    unusable_.push_back(std::move(sentence));
  }
}

bool Server::has_news() const {
  const std::lock_guard lock(mutex_);
  return listed_ || session_->has_news();
}

ToolChanges Server::list_anew(const std::stop_token& stop) {
  ToolChanges found;
  if (auto refusal = session_->take_refusal()) {
    found.sentences.push_back(*std::move(refusal));
  }
  const std::size_t before = tools_.size();
  const auto items = new_list(stop);
  const auto read =
      items && *items ? read_tools(**items, Steady::now() + k_to_read, stop) : Result<void>();
  if (stop.stop_requested()) {
    return found;
  }
  if (!items || !read) {
    for (; tools_.size() > before; tools_.pop_back()) {  // read, and not taken: the list is not
      known_.erase(tools_.back().name);
    }
    const bool is_last = ++failed_lists_ == k_most_failed_lists;
    found.sentences.push_back(
        fmt::format("{}: its tools stay as they were{}",
                    (items ? read.error() : items.error()).message,
                    is_last ? ", and what it says of changes does not count any more" : ""));
    return found;
  }
  for (std::size_t at = before; at < tools_.size(); ++at) {
    found.added.push_back(&tools_[at]);
  }
  std::ranges::move(changes(), std::back_inserter(found.sentences));
  return found;
}

// nullopt: there is no other one.
Result<std::optional<std::vector<Json>>> Server::new_list(const std::stop_token& stop) {
  std::optional<std::vector<Json>> listed;
  {
    const std::lock_guard lock(mutex_);
    listed = std::exchange(listed_, std::nullopt);
  }
  if (!session_->take_tools_changed() || session_->is_over() ||
      failed_lists_ >= k_most_failed_lists) {
    return listed;
  }
  const Milliseconds most = std::min(spec_.start, k_longest_list);
  TRY_ASSIGN(ItemList list,
             session_->list("tools/list", "tools", {.stop = stop, .most = most, .silence = most}));
  return std::move(list.items);
}

// Of those that the model was shown, in sentences: each once.
std::vector<std::string> Server::changes() {
  std::vector<std::string> sentences;
  for (const OfferedTool& tool : tools_) {
    auto change = change_of(tool);
    if (change && said_.insert(tool.name).second) {
      sentences.push_back(*std::move(change));
    }
  }
  return sentences;
}

// The schema of structured content. Empty: there is none by which it could be checked.
std::string Server::results_of(const Json& item, const std::string& name) {
  const Json* const schema = agent::find(item, "outputSchema");
  if (schema == nullptr) {
    return {};
  }
  std::string text = agent::dump(*schema);
  const auto usable = agent::JsonSchema::compile(*schema, agent::JsonSchema::Draft::draft_2020_12);
  if (text.size() <= k_most_schema && usable) {
    return text;
  }
  note_unusable(fmt::format("the results of `{}` are not checked: {}",
                            agent::one_line(name, 60),
                            usable ? "its `outputSchema` is too large" : usable.error().message));
  return {};
}

void Server::note_unchecked(const std::string& name, const std::string& parameters) {
  const auto schema = agent::JsonSchema::compile(*agent::parse_json(parameters),
                                                 agent::JsonSchema::Draft::draft_2020_12);
  if (!schema) {
    note_unusable(fmt::format("the arguments of `{}` are not checked before the call: {}",
                              agent::one_line(name, 60),
                              schema.error().message));
  }
}

// One caller starts it, the others wait.
Result<std::shared_ptr<Session>> Server::living_session(Milliseconds most,
                                                        const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (session_->is_over()) {
    if (session_->lost_by() == 0) {  // else calls that it took are still waited for
      take_changes(*session_);
    }
    TRY_ASSIGN(Connected connected, start_again(std::min(most, spec_.start), stop));
    session_ = std::move(connected.session);
    definitions_.clear();
    for (const Json& item : connected.tools) {
      definitions_.try_emplace(std::string(agent::text_at(item, "name")), shown_definition(item));
    }
    listed_ = std::move(connected.tools);
  }
  return session_;
}

Result<Server::Connected> Server::start_again(Milliseconds most, const std::stop_token& stop) {
  const ServerPlace place = spec_.url.empty() ? options_.place_of(spec_) : ServerPlace();
  const auto changed = place.changed ? place.changed() : std::filesystem::path();
  if (!changed.empty()) {
    return agent::fail(
        Code::mcp_initialization,
        fmt::format("the MCP server `{}` has ended and is not started again: `{}`, which its "
                    "command names, has changed since the run began",
                    spec_.name,
                    agent::one_line(changed.string(), 200)),
        "where the server itself writes that file, name it in `write` of its `sandbox`");
  }
  return connect_in_time(most, stop, [](const agent::Error&) { return true; });
}

void Server::take_changes(Session& session) {
  const sandbox::ProtectedEnd looked = session.end();
  for (const sandbox::ProtectedChange& change : looked.changes) {
    if (change.outcome != sandbox::ProtectedChange::Outcome::noticed) {
      left_.push_back({.sentence = fmt::format(
                           "what git or errand obeys was changed while the MCP server `{}` ran: {}",
                           spec_.name,
                           change_text(change)),
                       .ends_as = end_with(change)});
    }
  }
  if (looked.trouble) {
    left_.push_back({.sentence = looked.trouble->message, .ends_as = looked.trouble->code});
  }
}

void Server::end() {
  const std::lock_guard lock(mutex_);
  if (session_) {  // else it has not started
    take_changes(*session_);
  }
}

std::vector<agent::Leftover> Server::take_leftovers() {
  const std::lock_guard lock(mutex_);
  std::vector<agent::Leftover> left = std::exchange(left_, {});
  if (const std::string end = authorizer_ ? authorizer_->end_of_login() : ""; !end.empty()) {
    if (said_.insert(end).second) {
      left.push_back({.sentence = fmt::format("the MCP server `{}` {}", spec_.name, end)});
    }
  }
  const std::lock_guard asked(unasked_mutex_);
  for (const auto& [why, times] : std::exchange(unasked_, {})) {
    left.push_back({.sentence = fmt::format("the MCP server `{}` asked {}, and was told no: {}",
                                            spec_.name,
                                            times == 1 ? "once" : fmt::format("{} times", times),
                                            why)});
  }
  return left;
}

Json Server::elicit(const Json& params, const std::stop_token& stop) {
  auto [result, unasked] = elicitor_.answer(spec_, params, stop);
  if (!unasked.empty()) {
    count_unasked(unasked);
  }
  return result;
}

void Server::count_unasked(std::string_view why) {
  const std::lock_guard lock(unasked_mutex_);
  ++unasked_[why];
}

// To what a result asks for before it is one.
Result<Json> Server::answers_to(const Json& result, const std::stop_token& stop) {
  const auto not_offered = [&] {
    return agent::fail(
        Code::mcp_tool_call,
        fmt::format("the MCP server `{}` asks for what was not offered to it", spec_.name));
  };
  Json answers = Json::object();
  const Json* const requests = agent::find(result, "inputRequests");
  const bool asks_nothing = requests == nullptr || requests->is_null() || requests->empty();
  if (asks_nothing && agent::find(result, "requestState") == nullptr) {
    return agent::fail(
        Code::mcp_tool_call,
        fmt::format("the MCP server `{}` wants to know more, and does not say what", spec_.name));
  }
  if (requests == nullptr) {
    return answers;
  }
  if (!requests->is_object()) {
    return not_offered();
  }
  if (requests->size() > k_most_questions) {
    return agent::fail(Code::mcp_tool_call,
                       fmt::format("the MCP server `{}` asks {} questions at once, more than {}",
                                   spec_.name,
                                   requests->size(),
                                   k_most_questions));
  }
  const auto is_offered = [](const Json& request) {
    return agent::text_at(request, "method") == "elicitation/create" &&
           agent::find(request, "params") != nullptr;
  };
  if (!std::ranges::all_of(*requests, is_offered)) {
    return not_offered();  // before a person answers the others for nothing
  }
  for (const auto& [key, request] : requests->items()) {
    answers[key] = elicit(*agent::find(request, "params"), stop);
  }
  return answers;
}

std::unexpected<agent::Error> Server::unknown(std::string_view result_type) const {
  return agent::fail(Code::mcp_tool_call,
                     fmt::format("the MCP server `{}` answers with a result of a kind that errand "
                                 "does not know: `{}`",
                                 spec_.name,
                                 agent::one_line(result_type, 60)));
}

Result<void> Server::check_may_ask() const {
  auto killed = options_.killed ? options_.killed() : std::nullopt;
  return killed ? agent::fail(*std::move(killed)) : Result<void>();
}

// As often as the server wants to know more; what it gives with a question it gets back as it is.
Result<Json> Server::ask(Session& session, Question question, const Waiting& waiting) {
  for (int answers = 0;; ++answers) {
    TRY_ASSIGN(Json result, session.request(question, waiting));
    const std::string_view type = agent::text_at(result, "resultType");
    if (!session.agreement().is_stateless || type.empty() || type == "complete") {
      return result;  // no other revision has kinds of results
    }
    if (type != "input_required") {
      return unknown(type);
    }
    if (answers == k_most_answers) {
      return agent::fail(
          Code::mcp_tool_call,
          fmt::format("the MCP server `{}` still asks after {} answers", spec_.name, answers));
    }
    TRY_ASSIGN(question.params["inputResponses"], answers_to(result, waiting.stop));
    if (waiting.stop.stop_requested()) {
      return agent::fail(
          Code::run_cancelled,
          fmt::format("stopped while the MCP server `{}` waited for an answer", spec_.name));
    }
    TRY(check_may_ask());
    question.params.erase("requestState");
    if (const Json* const state = agent::find(result, "requestState")) {
      question.params["requestState"] = *state;
    }
  }
}

// What `ask` makes of the session that is alive, which it may do again where the server has not
// taken it. All of that has the time of one call, a new start included.
Result<Json> Server::answered(const Asking& ask,
                              std::function<void(std::string_view)> on_progress,
                              const std::stop_token& stop) {
  Waiting waiting{.stop = stop,
                  .most = spec_.call,
                  .silence = spec_.silence,
                  .on_progress = std::move(on_progress)};
  Milliseconds waited{0};
  for (int attempt = 1;; ++attempt) {
    const auto begins = Steady::now();
    TRY_ASSIGN(const auto session, living_session(waiting.most - waiting.spent, stop));
    TRY(check_may_ask());  // both may have taken long
    waiting.spent += std::chrono::ceil<Milliseconds>(Steady::now() - begins);
    const auto asks = Steady::now();
    auto result = ask(*session, waiting);
    if (result) {
      return result;
    }
    const auto delay = delay_of(*session, result.error(), attempt, waited);
    if (!delay) {
      return result;
    }
    waiting.spent += std::chrono::ceil<Milliseconds>(Steady::now() - asks) + *delay;
    if (waiting.spent >= waiting.most) {
      return agent::fail(without_time(std::move(result).error()));
    }
    if (waiting.on_progress && delay->count() > 0) {
      waiting.on_progress(fmt::format("{}: the call is made again in {}\n",
                                      agent::one_line(result.error().message, k_shown_of_wait),
                                      agent::format_duration(*delay)));
    }
    if (!options_.clock->sleep_for(*delay, stop)) {
      return result;
    }
    waited += *delay;
  }
}

Output Server::call(const OfferedTool& tool, const Json& arguments, const CallContext& context) {
  const auto ask = [&](Session& session, const Waiting& waiting) -> Result<Json> {
    if (auto refusal = refusal_of(tool)) {
      return agent::fail(*std::move(refusal));
    }
    const bool has_headers = session.agreement().is_stateless;
    return this->ask(
        session,
        {.method = "tools/call",
         .params = {{"name", tool.name}, {"arguments", arguments}},
         .name = tool.name,
         .mirrors = has_headers ? mirrored(tool.mirrors, arguments) : agent::Headers{}},
        waiting);
  };
  const CallEnd end(context);
  const auto result = answered(ask, context.on_output, end.token());
  return result ? output_of(*result, context.temporary, tool.results) : failure_of(result.error());
}

Result<ItemList> Server::list(std::string_view method,
                              std::string_view member,
                              std::size_t enough,
                              const std::stop_token& stop) {
  ItemList list;
  const auto ask = [&](Session& session, const Waiting& waiting) -> Result<Json> {
    TRY_ASSIGN(list, session.list(method, member, waiting, enough));
    return Json();
  };
  TRY(answered(ask, {}, stop));
  return list;
}

Result<Json> Server::read_resource(const std::string& uri,
                                   std::function<void(std::string_view)> on_progress,
                                   const std::stop_token& stop) {
  const auto ask = [&](Session& session, const Waiting& waiting) {
    return this->ask(
        session, {.method = "resources/read", .params = {{"uri", uri}}, .name = uri}, waiting);
  };
  return answered(ask, std::move(on_progress), stop);
}

Result<Json> Server::get_prompt(const std::string& name,
                                const std::map<std::string, std::string>& arguments,
                                const std::stop_token& stop) {
  const auto ask = [&](Session& session, const Waiting& waiting) {
    return this->ask(session,
                     {.method = "prompts/get",
                      .params = {{"name", name}, {"arguments", arguments}},
                      .name = name},
                     waiting);
  };
  return answered(ask, {}, stop);
}

// Before a call is made again: only one that the server says it has not taken.
std::optional<Milliseconds> Server::delay_of(const Session& session,
                                             const agent::Error& error,
                                             int attempt,
                                             Milliseconds waited) {
  if (error.http_status != 0 && error.http_status == session.lost_by()) {
    return attempt == 1 ? std::optional(Milliseconds{0}) : std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  return asks_for_time(error) ? agent::next_delay(options_.retry, attempt, waited, error, rng_)
                              : std::nullopt;
}

agent::Error Server::without_time(agent::Error error) const {
  error.message += fmt::format("; `timeouts.call` ({}) leaves no time to ask it again",
                               agent::format_duration(spec_.call));
  error.help = "`timeouts.call` of the server says how long all tries of a call may take.";
  return error;
}

std::optional<agent::Error> Server::refusal_of(const OfferedTool& tool) {
  {
    const std::lock_guard lock(mutex_);
    if (!definitions_.contains(tool.name)) {
      return agent::Error{
          .code = Code::mcp_tool_call,
          .message = fmt::format("the MCP server `{}` does not offer its tool `{}` any more",
                                 spec_.name,
                                 agent::one_line(tool.name, 60)),
          .help = {}};
    }
  }
  auto change = change_of(tool);
  if (!change) {
    return std::nullopt;
  }
  return agent::Error{.code = Code::tool_policy_blocked, .message = *std::move(change), .help = {}};
}

// Since it was offered, in a sentence; nullopt: it is the same, or not there.
std::optional<std::string> Server::change_of(const OfferedTool& tool) const {
  std::string definition;
  {
    const std::lock_guard lock(mutex_);
    const auto now = definitions_.find(tool.name);
    if (now == definitions_.end() || now->second == tool.definition) {
      return std::nullopt;
    }
    definition = now->second;
  }
  const auto locked = [&](const std::string& text) {
    return locked_tool(*agent::parse_json(text), *options_.redactor);
  };
  return fmt::format(
      "the tool `{}` of the MCP server `{}` is another one now, and refused as long as it is: {}",
      agent::one_line(tool.name, 60),
      spec_.name,
      change(locked(tool.definition), locked(definition)));
}

void Server::close() {
  const std::lock_guard lock(mutex_);
  if (session_) {
    session_->close();
  }
}

}  // namespace tools::mcp
