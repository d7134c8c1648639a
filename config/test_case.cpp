#include "config/test_case.h"

#include "agent/outcome.h"
#include "config/build/schema_file.h"
#include "config/check.h"
#include "config/read.h"
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/yaml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_largest_case_file = 1'048'576;

constexpr auto k_case_keys = std::to_array<Key>({
    // clang-format off
    {.path = "version", .type = Type::integer, .help = "The version of this format. There is one so far: 1.", .example = "1", .min = 1, .max = 1, .required = true},
    {.path = "description", .type = Type::text, .help = "What the case is about, for people.", .example = "Greets in one word."},
    {.path = "agent", .type = Type::text, .help = "The agent file. Paths start at the case file's folder.", .example = "agent.yaml", .shape = Shape::filled, .required = true},
    {.path = "prompt", .type = Type::text, .help = "The prompt, in place of the agent's own.", .example = "Say hello.", .shape = Shape::filled},
    {.path = "parameters", .type = Type::map, .help = "Values of the agent's parameters.", .example = "{target: main}", .shape = Shape::parameter_name},
    {.path = "parameters.*", .type = Type::scalar, .help = "The parameter's value.", .example = "main"},
    {.path = "recording", .type = Type::text, .help = "The recording that answers, as `errand run --record` makes it. This or `replay`.", .example = "greeting.cassette", .shape = Shape::filled},
    {.path = "replay", .type = Type::text, .help = "The script of replies and faults that answers. This or `recording`.", .example = "greeting.replay.yaml", .shape = Shape::filled},
    {.path = "workspace", .type = Type::text, .help = "A folder that is open to tools (see DESCRIPTION); the agent works in a copy of it that is thrown away. Left out, it works in the case file's own folder.", .example = "sample-project", .shape = Shape::filled},
    {.path = "timeout", .type = Type::duration, .help = "The case has failed where the run takes longer.", .example = "10s", .default_value = "60s"},
    {.path = "expect", .type = Type::map, .help = "What must hold. Left out: the run ends with a final answer.", .example = "{text: {contains: Hello}}"},
    {.path = "expect.exit_code", .type = Type::integer, .help = "How the run ends. The rest is looked at only where it ends so.", .example = "80", .default_value = "0", .min = 0, .max = 255},
    {.path = "expect.text", .type = Type::map, .help = "What the answer says; spaces and line breaks at its ends do not count.", .example = "{contains: Hello}"},
    {.path = "expect.text.equals", .type = Type::text, .help = "The whole answer.", .example = "Hello."},
    {.path = "expect.text.contains", .type = Type::texts, .help = "Texts that must each occur.", .example = "[Hello, world]"},
    {.path = "expect.text.contains[]", .type = Type::text, .help = "A text that must occur.", .example = "Hello", .shape = Shape::filled},
    {.path = "expect.text.matches", .type = Type::text, .help = "A regular expression (RE2) that must match somewhere.", .example = "\"^Hello\"", .shape = Shape::filled},
    {.path = "expect.tools", .type = Type::list, .help = "The tools that ran, in this order, each as often as it ran; [] for none.", .example = "[read_file, grep]"},
    {.path = "expect.tools[]", .type = Type::text, .help = "A tool's name.", .example = "read_file", .shape = Shape::filled},
    {.path = "expect.schema", .type = Type::text, .help = "The file of a JSON Schema that the answer, read as JSON, must fit.", .example = "verdict.schema.json", .shape = Shape::filled},
    {.path = "expect.max_cost_usd", .type = Type::money, .help = "With a `recording`: the most that the run may cost, in US dollars. A cost that is not known fails.", .example = "0.05", .may_be_zero = true},
    // clang-format on
});

class CaseBuilder {
 public:
  CaseBuilder(const fs::path& file, Problems& problems)
      : folder_(file.parent_path()), problems_(problems) {
    case_.file = file;
    case_.name = file.filename().string();
    if (case_.name.ends_with(k_test_suffix)) {
      case_.name.resize(case_.name.size() - k_test_suffix.size());
    }
  }

