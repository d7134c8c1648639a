#include "config/test_case.h"

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
#include <map>
#include <system_error>
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
    {.path = "recording", .type = Type::text, .help = "The recording that answers, as `errand run --record` makes it. This or `replay`; neither is needed with `--live`, where the model itself answers.", .example = "greeting.cassette", .shape = Shape::filled},
    {.path = "replay", .type = Type::text, .help = "The script of replies and faults that answers. This or `recording`.", .example = "greeting.replay.yaml", .shape = Shape::filled},
    {.path = "workspace", .type = Type::text, .help = "A folder that is open to tools (see DESCRIPTION); the agent works in a copy of it that is thrown away. Left out, it works in the case file's own folder.", .example = "sample-project", .shape = Shape::filled},
    {.path = "timeout", .type = Type::duration, .help = "The case has failed where the run takes longer.", .example = "10s", .default_value = "60s"},
    {.path = "repeat", .type = Type::integer, .help = "How often the case runs, each time from the start. `--repeat` replaces it.", .example = "5", .default_value = "1", .min = 1, .max = 1000},
    {.path = "pass", .type = Type::text, .help = "How many of the runs have to pass: all, any (one is enough), or a share, rounded up to whole runs.", .example = "80%", .default_value = "all", .shape = Shape::pass_rule},
    {.path = "expect", .type = Type::map, .help = "What must hold. Left out: the run ends with a final answer.", .example = "{text: {contains: Hello}}"},
    {.path = "expect.exit_code", .type = Type::integer, .help = "How the run ends. The rest is looked at only where it ends so.", .example = "80", .default_value = "0", .min = 0, .max = 255},
    {.path = "expect.text", .type = Type::map, .help = "What the answer says; spaces and line breaks at its ends do not count.", .example = "{contains: Hello}"},
    {.path = "expect.text.equals", .type = Type::text, .help = "The whole answer.", .example = "Hello."},
    {.path = "expect.text.contains", .type = Type::texts, .help = "Texts that must each occur.", .example = "[Hello, world]"},
    {.path = "expect.text.contains[]", .type = Type::text, .help = "A text that must occur.", .example = "Hello", .shape = Shape::filled},
    {.path = "expect.text.matches", .type = Type::text, .help = "A regular expression (RE2) that must match somewhere.", .example = "\"^Hello\"", .shape = Shape::filled},
    {.path = "expect.tools", .type = Type::list_or_map, .help = "The tools that ran, in this order, each as often as it ran; [] for none. Or a map of the keys below.", .example = "[read_file, grep]"},
    {.path = "expect.tools[]", .type = Type::text, .help = "A tool's name.", .example = "read_file", .shape = Shape::filled},
    {.path = "expect.tools.in_order", .type = Type::texts, .help = "Tools that ran in this order; others may have run before, between and after them.", .example = "[read_file, write_file]"},
    {.path = "expect.tools.in_order[]", .type = Type::text, .help = "A tool's name.", .example = "read_file", .shape = Shape::filled},
    {.path = "expect.tools.never", .type = Type::texts, .help = "Tools that did not run; a name that neither the agent, another agent of it, nor errand has is a mistake; of a tool of an MCP server its server has to be there.", .example = "[shell]"},
    {.path = "expect.tools.never[]", .type = Type::text, .help = "A tool's name.", .example = "shell", .shape = Shape::filled},
    {.path = "expect.files", .type = Type::map, .help = "Files of the `workspace`, as they are in the agent's copy when the run is over; paths start there.", .example = "{out.txt: {contains: Ada}}", .shape = Shape::filled},
    {.path = "expect.files.*", .type = Type::map, .help = "What holds of the file.", .example = "{contains: Ada}"},
    {.path = "expect.files.*.exists", .type = Type::boolean, .help = "Whether it is there.", .example = "false", .default_value = "true"},
    {.path = "expect.files.*.equals", .type = Type::text, .help = "All that it says; spaces and line breaks at its ends do not count.", .example = "Hello, Ada."},
    {.path = "expect.files.*.contains", .type = Type::texts, .help = "Texts that must each occur.", .example = "Ada"},
    {.path = "expect.files.*.contains[]", .type = Type::text, .help = "A text that must occur.", .example = "Ada", .shape = Shape::filled},
    {.path = "expect.files.*.matches", .type = Type::text, .help = "A regular expression (RE2) that must match somewhere.", .example = "\"(?m)^Hello\"", .shape = Shape::filled},
    {.path = "expect.schema", .type = Type::text, .help = "The file of a JSON Schema that the answer, read as JSON, must fit.", .example = "verdict.schema.json", .shape = Shape::filled},
    {.path = "expect.judge", .type = Type::list, .help = "Sentences about the answer that a model must hold for true. It is asked last, where all else holds, and by `--live` alone unless it is a script. See JUDGES.", .example = "[{says: Names both files., model: openai/gpt-5-mini}]", .min = 1},
    {.path = "expect.judge[]", .type = Type::map, .help = "A sentence, and who judges.", .example = "{says: Names both files., model: openai/gpt-5-mini}"},
    {.path = "expect.judge[].says", .type = Type::text, .help = "What must be true of the answer.", .example = "Names both files.", .shape = Shape::filled, .required = true},
    {.path = "expect.judge[].model", .type = Type::text_or_map, .help = "The model that judges, as PROVIDER/NAME, or a map with the keys of an agent's `model`; replay/SCRIPT.yaml plays a script.", .example = "openai/gpt-5-mini", .shape = Shape::named_model, .required = true, .same_as = "model"},
    {.path = "expect.judge[].votes", .type = Type::integer, .help = "How often it is asked. Where its answers differ, it has no opinion.", .example = "3", .default_value = "1", .min = 1, .max = 9},
    {.path = "expect.judge[].timeout", .type = Type::duration, .help = "How long each answer may take.", .example = "30s", .default_value = "1m"},
    {.path = "expect.max_cost_usd", .type = Type::money, .help = "The most that each run may cost, in US dollars, judges not counted. A cost that is not known fails. Not for a script, which costs nothing.", .example = "0.05", .may_be_zero = true},
    // clang-format on
});

