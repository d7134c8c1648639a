#include "tools/permissions/permissions.h"

#include "agent/text.h"
#include "agent/tool_name.h"
#include "tools/permissions/command_line.h"
#include "tools/permissions/offered_rule.h"
#include "tools/permissions/plain_command.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

namespace tools {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::fail;
using agent::Result;
using Kind = Access::Kind;
using Standard = agent::PermissionSpec::Standard;

// Rules that forbid paths to these tools forbid them to every other way of doing the same.
constexpr std::string_view k_reader = "read_file";
constexpr std::string_view k_writer = "write_file";
constexpr std::string_view k_fetcher = "web_fetch";

constexpr const char* k_forms =
    "a rule is a tool, or a tool and what it may do: read_*, shell, shell(git diff *), "
    "write_file(src/**), web_fetch(https://docs.example.com/*)";

struct Parts {
  std::string_view tool;
  std::optional<std::string_view> argument;
};

bool is_tool_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '*' || c == '?';
}

Result<Parts> split(std::string_view rule) {
  const std::size_t open = std::min(rule.find('('), rule.size());
  const Parts parts{
      .tool = rule.substr(0, open),
      .argument = open < rule.size() ? std::optional(rule.substr(open + 1)) : std::nullopt};
  if (parts.tool.empty() || !std::ranges::all_of(parts.tool, is_tool_character)) {
    return fail(Code::config_invalid,
                fmt::format("`{}` is not a rule: it names no tool", agent::one_line(rule, 100)),
                k_forms);
  }
  if (!parts.argument) {
    return parts;
  }
  if (!rule.ends_with(')') || parts.argument->size() < 2) {
    return fail(Code::config_invalid,
                fmt::format("`{}` is not a rule: {}",
                            agent::one_line(rule, 100),
                            rule.ends_with(')') ? "nothing is between ( and )"
                                                : "a `(` has no `)` at the end"),
                k_forms);
  }
  return Parts{.tool = parts.tool,
               .argument = parts.argument->substr(0, parts.argument->size() - 1)};
}

// Commands may have several lines, and paths anything.
bool is_control(char c) {
  return c >= '\0' && c < ' ' && c != '\n' && c != '\t';
}

std::string named(std::string_view list, const agent::PermissionRule& rule) {
  return fmt::format("`{}: {}` ({})", list, rule.text, rule.origin);
}

constexpr std::string_view k_of_servers = "mcp__";
constexpr std::string_view k_finder = "find_tools";
constexpr std::string_view k_resources = "mcp_resources";
constexpr std::string_view k_other_name = "it has other names (hard links)";

// By the name at hand, or perhaps by another one.
Match forbids_file(const PathPattern& pattern, const fs::path& file) {
  return pattern.forbids(file) ? Match::yes : pattern.forbids_other_name(file);
}

std::string denied_by(const agent::PermissionRule& rule, Match match) {
  return match == Match::yes
             ? named("deny", rule) + " forbids it"
             : fmt::format("{}, and {} may forbid it", k_other_name, named("deny", rule));
}

// A rule without wildcards, as one that is offered for a line, stands for that line as it is. It is
// a rule for a command, however that is quoted, only where a shell takes its text for that command:
// `rm -r a; ls b` is none for `rm -r 'a;' ls b`.
std::optional<CommandPattern> command_of(std::string_view argument, const TextPattern& text) {
  CommandPattern pattern(argument);
  if (!text.is_literal()) {
    return pattern;
  }
  const auto line = read_plain(text.literal());
  const bool is_it = line && line->size() == 1 && line->front().files.empty() &&
                     line->front().assignments.empty() && pattern.is(line->front().words);
  return is_it ? std::optional(std::move(pattern)) : std::nullopt;
}

// From the working folder or `/`: a `~` in front would be the home folder.
std::string pattern_from(const fs::path& path) {
  const std::string pattern = literal_path(path);
  return pattern.starts_with('~') ? "./" + pattern : pattern;
}