  TestCase build(const Value& root) {
    case_.agent = file_at(root, "agent");
    case_.recording = file_at(root, "recording");
    case_.replay = file_at(root, "replay");
    case_.workspace = folder_at(root, "workspace");
    case_.timeout = duration_at(root, "timeout").value_or(case_.timeout);
    if (const Value* prompt = value_at(root, "prompt")) {
      case_.prompt = prompt->text;
    }
    if (const Value* parameters = value_at(root, "parameters")) {
      for (const Entry& entry : parameters->entries) {
        case_.parameters[entry.key] = entry.value.text;
      }
    }
    if (problems_.is_empty()) {  // else a misspelt key may be what is missing
      check_one_source(root);
    }
    if (const Value* expect = value_at(root, "expect")) {
      build_expectations(*expect);
    }
    return std::move(case_);
  }

 private:
  // A run without either could ask a real server, and cost money.
  void check_one_source(const Value& root) {
    const Entry* recording = root.find("recording");
    const Entry* replay = root.find("replay");
    if (recording != nullptr && replay != nullptr) {
      problems_.add(replay->key_span,
                    "`replay` and `recording` are both given: only one can answer",
                    "take one of them out");
    } else if (recording == nullptr && replay == nullptr) {
      problems_.add(root.span,
                    "nothing answers in the model's place: `recording` or `replay` is missing",
                    "`recording: FILE` of `errand run --record FILE`, or `replay: SCRIPT.yaml`");
    }
  }

  fs::path file_at(const Value& map, std::string_view key) {
    return path_at(map, key, "file", [](const fs::path& path, std::error_code& error) {
      return fs::is_regular_file(path, error);
    });
  }
  fs::path folder_at(const Value& map, std::string_view key) {
    return path_at(map, key, "folder", [](const fs::path& path, std::error_code& error) {
      return fs::is_directory(path, error);
    });
  }

  template <typename IsThere>
  fs::path path_at(const Value& map,
                   std::string_view key,
                   std::string_view kind,
                   IsThere is_there) {
    const Value* value = value_at(map, key);
    if (value == nullptr || value->kind != Kind::text || value->text.empty()) {
      return {};
    }
    fs::path path = folder_ / value->text;
    std::error_code error;
    if (!is_there(path, error)) {
      problems_.add(value->span,
                    fmt::format("there is no {} `{}`", kind, value->text),
                    "the path starts at the folder of the case file");
    }
    return path;
  }

  static std::shared_ptr<const agent::JsonSchema> shared(agent::JsonSchema schema) {
    return std::make_shared<const agent::JsonSchema>(std::move(schema));
  }

  void build_expectations(const Value& map) {
    Expectations& expect = case_.expect;
    if (const Value* code = value_at(map, "exit_code")) {
      expect.exit_code = static_cast<int>(integer_of(*code).value_or(0));
      constexpr int k_most = 255;  // above that, it was told of already
      if (expect.exit_code >= 0 && expect.exit_code <= k_most &&
          std::ranges::find(agent::exit_table(), expect.exit_code, &agent::ExitRow::exit_code) ==
              agent::exit_table().end()) {
        problems_.add(code->span,
                      fmt::format("no run ends with exit code {}", code->text),
                      "`errand exit-codes` lists them all");
      }
    }
    if (const Value* text = value_at(map, "text")) {
      expect.text = build_text(*text);
    }
    if (const Value* tools = value_at(map, "tools")) {
      expect.tools.emplace();
      for (const Value& name : tools->items) {
        expect.tools->push_back(name.text);
      }
    }
    expect.max_cost_usd = money_at(map, "max_cost_usd");
    if (expect.max_cost_usd && case_.recording.empty() && !case_.replay.empty()) {
      problems_.add(map.find("max_cost_usd")->key_span,
                    "`expect.max_cost_usd` could not fail: a script costs nothing",
                    "take it out, or let a `recording` answer");
    }
    if (const Value* schema = value_at(map, "schema");
        schema != nullptr && schema->kind == Kind::text && !schema->text.empty()) {
      if (auto file = read_schema_file(*schema, folder_, {}, problems_)) {
        expect.schema = shared(std::move(file->compiled));
      }
    }
  }

