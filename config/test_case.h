// Test cases of agents (`*.test.yaml`): what is run, what answers in the model's place, and what
// must come of it.
//
//     version: 1
//     agent: reviewer.yaml              # paths start at the case file's folder
//     prompt: Review main               # in place of the agent's own
//     parameters: {target: main}
//     recording: review.cassette        # of `errand run --record`; or
//     replay: review.replay.yaml        # a script of replies and faults
//     workspace: sample-project         # a folder; the case works in a copy of it
//     timeout: 60s
//     repeat: 5
//     pass: 80%                         # of the five; all, any
//     expect:
//       exit_code: 0
//       text: {equals: Done., contains: [one, two], matches: "^D"}
//       tools: [read_file, grep]        # that ran, in this order; {in_order: […], never: […]}
//       files: {out.txt: {contains: Ada}}   # of the copy of the workspace
//       schema: verdict.schema.json     # of the answer as JSON
//       judge: [{says: Names both files., model: openai/gpt-5-mini}]
//       max_cost_usd: 0.05
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "config/keys.h"
#include "config/pass_rule.h"
#include "config/test_expectations.h"

#include <cstddef>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

// Paths are absolute where the case file's is.
struct TestCase {
  std::filesystem::path file;
  std::string name;  // the file's, without `.test.yaml`
  std::filesystem::path agent;
  std::optional<std::string> prompt;
  std::map<std::string, std::string> parameters;
  std::filesystem::path recording;  // this one, `replay` or neither is set
  std::filesystem::path replay;
  std::filesystem::path workspace;  // empty: the case file's own folder, as it is
  agent::Milliseconds timeout{60'000};
  std::size_t repeat = 1;
  PassRule pass;
  Expectations expect;
  std::vector<agent::Error> warnings;    // with their places
  std::vector<agent::Error> needs_live;  // why it can run against a model alone; empty: it need not
};

constexpr std::string_view k_test_suffix = ".test.yaml";

// The case, or every mistake with its place; a file that it names and that is not there is one.
std::expected<TestCase, std::vector<agent::Error>> load_test_case(
    const std::filesystem::path& file);

// What the cases that stand in the folder itself obey: their agents, recordings and scripts, those
// of judges too, also those that are not there yet, and of cases that are broken elsewhere.
// Absolute where it is. A megabyte of them is read.
std::vector<std::filesystem::path> files_named_by_test_cases(const std::filesystem::path& folder);

// The table of a case's keys, in the form of keys().
std::span<const Key> test_case_keys();

}  // namespace config