// What rules of `deny` and `ask` are about: also a tool that has a digest behind the name that they
// say, because another one came to be called so, or because it is too long, and one that has lost
// its digest.
bool holds_back(const TextPattern& rule, std::string_view tool) {
  const std::string_view stem = agent::without_digest(tool);
  return rule.covers(tool) || rule.covers(stem) ||
         (rule.is_literal() && agent::without_digest(rule.literal()) == tool) ||
         (tool.size() == agent::k_longest_tool_name && stem != tool && rule.is_literal() &&
          rule.literal().starts_with(stem));
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const std::string one = path.string();
  const std::string start = folder.string();
  return one == start || start == "/" || one.starts_with(start + "/");
}

// Whether the rule can be about a tool whose name begins so.
bool may_begin_with(std::string_view tool, std::string_view beginning) {
  const std::string_view literal = tool.substr(0, tool.find_first_of("*?"));
  return literal.starts_with(beginning) ||
         (literal.size() < tool.size() && beginning.starts_with(literal));
}

constexpr std::size_t k_longest = 45;  // longer names of servers' tools are cut

Result<void> check_server(std::string_view rule,
                          std::string_view tool,
                          std::span<const std::string> tool_names) {
  std::vector<std::string> known;
  bool is_about_one = tool_names.empty();
  for (const std::string& name : tool_names) {
    if (name.starts_with(k_of_servers)) {
      std::string all = fmt::format("`{}*`", name);
      if (std::ranges::find(known, all) == known.end()) {
        known.push_back(std::move(all));
      }
      is_about_one = is_about_one || name.size() > k_longest || may_begin_with(tool, name);
    }
  }
  if (is_about_one) {
    return {};
  }
  return fail(
      Code::config_invalid,
      fmt::format("the rule `{}` is about no MCP server of this agent", agent::one_line(rule, 100)),
      known.empty() ? "the agent has none"
                    : fmt::format("all tools of a server: {}", fmt::join(known, ", ")));
}

// As a call's arguments are compared: keys in their order, and no blanks between the parts. What is
// no JSON, for its wildcards, loses the blanks alone.
std::string as_arguments(std::string_view text) {
  if (const auto json = agent::parse_json(text); json && json->is_object()) {
    return agent::canonical_value(*json);
  }
  std::string without;
  bool is_in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    is_in_text = is_in_text != (text[at] == '"' && (at == 0 || text[at - 1] != '\\'));
    if (is_in_text || text[at] != ' ') {
      without += text[at];
    }
  }
  return text.starts_with('{') ? without : std::string(text);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::allow:
      return "allow";
    case Verdict::ask:
      return "ask";
    case Verdict::deny:
      return "deny";
  }
  return "";
}

// One call, with what rules need to know of it.
struct Permissions::Call {
  std::string_view tool;
  const Access& access;
  fs::path path;                      // absolute, as it was asked for
  std::unique_ptr<CommandLine> line;  // of a command line
  std::optional<Url> url;

  bool is_file() const {
    return access.kind == Kind::names || access.kind == Kind::reads || access.kind == Kind::writes;
  }
};

std::vector<agent::Warning> idle_patterns(std::span<const agent::PermissionRule> rules,
                                          std::span<const std::string> tool_names) {
  std::vector<agent::Warning> warnings;
  for (const agent::PermissionRule& rule : rules) {
    const std::string_view tool = std::string_view(rule.text).substr(0, rule.text.find('('));
    const TextPattern pattern(tool);
    const auto fits = [&](std::string_view name) {
      return pattern.covers(name) || (name.starts_with(k_of_servers) && name.ends_with("__") &&
                                      (name.size() > k_longest || may_begin_with(tool, name)));
    };
    if (!pattern.is_literal() && std::ranges::none_of(tool_names, fits) && !fits(k_finder) &&
        !fits(k_resources)) {
      warnings.push_back(
          {.message = fmt::format(
               "the rule `{}` ({}) is about no tool", agent::one_line(rule.text, 100), rule.origin),
           .help = "`errand tools list AGENT` and `errand mcp tools AGENT` have the names",
           .kind = "idle_rule"});
    }
  }
  return warnings;
}