  TextExpectation build_text(const Value& map) {
    TextExpectation text{
        .equals = {}, .contains = {}, .matches = text_at(map, "matches"), .pattern = nullptr};
    if (const Value* equals = value_at(map, "equals")) {
      text.equals = equals->text;
    }
    if (const Value* contains = value_at(map, "contains")) {
      if (contains->kind == Kind::text) {
        text.contains.push_back(contains->text);
      }
      for (const Value& part : contains->items) {
        text.contains.push_back(part.text);
      }
    }
    if (map.kind == Kind::map && !text.equals && text.contains.empty() && text.matches.empty()) {
      problems_.add(map.span,
                    "`expect.text` could not fail: nothing is expected of it",
                    "`equals: TEXT`, `contains: TEXT` or `matches: PATTERN`");
    } else if (std::ranges::find(text.contains, "") != text.contains.end()) {
      problems_.add(value_at(map, "contains")->span,
                    "`expect.text.contains` could not fail: every text contains the empty one",
                    "say what must occur");
    }
    if (!text.matches.empty()) {
      auto compiled = agent::JsonSchema::compile({{"pattern", text.matches}});
      if (compiled) {
        text.pattern = shared(*std::move(compiled));
      } else {
        problems_.add(value_at(map, "matches")->span,
                      "`expect.text.matches` is not a regular expression that RE2 understands",
                      compiled.error().message);
      }
    }
    return text;
  }

  const fs::path folder_;
  Problems& problems_;
  TestCase case_;
};

}  // namespace

std::span<const Key> test_case_keys() {
  return k_case_keys;
}

namespace {

std::expected<TestCase, std::vector<agent::Error>> parse_test_case(std::string text,
                                                                   const fs::path& file) {
  auto source = Source::create(std::move(text), file.string());
  if (!source) {
    return std::unexpected(std::vector{std::move(source).error()});
  }
  Problems problems(*source);
  TestCase test;
  if (const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems)) {
    check(*root, k_case_keys, {}, problems);
    test = CaseBuilder(file, problems).build(*root);
  }
  if (!problems.is_empty()) {
    return std::unexpected(problems.take_errors());
  }
  test.warnings = problems.take_warnings();
  return test;
}

}  // namespace

std::expected<TestCase, std::vector<agent::Error>> load_test_case(const fs::path& file) {
  auto text = read_text_file(file, k_largest_case_file);
  if (!text) {
    return std::unexpected(std::vector{std::move(text).error()});
  }
  auto test = parse_test_case(*std::move(text), file);
  if (!test) {
    hide_text_behind_link(file, test.error());
  }
  return test;
}

namespace {

std::vector<fs::path> files_named_by(const fs::path& file) {
  std::vector<fs::path> named;
  auto text = read_text_file(file, k_largest_case_file);
  auto source = text ? Source::create(*std::move(text), file.string())
                     : agent::Result<Source>(std::unexpected(std::move(text).error()));
  if (!source) {
    return named;
  }
  Problems problems(*source);
  const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems);
  for (const char* const key : {"agent", "recording", "replay"}) {
    const std::string path = root ? text_at(*root, key) : "";
    std::error_code error;
    if (!path.empty() && !fs::is_directory(file.parent_path() / path, error)) {
      named.push_back(file.parent_path() / path);
    }
  }
  return named;
}

}  // namespace

std::vector<fs::path> files_named_by_test_cases(const fs::path& folder) {
  std::vector<fs::path> named;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().native().ends_with(k_test_suffix)) {
      std::ranges::move(files_named_by(entry->path()), std::back_inserter(named));
    }
  }
  return named;
}

}  // namespace config