class CaseBuilder {
 public:
  CaseBuilder(const fs::path& file, Problems& problems, Problems& needs_live)
      : folder_(file.parent_path()), problems_(problems), needs_live_(needs_live) {
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
    if (const Value* repeat = value_at(root, "repeat")) {
      case_.repeat = static_cast<std::size_t>(integer_of(*repeat).value_or(1));
    }
    case_.pass = PassRule::parse(text_at(root, "pass")).value_or(PassRule());
    if (problems_.is_empty()) {  // else a misspelt key may be what is missing
      check_one_source(root);
    }
    if (const Value* expect = value_at(root, "expect")) {
      const CaseSetting setting{.folder = folder_,
                                .has_workspace = !case_.workspace.empty(),
                                .has_script = !case_.replay.empty()};
      case_.expect = build_expectations(*expect, setting, problems_, needs_live_);
    }
    return std::move(case_);
  }

 private:
  // A run without either asks a real server, and costs money.
  void check_one_source(const Value& root) {
    const Entry* recording = root.find("recording");
    const Entry* replay = root.find("replay");
    if (recording != nullptr && replay != nullptr) {
      problems_.add(replay->key_span,
                    "`replay` and `recording` are both given: only one can answer",
                    "take one of them out");
    } else if (recording == nullptr && replay == nullptr) {
      needs_live_.add(
          root.span,
          "nothing answers in the model's place: `recording` or `replay` is missing",
          "`recording: FILE` of `errand run --record FILE`, or `replay: SCRIPT.yaml`; or "
          "ask the model itself: errand test --live");
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

  const fs::path folder_;
  Problems& problems_;
  Problems& needs_live_;
  TestCase case_;
};

}  // namespace

std::span<const Key> test_case_keys() {
  return k_case_keys;
}

namespace {

// A judge's model has the keys that an agent's has, which are no keys of the case itself.
std::vector<Key> keys_with_models() {
  std::vector<Key> all(k_case_keys.begin(), k_case_keys.end());
  std::ranges::copy_if(keys(), std::back_inserter(all), [](const Key& key) {
    return key.path.starts_with("model.");
  });
  return all;
}

std::expected<TestCase, std::vector<agent::Error>> parse_test_case(std::string text,
                                                                   const fs::path& file) {
  auto source = Source::create(std::move(text), file.string());
  if (!source) {
    return std::unexpected(std::vector{std::move(source).error()});
  }
  Problems problems(*source);
  Problems needs_live(*source);
  TestCase test;
  if (const auto root = parse_yaml(*source, {0, source->text().size()}, {}, problems)) {
    check(*root, keys_with_models(), {}, problems);
    test = CaseBuilder(file, problems, needs_live).build(*root);
  }
  if (!problems.is_empty()) {
    return std::unexpected(problems.take_errors());
  }
  test.warnings = problems.take_warnings();
  test.needs_live = needs_live.take_errors();
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
  if (root) {
    for (const Value& judge : map_at(map_at(*root, "expect"), "judge").items) {
      if (fs::path script = script_of_judge(judge, file.parent_path()); !script.empty()) {
        named.push_back(std::move(script));
      }
    }
  }
  return named;
}

}  // namespace

std::vector<fs::path> files_named_by_test_cases(const fs::path& folder) {
  std::multimap<std::uintmax_t, fs::path> smallest_first;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().native().ends_with(k_test_suffix)) {
      smallest_first.emplace(fs::file_size(entry->path(), ignored), entry->path());
    }
  }
  std::uintmax_t room = 1U << 20;  // bytes, of all of them: nothing ends it before its time
  std::vector<fs::path> named;
  for (const auto& [size, file] : smallest_first) {
    if (size > room) {
      break;
    }
    room -= size;
    std::ranges::move(files_named_by(file), std::back_inserter(named));
  }
  return named;
}

}  // namespace config