Result<void> check_rule(std::string_view rule, std::span<const std::string> tool_names) {
  TRY_ASSIGN(const Parts parts, split(rule));
  const TextPattern tool(parts.tool);
  const bool is_of_paths = std::ranges::find(file_tools(), parts.tool) != file_tools().end();
  if (!is_of_paths && std::ranges::any_of(rule, is_control)) {
    return fail(
        Code::config_invalid,
        fmt::format("`{}` is not a rule: it holds a control character", agent::one_line(rule, 100)),
        "write it without; `?` stands for one character, `*` for any number of them");
  }
  const bool is_of_servers =
      parts.tool.starts_with(k_of_servers) || parts.tool == k_finder || parts.tool == k_resources;
  if (parts.tool.starts_with(k_of_servers)) {
    TRY(check_server(rule, parts.tool, tool_names));
  }
  if (parts.tool == k_resources && parts.argument) {
    const std::string server =
        agent::percent_decoded(parts.argument->substr(0, parts.argument->find(' ')));
    if (TextPattern(server).is_literal()) {
      TRY(check_server(rule, agent::McpServerSpec{.name = server}.tool_prefix(), tool_names));
    }
  }
  if (!tool_names.empty() && tool.is_literal() && !is_of_servers &&
      std::ranges::find(tool_names, parts.tool) == tool_names.end()) {
    const auto meant = agent::nearest(parts.tool, tool_names);
    return fail(
        Code::config_invalid,
        fmt::format("the rule `{}` names a tool that does not exist", agent::one_line(rule, 100)),
        meant ? fmt::format("did you mean `{}`?", *meant)
              : fmt::format("one of: {}", fmt::join(tool_names, ", ")));
  }
  const bool is_of_files =
      std::ranges::any_of(file_tools(), [&](std::string_view name) { return tool.covers(name); });
  if (parts.argument && is_of_files && !tool.covers("shell")) {
    TRY(PathPattern::compile(*parts.argument, {.cwd = "/", .home = "/"}));
  }
  if (parts.argument && tool.is_literal() && parts.tool == k_fetcher) {
    TRY(UrlPattern::compile(*parts.argument));
  }
  return {};
}

Result<Permissions::Rule> Permissions::parse(const agent::PermissionRule& source,
                                             const PermissionWorld& world) {
  TRY_ASSIGN(const Parts parts, split(source.text));
  Rule rule{.source = source, .tool = TextPattern(parts.tool)};
  if (parts.argument) {
    rule.text = TextPattern(*parts.argument);
    rule.json = TextPattern(as_arguments(*parts.argument));
    rule.command = command_of(*parts.argument, *rule.text);
    const PathPattern::Folders folders{
        .cwd = world.cwd,
        .home = world.home,
        .start = source.folder.empty() ? fs::path() : true_path(source.folder)};
    if (auto path = PathPattern::compile(*parts.argument, folders)) {
      rule.path = std::move(*path);
    }
    if (auto url = UrlPattern::compile(*parts.argument)) {
      rule.url = std::move(*url);
    }
  }
  return rule;
}

Result<void> Permissions::read(const std::vector<agent::PermissionRule>& from,
                               std::vector<Rule>& to) const {
  for (const agent::PermissionRule& source : from) {
    auto checked = check_rule(source.text, {});
    if (!checked) {
      return fail(std::move(checked).error().while_("reading the rules of " + source.origin));
    }
    TRY_ASSIGN(Rule rule, parse(source, world_));
    to.push_back(std::move(rule));
  }
  return {};
}

