#include "config/test_expectations.h"

#include "agent/outcome.h"
#include "agent/text.h"
#include "config/build/schema_file.h"
#include "config/check.h"
#include "config/read.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_script_model = "replay/";

std::shared_ptr<const agent::JsonSchema> shared(agent::JsonSchema schema) {
  return std::make_shared<const agent::JsonSchema>(std::move(schema));
}

// In RE2's words; nullopt: it understands it.
std::optional<std::string> what_is_wrong_with(const std::string& pattern) {
  const re2::RE2 expression(pattern, re2::RE2::Quiet);
  return expression.ok() ? std::nullopt : std::optional(expression.error());
}

// Whether it matches nothing at all at the beginning or at the end of each text: `x*`, `^`, `\z`.
bool matches_always(const std::string& pattern) {
  const re2::RE2 expression(pattern, re2::RE2::Quiet);
  const auto matches_at = [&](std::string_view text, std::size_t place) {
    return expression.Match(
        {text.data(), text.size()}, place, place, re2::RE2::ANCHOR_BOTH, nullptr, 0);
  };
  static constexpr auto k_texts = std::to_array<std::string_view>({"", "a", " ", "\n", "-", "é"});
  return expression.ok() &&
         (std::ranges::all_of(k_texts, [&](auto text) { return matches_at(text, 0); }) ||
          std::ranges::all_of(k_texts, [&](auto text) { return matches_at(text, text.size()); }));
}

// The texts of one or of a list.
std::vector<std::string> words_at(const Value& map, std::string_view key) {
  const Value* value = value_at(map, key);
  return value != nullptr && value->kind == Kind::text ? std::vector{value->text}
                                                       : texts_at(map, key);
}

class Builder {
 public:
  Builder(const CaseSetting& setting, Problems& problems, Problems& needs_live)
      : setting_(setting), problems_(problems), needs_live_(needs_live) {}

  Expectations build(const Value& map) {
    Expectations expect;
    if (const Value* code = value_at(map, "exit_code")) {
      expect.exit_code = build_exit_code(*code);
    }
    if (const Value* text = value_at(map, "text")) {
      expect.text = build_text(*text, "expect.text");
      refuse_nothing(*text, *expect.text, "expect.text");
    }
    if (const Value* tools = value_at(map, "tools")) {
      expect.tools = build_tools(*tools);
    }
    if (const Value* files = value_at(map, "files")) {
      expect.files = build_files(*files, map.find("files")->key_span);
    }
    if (const Value* schema = value_at(map, "schema");
        schema != nullptr && schema->kind == Kind::text && !schema->text.empty()) {
      if (auto file = read_schema_file(*schema, setting_.folder, {}, problems_)) {
        expect.schema = shared(std::move(file->compiled));
      }
    }
    for (const Value& judge : map_at(map, "judge").items) {
      expect.judges.push_back(build_judge(judge));
    }
    expect.max_cost_usd = money_at(map, "max_cost_usd");
    if (expect.max_cost_usd && setting_.has_script) {
      needs_live_.add(
          map.find("max_cost_usd")->key_span,
          "`expect.max_cost_usd` could not fail: a script costs nothing",
          "take it out, let a `recording` answer, or ask the model: errand test --live");
    }
    return expect;
  }

 private:
  int build_exit_code(const Value& value) {
    const int code = static_cast<int>(integer_of(value).value_or(0));
    constexpr int k_most = 255;  // above that, it was told of already
    if (code >= 0 && code <= k_most &&
        std::ranges::find(agent::exit_table(), code, &agent::ExitRow::exit_code) ==
            agent::exit_table().end()) {
      problems_.add(value.span,
                    fmt::format("no run ends with exit code {}", value.text),
                    "`errand exit-codes` lists them all");
    }
    return code;
  }

  TextExpectation build_text(const Value& map, const std::string& path) {
    TextExpectation text{.equals = {},
                         .contains = words_at(map, "contains"),
                         .matches = text_at(map, "matches"),
                         .pattern = nullptr};
    if (const Value* equals = value_at(map, "equals")) {
      text.equals = equals->text;
    }
    if (std::ranges::find(text.contains, "") != text.contains.end()) {
      problems_.add(
          value_at(map, "contains")->span,
          fmt::format("`{}.contains` could not fail: every text contains the empty one", path),
          "say what must occur");
    }
    if (!text.matches.empty()) {
      auto compiled = agent::JsonSchema::compile({{"pattern", text.matches}});
      if (compiled && matches_always(text.matches)) {
        problems_.add(
            value_at(map, "matches")->span,
            fmt::format("`{}.matches` could not fail: what matches the empty text matches "
                        "in every text",
                        path),
            "say what must occur: `x+` in place of `x*`");
      } else if (compiled) {
        text.pattern = shared(*std::move(compiled));
      } else {
        problems_.add(
            value_at(map, "matches")->span,
            fmt::format("`{}.matches` is not a regular expression that RE2 understands", path),
            what_is_wrong_with(text.matches).value_or(compiled.error().message));
      }
    }
    return text;
  }

  static bool expects_nothing(const TextExpectation& text) {
    return !text.equals && text.contains.empty() && text.matches.empty();
  }

