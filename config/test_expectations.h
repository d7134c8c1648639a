// What must hold of the run of a test case: the keys under `expect`.
#pragma once
#include "agent/money.h"
#include "agent/schema/json_schema.h"
#include "agent/spec.h"
#include "config/yaml/problems.h"
#include "config/yaml/tree.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace config {

struct TextExpectation {
  std::optional<std::string> equals;
  std::vector<std::string> contains;
  std::string matches;                               // RE2; empty: anything
  std::shared_ptr<const agent::JsonSchema> pattern;  // `matches`, compiled; null: anything
};

struct ToolsExpectation {
  std::optional<std::vector<std::string>> exactly;  // those that ran, all of them
  std::vector<std::string> in_order;                // others may run between them
  std::vector<std::string> never;
};

// Of a file in the workspace, when the run is over.
struct FileExpectation {
  bool exists = true;
  TextExpectation text;
};

// A sentence about the answer that a model holds for true.
struct JudgeExpectation {
  std::string says;
  std::string model;       // PROVIDER/NAME, for people
  std::string model_json;  // the value of `model` in an agent file
  int votes = 1;           // how often it is asked; they have to agree
  agent::Milliseconds timeout{60'000};
};

struct Expectations {
  int exit_code = 0;
  std::optional<TextExpectation> text = {};
  ToolsExpectation tools = {};
  std::map<std::string, FileExpectation> files = {};
  std::shared_ptr<const agent::JsonSchema> schema = {};  // null: none
  std::vector<JudgeExpectation> judges = {};
  std::optional<agent::Money> max_cost_usd = {};
};

// What of a case decides which expectations make sense.
struct CaseSetting {
  std::filesystem::path folder;  // of the case file
  bool has_workspace = false;
  bool has_script = false;
};

// `map` is the value of `expect`. `needs_live` gets what cannot be seen to without a model.
Expectations build_expectations(const Value& map,
                                const CaseSetting& setting,
                                Problems& problems,
                                Problems& needs_live);

// The script that a judge of this model plays; empty: it is none.
std::filesystem::path script_of_judge(const Value& judge, const std::filesystem::path& folder);

}  // namespace config