Result<Permissions> Permissions::create(const agent::PermissionSpec& spec, PermissionWorld world) {
  world.cwd = true_path(world.cwd);
  world.temporary = world.temporary.empty() ? fs::path() : true_path(world.temporary);
  Permissions made(std::move(world));
  made.standard_ = spec.standard;
  made.standard_origin_ = spec.standard_origin;
  TRY(made.read(spec.deny, made.deny_));
  TRY(made.read(spec.granted, made.granted_));
  TRY(made.read(spec.ask, made.ask_));
  TRY(made.read(spec.allow, made.allow_));
  return made;
}

Result<void> Permissions::grant(std::string rule) {
  for (Permissions& above : above_) {
    TRY(above.grant(rule));
  }
  return read({{.text = std::move(rule), .origin = "a person"}}, granted_);
}

bool Permissions::denies_by_rule(std::string_view tool) const {
  const auto denies = [&](const Permissions& above) { return above.denies_by_rule(tool); };
  return std::ranges::any_of(above_, denies) || std::ranges::any_of(deny_, [&](const Rule& rule) {
           return !rule.text && holds_back(rule.tool, tool);
         });
}

bool Permissions::always_denies(std::string_view tool) const {
  const auto denies = [&](const Permissions& above) { return above.always_denies(tool); };
  if (denies_by_rule(tool) || std::ranges::any_of(above_, denies)) {
    return true;
  }
  const auto names = [&](const Rule& rule) { return rule.tool.covers(tool); };
  const auto holds = [&](const Rule& rule) { return holds_back(rule.tool, tool); };
  return standard_ == Standard::deny && std::ranges::none_of(allow_, names) &&
         std::ranges::none_of(ask_, holds) && std::ranges::none_of(granted_, names);
}

bool Permissions::tells_apart(std::string_view written, std::string_view meant) const {
  const auto tells = [&](const Permissions& above) { return above.tells_apart(written, meant); };
  const auto is_apart = [&](const Rule& rule) {
    return holds_back(rule.tool, written) && !holds_back(rule.tool, meant);
  };
  return std::ranges::any_of(above_, tells) || std::ranges::any_of(deny_, is_apart) ||
         std::ranges::any_of(ask_, is_apart);
}

bool Permissions::covers(std::string_view rule, std::string_view tool, const Access& access) const {
  const auto parsed = parse({.text = std::string(rule), .origin = {}}, world_);
  const Call call{.tool = tool,
                  .access = access,
                  .path = world_.cwd / access.target,
                  .line = nullptr,
                  .url = std::nullopt};
  return parsed && call.is_file() && allows(*parsed, call);
}

std::optional<std::string> Permissions::reading_denied(const fs::path& file) const {
  for (const Permissions& above : above_) {
    if (auto why = above.reading_denied(file)) {
      return why;
    }
  }
  std::optional<std::string> doubt;
  for (const Rule& rule : deny_) {
    const Match match =
        rule.path && rule.tool.covers(k_reader) ? forbids_file(*rule.path, file) : Match::no;
    if (match == Match::yes) {
      return denied_by(rule.source, match);
    }
    if (match == Match::maybe && !doubt) {
      doubt = denied_by(rule.source, match);
    }
  }
  return doubt;
}

bool Permissions::may_write(const fs::path& file, std::string_view tool) const {
  const auto allows = [&](const Permissions& above) { return above.may_write(file, tool); };
  return std::ranges::all_of(above_, allows) && std::ranges::none_of(deny_, [&](const Rule& rule) {
           const bool is_about_it = rule.tool.covers(k_writer) || rule.tool.covers(tool);
           return rule.path && is_about_it && rule.path->forbids(file);
         });
}

DeniedPlaces Permissions::denied_places() const {
  DeniedPlaces places;
  for (const Permissions& above : above_) {
    auto [reading, writing] = above.denied_places();
    std::ranges::move(reading, std::back_inserter(places.reading));
    std::ranges::move(writing, std::back_inserter(places.writing));
  }
  for (const Rule& rule : deny_) {
    const auto place = rule.path ? rule.path->place() : std::nullopt;
    if (place && rule.tool.covers(k_reader)) {
      places.reading.push_back(*place);
    }
    if (place && rule.tool.covers(k_writer)) {
      places.writing.push_back(*place);
    }
  }
  return places;
}