  void refuse_nothing(const Value& map, const TextExpectation& text, const std::string& path) {
    if (map.kind == Kind::map && expects_nothing(text)) {
      problems_.add(map.span,
                    fmt::format("`{}` could not fail: nothing is expected of it", path),
                    "`equals: TEXT`, `contains: TEXT` or `matches: PATTERN`");
    }
  }

  ToolsExpectation build_tools(const Value& value) {
    ToolsExpectation tools;
    if (value.kind == Kind::list) {
      tools.exactly.emplace();
      for (const Value& name : value.items) {
        tools.exactly->push_back(name.text);
      }
      return tools;
    }
    tools.in_order = words_at(value, "in_order");
    tools.never = words_at(value, "never");
    if (value.kind == Kind::map && tools.in_order.empty() && tools.never.empty()) {
      problems_.add(value.span,
                    "`expect.tools` could not fail: nothing is expected of it",
                    "a list of all that run, `in_order: [TOOL]` or `never: [TOOL]`");
    }
    for (const std::string& name : tools.in_order) {
      if (std::ranges::find(tools.never, name) != tools.never.end()) {
        problems_.add(value_at(value, "never")->span,
                      fmt::format("`expect.tools` could not hold: `{}` is to run, and never to",
                                  agent::one_line(name, 60)),
                      "take it out of one of the lists");
        break;
      }
    }
    return tools;
  }

  // Inside of the workspace, as it is written.
  static bool stays_inside(const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    return !normal.empty() && normal.is_relative() && *normal.begin() != ".." &&
           normal.has_filename() && normal != ".";
  }

  std::map<std::string, FileExpectation> build_files(const Value& map, Span key) {
    std::map<std::string, FileExpectation> files;
    if (map.kind != Kind::map) {
      return files;
    }
    if (map.entries.empty()) {
      problems_.add(map.span,
                    "`expect.files` could not fail: no file is named",
                    "{out.txt: {contains: Ada}}");
    } else if (!setting_.has_workspace) {  // what an earlier run left there would count
      problems_.add(key,
                    "`expect.files` looks into the workspace, and there is none",
                    "`workspace: FOLDER`, of which the agent gets a copy");
    }
    for (const Entry& entry : map.entries) {
      if (!is_free_key(entry.key)) {
        build_file(entry, files[entry.key]);
      }
    }
    return files;
  }

  void build_file(const Entry& entry, FileExpectation& file) {
    const std::string path = "expect.files." + agent::one_line(entry.key, 60);
    if (!stays_inside(entry.key)) {
      problems_.add(entry.key_span,
                    fmt::format("`{}` is not the path of a file in the workspace",
                                agent::one_line(entry.key, 60)),
                    "paths start at the workspace, and stay in it");
    }
    file.exists = boolean_at(entry.value, "exists", true);
    file.text = build_text(entry.value, path);
    const bool says_nothing = expects_nothing(file.text);
    if (!file.exists && !says_nothing) {
      problems_.add(value_at(entry.value, "exists")->span,
                    fmt::format("`{}` could not hold: a file that is not there has no text", path),
                    "take out `exists`, or the rest");
    } else if (says_nothing && value_at(entry.value, "exists") == nullptr) {
      refuse_nothing(entry.value, file.text, path);
    }
  }

  JudgeExpectation build_judge(const Value& map) {
    JudgeExpectation judge{.says = text_at(map, "says"), .model = {}, .model_json = {}};
    judge.timeout = duration_at(map, "timeout").value_or(judge.timeout);
    if (const Value* votes = value_at(map, "votes")) {
      judge.votes = static_cast<int>(integer_of(*votes).value_or(1));
    }
    const Value* model = value_at(map, "model");
    if (model == nullptr || map.kind != Kind::map) {
      return judge;  // it was told of
    }
    judge.model = model->kind == Kind::map ? text_at(*model, "name") : model->text;
    judge.model_json = agent::dump(to_json(*model));
    if (const fs::path script = script_of_judge(map, setting_.folder); !script.empty()) {
      judge.model_json = agent::dump(agent::Json(std::string(k_script_model) + script.string()));
      std::error_code error;
      if (!fs::is_regular_file(script, error)) {
        problems_.add(
            model->span,
            fmt::format("there is no file `{}`", judge.model.substr(k_script_model.size())),
            "the path starts at the folder of the case file");
      }
    } else {
      needs_live_.add(
          map.find("model")->key_span,
          fmt::format("the judge `{}` is a model: nothing answers in its place",
                      agent::one_line(judge.model, 60)),
          "ask it: errand test --live; or let a script answer: model: replay/SCRIPT.yaml");
    }
    return judge;
  }

  const CaseSetting& setting_;
  Problems& problems_;
  Problems& needs_live_;
};

}  // namespace

Expectations build_expectations(const Value& map,
                                const CaseSetting& setting,
                                Problems& problems,
                                Problems& needs_live) {
  return Builder(setting, problems, needs_live).build(map);
}

fs::path script_of_judge(const Value& judge, const fs::path& folder) {
  const std::string name = text_at(judge, "model");
  return name.starts_with(k_script_model) ? folder / name.substr(k_script_model.size())
                                          : fs::path();
}

}  // namespace config
