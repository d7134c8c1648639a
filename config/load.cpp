#include "config/load.h"

#include "config/build/build.h"
#include "config/check.h"
#include "config/expand.h"
#include "config/secrets.h"
#include "config/yaml/markdown.h"
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_largest_file = 1'048'576;
constexpr std::int64_t k_version = 1;

Report refused(agent::Error error) {
  Report report;
  report.errors.push_back(std::move(error));
  return report;
}

bool may_be_agent(const std::filesystem::path& file) {
  const std::string ending = file.extension();
  return ending == ".yaml" || ending == ".yml" || ending == ".md" || ending == ".json" ||
         looks_like_agent(file);
}

// Who says `agent.yaml#helper` means the one in `agent.yaml`, and not what has come beside it.
agent::Error is_named_as_another(const std::filesystem::path& file) {
  return {.code = agent::Code::config_invalid,
          .message = fmt::format("the file `{}` has the name of an agent in `{}`",
                                 agent::one_line(file.string()),
                                 agent::one_line(agent::file_of_whole(file).string())),
          .help = "rename the file, or remove it"};
}

Report finish(Problems& problems, std::optional<agent::AgentSpec> spec) {
  Report report;
  report.errors = problems.take_errors();
  report.warnings = problems.take_warnings();
  if (report.errors.empty()) {
    report.agent = std::move(spec);
  } else if (spec) {
    report.models = std::move(spec->fallback.models);
    report.models.insert(report.models.begin(), std::move(spec->model));
  }
  return report;
}

// Keys are starred out of every excerpt, and reported.
void refuse_keys(const std::vector<Span>& found, Source& source, Problems& problems) {
  for (const Span& span : found) {
    if (source.is_hidden(span.offset + span.length / 2)) {
      continue;
    }
    source.hide(span);
    problems.add(
        span,
        "this looks like a secret key",
        "take it out of the file: write `${env:NAME}` in its place, or, for the key of a model, "
        "the variable's name as `api_key_env`");
  }
}

// Another version has other keys: then nothing else is worth saying.
bool is_other_version(const Value& root) {
  const Entry* version = root.find("version");
  const auto number = version != nullptr ? integer_of(version->value) : std::nullopt;
  return number && *number != k_version;
}

void refuse_version(const Value& root, Problems& problems) {
  const Value& version = root.find("version")->value;
  problems.add(
      version.span,
      fmt::format("version {} of the agent file is not supported", version.text),
      fmt::format("this program reads version {0} alone: write `version: {0}`", k_version));
}

// The tree of the whole file: the body of a Markdown file stands in it as `instructions`.
std::optional<Value> read_tree(const Source& source, bool markdown, Problems& problems) {
  if (!markdown) {
    return parse_yaml(source, {0, source.text().size()}, {}, problems);
  }
  auto parts = split_markdown(source, problems);
  if (!parts) {
    return std::nullopt;
  }
  auto root = parse_yaml(source, parts->front_matter, {}, problems);
  if (root && root->kind == Kind::map && parts->body) {
    if (const Entry* instructions = root->find("instructions")) {
      problems.add(instructions->key_span,
                   "the instructions are given twice: here and as the text of the file",
                   "keep one of them");
      return root;
    }
    const Span span = parts->body->span;
    root->entries.push_back(Entry{"instructions", span, *std::move(parts->body)});
  }
  return root;
}

// Pasted from what other tools have, that block is read as it is.
void rename_pasted_servers(Value& root, Problems& problems) {
  const auto pasted = std::ranges::find(root.entries, "mcpServers", &Entry::key);
  if (pasted == root.entries.end()) {
    return;
  }
  if (root.find("mcp_servers") != nullptr) {
    problems.add(pasted->key_span,
                 "the MCP servers are given twice: as `mcpServers` and as `mcp_servers`",
                 "keep one of them");
  }
  pasted->key = "mcp_servers";
}

// The text of sub-agents that stand in the file, with which their runs are carried on: JSON, which
// is YAML.
void name_written_out(const Value& root, const std::string& shown_file, agent::AgentSpec& spec) {
  for_each_written_out(root, [&](const std::string& name, const Value& whole) {
    const auto sub = std::ranges::find(spec.sub_agents, name, &agent::SubAgentSpec::name);
    sub->agent->file = shown_file + "#" + name;
    sub->agent->source = agent::dump(to_json(whole));
    name_written_out(whole, sub->agent->file, *sub->agent);
  });
}

}  // namespace

Report parse_agent(std::string_view text,
                   const std::string& shown_file,
                   const std::filesystem::path& directory,
                   bool markdown,
                   const agent::Environment& environment,
                   const KnownNames& known) {
  auto source = Source::create(std::string(text), shown_file);
  if (!source) {
    return refused(std::move(source).error());
  }
  Problems problems(*source);
  refuse_keys(find_key_shapes(*source), *source, problems);
  auto root = read_tree(*source, markdown, problems);
  if (!root) {
    return finish(problems, std::nullopt);
  }
  if (is_empty(*root)) {
    problems.add(root->span, "the file is empty", "`errand init` writes a first agent");
    return finish(problems, std::nullopt);
  }
  if (is_other_version(*root)) {
    refuse_version(*root, problems);
    return finish(problems, std::nullopt);
  }
  rename_pasted_servers(*root, problems);
  refuse_keys(find_literal_keys(*root), *source, problems);
  check_templates(*root, problems);
  const bool has_written_out = root->find("sub_agents") != nullptr;
  const Value written = has_written_out ? *root : Value();
  expand_environment(*root, environment, problems);
  check(*root, keys(), known.tools, problems);
  agent::AgentSpec spec = build_agent(*root, directory, known, environment, problems);
  spec.file = shown_file;
  spec.source = text;
  name_written_out(written, shown_file, spec);
  return finish(problems, std::move(spec));
}

Report load_agent(const std::filesystem::path& file,
                  const agent::Environment& environment,
                  const KnownNames& known) {
  auto text = read_text_file(file, k_largest_file);
  if (!text) {
    return refused(std::move(text).error());
  }
  std::error_code failure;
  const auto leads_to = std::filesystem::canonical(file, failure);
  for (const std::filesystem::path& name : {file, leads_to}) {
    if (!agent::name_in_whole(name).empty() && may_be_agent(agent::file_of_whole(name))) {
      return refused(is_named_as_another(name));
    }
  }
  const auto absolute = std::filesystem::absolute(file, failure);
  const auto directory = (failure ? file : absolute).lexically_normal().parent_path();
  const bool markdown = file.extension() == ".md";
  Report report = parse_agent(*text, file.string(), directory, markdown, environment, known);
  if (hide_text_behind_link(file, report.errors)) {
    report.models.clear();
  }
  hide_text_behind_link(file, report.warnings);
  return report;
}

agent::Result<void> check_can_be_read(const std::filesystem::path& file) {
  TRY(read_text_file(file, k_largest_file));
  return {};
}

bool looks_like_agent(const std::filesystem::path& file) {
  constexpr std::size_t k_head = 65'536;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return false;  // a pipe would be waited for
  }
  std::string head(k_head, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  static const RE2 version(R"re((?m)^[{ \t]*"?version"?[ \t]*:[ \t]*1[ \t]*(,|#|\r?$))re");
  return RE2::PartialMatch(head, version);
}

}  // namespace config