// What a program opens by itself stands in no command line: that is the sandbox's.
bool Permissions::is_kept_from_programs(const Rule& rule) const {
  const bool is_of_reading = rule.path && rule.tool.covers(k_reader);
  const bool is_of_writing = rule.path && rule.tool.covers(k_writer);
  if (!is_of_reading && !is_of_writing) {
    return true;
  }
  const auto place = rule.path->place();
  return place && world_.keeps && (!is_of_reading || world_.keeps(*place, false)) &&
         (!is_of_writing || world_.keeps(*place, true));
}

Match Permissions::forbids(const Rule& rule, const Call& call) const {
  const bool names_it = holds_back(rule.tool, call.tool);
  if (!rule.text) {
    return names_it ? Match::yes : Match::no;
  }
  const bool is_of_reading = rule.path && rule.tool.covers(k_reader);
  const bool is_of_writing = rule.path && rule.tool.covers(k_writer);
  switch (call.access.kind) {
    case Kind::nothing:
      return Match::no;
    case Kind::names:
      return names_it && rule.path && rule.path->forbids(call.path, true) ? Match::yes : Match::no;
    case Kind::reads:
    case Kind::writes: {
      // What edits a file shows parts of it.
      const bool is_read = call.access.kind == Kind::reads || call.tool != k_writer;
      const bool is_written = call.access.kind == Kind::writes;
      const bool is_about_it =
          names_it || (is_of_reading && is_read) || (is_of_writing && is_written);
      return is_about_it && rule.path ? forbids_file(*rule.path, call.path) : Match::no;
    }
    case Kind::commands: {
      using Effect = CommandLine::Effect;
      Match match = names_it ? call.line->forbidden_by(*rule.text) : Match::no;
      if (is_of_reading) {
        match = std::max(match, call.line->forbidden_by(*rule.path, Effect::reads));
      }
      if (is_of_writing) {
        match = std::max(match, call.line->forbidden_by(*rule.path, Effect::writes));
      }
      const bool could_hide = names_it || is_of_reading || is_of_writing;
      return could_hide && !call.line->unclear().empty() ? std::max(match, Match::maybe) : match;
    }
    case Kind::fetches:
      return !names_it || !rule.url ? Match::no
             : call.url             ? rule.url->forbids(*call.url)
                                    : Match::yes;
    case Kind::program:
    case Kind::server:
      return names_it && rule.json->covers(call.access.target) ? Match::yes : Match::no;
  }
  return Match::no;
}

bool Permissions::allows(const Rule& rule, const Call& call) const {
  if (!rule.tool.covers(call.tool)) {
    return false;
  }
  if (!rule.text || call.access.kind == Kind::nothing) {
    return true;
  }
  if (call.is_file()) {
    return rule.path && rule.path->allows(true_path(call.path));
  }
  if (call.access.kind == Kind::fetches) {
    return rule.url && call.url && rule.url->allows(*call.url);
  }
  if (call.access.kind == Kind::server || call.access.kind == Kind::program) {
    return rule.json->covers(call.access.target);
  }
  return call.access.kind == Kind::commands ? call.line->is_exactly(*rule.text)
                                            : rule.text->covers(call.access.target);
}

// Nothing in it stands for anything else than this call.
bool Permissions::is_exact(const Rule& rule, const Call& call) {
  if (call.is_file()) {
    return rule.path && rule.path->is_of_names();
  }
  if (call.url) {
    return rule.text && rule.text->is_literal() &&
           rule.text->covers(agent::trimmed(call.access.target));
  }
  return call.line == nullptr || (rule.text && call.line->is_exactly(*rule.text));
}

// Rules together: each command of a line may be allowed by another one. Not, and without a reason,
// where no rule speaks of this tool's commands.
std::expected<void, std::string> Permissions::is_allowed_line(const Call& call) const {
  std::vector<const CommandPattern*> patterns;
  for (const std::vector<Rule>* rules : {&granted_, &allow_}) {
    for (const Rule& rule : *rules) {
      if (rule.command && rule.tool.covers(call.tool)) {
        patterns.push_back(&*rule.command);
      }
    }
  }
  if (call.line == nullptr || patterns.empty()) {
    return std::unexpected("");
  }
  return call.line->allowed_by(patterns,
                               [&](const fs::path& file) { return is_allowed_to_write(file); });
}

bool Permissions::is_allowed_to_write(const fs::path& file) const {
  const Access access{.kind = Kind::writes, .target = file.string()};
  return judge(k_writer, access).verdict == Verdict::allow;
}

std::string Permissions::unclear_reason(const Call& call) const {
  if (call.is_file()) {
    return std::string(k_other_name);
  }
  return call.line != nullptr && !call.line->unclear().empty()
             ? fmt::format("it cannot be determined what the command runs ({})",
                           call.line->unclear().front())
             : std::string();
}

// The rule that stands for this call alone.
std::string Permissions::yes_rule(const Call& call) const {
  if (call.access.kind == Kind::nothing || call.access.target.empty()) {
    return std::string(call.tool);
  }
  if (!call.is_file()) {
    return fmt::format("{}({})", call.tool, literal_pattern(bare_line(call.access.target)));
  }
  const fs::path real = true_path(call.path);
  const fs::path shown = is_below(real, world_.cwd) ? real.lexically_relative(world_.cwd) : real;
  std::error_code error;
  if (call.access.kind != Kind::names && !fs::is_directory(real, error)) {
    return fmt::format("{}({})", call.tool, pattern_from(shown));
  }
  const std::string folder = shown == "." ? "" : shown == "/" ? "/" : pattern_from(shown) + "/";
  return fmt::format("{}({}**)", call.tool, folder);
}

// Read as any rule that somebody writes down.
bool Permissions::stands_for(const std::string& rule, const Call& call, bool is_in_doubt) const {
  if (!agent::is_valid_utf8(rule) || !check_rule(rule, {})) {
    return false;
  }
  const auto parsed = parse({.text = rule, .origin = {}}, world_);
  return parsed && allows(*parsed, call) && (!is_in_doubt || is_exact(*parsed, call));
}

// The same for several files; where that is too long for a rule, for their common folder.
PermissionDecision Permissions::asked_for(std::string_view tool,
                                          const std::vector<fs::path>& files,
                                          PermissionDecision decision) const {
  const bool are_here =
      std::ranges::all_of(files, [&](const fs::path& file) { return is_below(file, world_.cwd); });
  const fs::path base = are_here ? world_.cwd : fs::path("/");
  std::string list;
  fs::path common = files.front().parent_path();
  for (const fs::path& file : files) {
    list += (list.empty() ? "" : ",") + literal_path(file.lexically_relative(base));
    while (!is_below(file, common)) {
      common = common.parent_path();
    }
  }
  const std::string start = are_here ? "" : "/";
  std::string pattern = fmt::format("{}{{{}}}", start, list);
  const auto read = PathPattern::compile(pattern, {.cwd = world_.cwd, .home = world_.home});
  if (!read ||
      !std::ranges::all_of(files, [&](const fs::path& one) { return read->allows(one); })) {
    const fs::path folder = common.lexically_relative(base);
    pattern = folder == "." ? start + "**"
              : are_here    ? pattern_from(folder) + "/**"
                            : start + literal_path(folder) + "/**";
    decision.may_always = false;
  }
  decision.yes_rule = fmt::format("{}({})", tool, pattern);
  decision.may_always = decision.may_always && agent::is_valid_utf8(decision.yes_rule);
  return decision;
}

PermissionDecision Permissions::automatic(const Call& call) const {
  const auto asks = [](std::string reason) {
    return PermissionDecision{.verdict = Verdict::ask, .reason = std::move(reason)};
  };
  const fs::path real = call.is_file() ? true_path(call.path) : fs::path();
  const bool is_here = call.is_file() && is_below(real, world_.cwd);
  switch (call.access.kind) {
    case Kind::nothing:
      return {.reason = "it touches nothing"};
    case Kind::names:
    case Kind::reads: {
      const bool is_own = !world_.temporary.empty() && is_below(real, world_.temporary);
      return is_here || is_own || world_.confined.files
                 ? PermissionDecision{.reason = "it only reads"}
                 : asks("it reads outside the working folder");
    }
    case Kind::writes: {
      if (world_.confined.files) {
        return {.reason = "the sandbox confines it"};
      }
      const bool is_guarded = std::ranges::any_of(
          world_.guarded, [&](const fs::path& path) { return is_below(real, true_path(path)); });
      return is_guarded ? asks("it changes what errand or git runs or is told by")
             : is_here  ? PermissionDecision{.reason = "it writes in the working folder"}
                        : asks("it writes outside the working folder");
    }
    case Kind::fetches:
      return asks("it sends a request to the internet");
    case Kind::server:
      return asks("what an MCP server does with it is the server's own business");
    case Kind::commands:
    case Kind::program: {
      const auto open = std::ranges::find_if_not(
          deny_, [&](const Rule& rule) { return is_kept_from_programs(rule); });
      if (world_.confined.processes && open != deny_.end()) {
        return asks(
            fmt::format("it runs a program that could reach what `deny: {}` ({}) is about: the "
                        "sandbox keeps programs only from what is there, by its whole path, "
                        "and with private mounts (errand doctor: mounts)",
                        open->source.text,
                        open->source.origin));
      }
      return world_.confined.processes     ? PermissionDecision{.reason = "the sandbox confines it"}
             : world_.confined.has_network ? asks("it runs a program that can reach the network")
                                           : asks("it runs a program that nothing confines");
    }
  }
  return {};
}

PermissionDecision Permissions::by_default(const Call& call) const {
  const std::string origin = standard_origin_.empty() ? "" : fmt::format(" ({})", standard_origin_);
  if (call.access.kind == Kind::nothing && standard_ != Standard::deny) {
    return automatic(call);
  }
  switch (standard_) {
    case Standard::allow:
      return {.reason = fmt::format("`default: allow`{}", origin)};
    case Standard::ask:
      return {.verdict = Verdict::ask, .reason = fmt::format("`default: ask`{}", origin)};
    case Standard::deny:
      return {.verdict = Verdict::deny,
              .reason = fmt::format("no rule allows it, and `default: deny`{}", origin)};
    case Standard::automatic:
      break;
  }
  PermissionDecision decision = automatic(call);
  decision.reason += ", and `default: auto`";
  return decision;
}

PermissionDecision Permissions::judge(std::string_view tool,
                                      const Access& access,
                                      const agent::HookDecision& hook) const {
  PermissionDecision decision = judge_own(tool, access, hook);
  for (const Permissions& above : above_) {
    PermissionDecision upper = above.judge_own(tool, access, hook);
    const bool is_stricter = upper.verdict > decision.verdict;
    if (is_stricter) {
      std::swap(decision, upper);
    }
    if (upper.verdict == Verdict::ask && decision.verdict == Verdict::ask) {
      decision.may_always = decision.may_always && upper.may_always;
    }
  }
  return decision;
}

PermissionDecision Permissions::judge_own(std::string_view tool,
                                          const Access& access,
                                          const agent::HookDecision& hook) const {
  PermissionDecision decision = judge_one(tool, access, hook);
  if (access.further.empty()) {
    return decision;
  }
  std::vector<std::string> paths = access.further;
  paths.insert(paths.begin(), access.target);
  std::vector<fs::path> asked;
  for (const std::string& path : paths) {
    PermissionDecision one = judge_one(tool, {.kind = access.kind, .target = path}, hook);
    if (one.verdict == Verdict::allow) {
      continue;
    }
    one.reason = fmt::format("`{}`: {}", path, one.reason);
    if (one.verdict == Verdict::deny) {
      return one;
    }
    if (!asked.empty()) {
      one.may_always = one.may_always && decision.may_always;
      one.reason = std::move(decision.reason);  // that of the first
    }
    decision = std::move(one);
    asked.push_back(true_path(world_.cwd / path));
  }
  return asked.size() < 2 ? decision : asked_for(tool, asked, std::move(decision));
}

PermissionDecision Permissions::judge_one(std::string_view tool,
                                          const Access& access,
                                          const agent::HookDecision& hook) const {
  Call call{.tool = tool, .access = access, .path = {}, .line = nullptr, .url = std::nullopt};
  if (call.is_file()) {
    call.path = world_.cwd / access.target;
  } else if (access.kind == Kind::commands) {
    call.line = std::make_unique<CommandLine>(
        access.target, PathPattern::Folders{.cwd = world_.cwd, .home = world_.home});
  } else if (access.kind == Kind::fetches) {
    if (auto url = parse_url(access.target)) {
      call.url = std::move(*url);
    }
  }
  std::string doubt;
  for (const Rule& rule : deny_) {
    const Match match = forbids(rule, call);
    if (match == Match::yes) {
      return {.verdict = Verdict::deny, .reason = named("deny", rule.source) + " forbids it"};
    }
    if (match == Match::maybe && doubt.empty()) {
      const std::string why = unclear_reason(call);
      doubt = why.empty()
                  ? named("deny", rule.source) + " may forbid it"
                  : fmt::format("{}, and {} may forbid it", why, named("deny", rule.source));
    }
  }
  const auto finish = [&](PermissionDecision decision) {
    if (decision.verdict == Verdict::ask) {
      decision.yes_rule = yes_rule(call);
      if (!stands_for(decision.yes_rule, call, !doubt.empty())) {
        decision.may_always = false;
        // That of a file says which one it is.
        decision.yes_rule = call.is_file() ? std::move(decision.yes_rule) : std::string();
      }
    }
    return decision;
  };
  const auto first_of = [&](const std::vector<Rule>& rules) {
    return std::ranges::find_if(rules, [&](const Rule& rule) { return allows(rule, call); });
  };
  const auto first_exact = [&](const std::vector<Rule>& rules) {
    return std::ranges::find_if(
        rules, [&](const Rule& rule) { return allows(rule, call) && is_exact(rule, call); });
  };
  const auto granted = doubt.empty() ? first_of(granted_) : first_exact(granted_);
  if (granted != granted_.end()) {
    return {.reason = named("allow", granted->source)};
  }
  if (hook.question) {
    return finish({.verdict = Verdict::ask, .reason = *hook.question, .may_always = false});
  }
  const auto allowed = doubt.empty() ? first_of(allow_) : first_exact(allow_);
  if (!doubt.empty()) {
    if (allowed != allow_.end()) {
      return {.reason = named("allow", allowed->source)};
    }
    return finish({.verdict = Verdict::ask, .reason = std::move(doubt), .may_be_denied = true});
  }
  for (const Rule& rule : ask_) {
    const Match match = forbids(rule, call);
    if (match != Match::no) {
      const std::string why = match == Match::yes ? std::string() : unclear_reason(call);
      return finish({.verdict = Verdict::ask,
                     .reason = named("ask", rule.source) +
                               (match == Match::yes ? "" : " may be about it") +
                               (why.empty() ? "" : ": " + why),
                     .may_always = false});
    }
  }
  if (allowed != allow_.end()) {
    return {.reason = named("allow", allowed->source)};
  }
  const auto allowed_line = is_allowed_line(call);
  if (allowed_line) {
    return {.reason = "rules in `allow` name each of its commands"};
  }
  PermissionDecision decision = by_default(call);
  if (decision.verdict != Verdict::allow && !allowed_line.error().empty()) {
    decision.reason += "; " + allowed_line.error();
  }
  if (decision.verdict == Verdict::ask && hook.is_allowed) {
    return {.reason = "a hook allows it"};
  }
  return finish(std::move(decision));
}

}  // namespace tools
