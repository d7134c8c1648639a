#include "cli/batch_input.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using cli::BatchInput;
using cli::BatchItem;
using cli::InputFormat;

agent::AgentSpec agent_with(std::vector<std::string> parameters) {
  agent::AgentSpec agent;
  for (std::string& name : parameters) {
    agent.parameters.push_back({.name = std::move(name)});
  }
  return agent;
}

class InputFile {
 public:
  InputFile(const std::string& name, const std::string& content) {
    std::string folder = (fs::temp_directory_path() / "errand-test-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    path_ = fs::path(folder) / name;
    std::ofstream(path_) << content;
  }
  ~InputFile() { fs::remove_all(path_.parent_path()); }

  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

struct Read {
  std::vector<BatchItem> items;
  std::string error;
};

Read all_of(const std::string& name,
            const std::string& content,
            const agent::AgentSpec& agent = agent_with({"target"})) {
  const InputFile file(name, content);
  auto input = BatchInput::open(file.path(), std::nullopt, agent);
  Read read;
  if (!input) {
    read.error = input.error().message;
    return read;
  }
  for (;;) {
    auto item = input->next({});
    if (!item) {
      read.error = item.error().message;
      return read;
    }
    if (!*item) {
      return read;
    }
    read.items.push_back(**std::move(item));
  }
}

std::string mistake_in(const std::string& name, const std::string& content) {
  const Read read = all_of(name, content);
  REQUIRE(read.items.size() == 1);
  return read.items.front().mistake ? read.items.front().mistake->message : "";
}

}  // namespace

TEST_CASE("batch input: a line is a prompt, with its number, and blank ones are none", "[cli]") {
  const auto [items, error] = all_of("in.txt",
                                     "\xEF\xBB\xBF"
                                     "one\r\n\n \t\nwithout an end");
  CHECK(error.empty());
  REQUIRE(items.size() == 2);
  CHECK(items[0].said.prompt == "one");
  CHECK(items[0].line == 1);
  CHECK(items[0].bytes == 8);
  CHECK(items[1].index == 2);
  CHECK(items[1].line == 4);
  CHECK(items[1].said.prompt == "without an end");
}

TEST_CASE("batch input: an object gives parameters, a prompt and an id", "[cli]") {
  const auto [items, error] = all_of("in.jsonl",
                                     R"({"target": 1.50, "id": 12, "prompt": "Do it"})"
                                     "\n"
                                     R"({"target": true, "id": null})");
  REQUIRE(items.size() == 2);
  CHECK(items[0].said.parameters == std::map<std::string, std::string>{{"target", "1.50"}});
  CHECK(items[0].id == "12");
  CHECK(items[0].said.prompt == "Do it");
  CHECK(items[1].said.parameters == std::map<std::string, std::string>{{"target", "true"}});
  CHECK(items[1].id.empty());
  CHECK_FALSE(items[1].said.prompt);
}

TEST_CASE("batch input: a name that the agent has is its parameter, whatever it says", "[cli]") {
  const auto [items, error] =
      all_of("in.ndjson", R"({"prompt": "p", "id": "i"})", agent_with({"prompt", "id"}));
  REQUIRE(items.size() == 1);
  CHECK(items[0].said.parameters ==
        std::map<std::string, std::string>{{"id", "i"}, {"prompt", "p"}});
  CHECK_FALSE(items[0].said.prompt);
  CHECK(items[0].id == "i");
}

TEST_CASE("batch input: quotes keep commas, quotes and line ends in a field", "[cli]") {
  const auto [items, error] =
      all_of("in.csv", "id,target\n1,\"a, \"\"b\"\"\nc\"\n2,5\" wide\n3,\n");
  CHECK(error.empty());
  REQUIRE(items.size() == 3);
  CHECK(items[0].said.parameters.at("target") == "a, \"b\"\nc");
  CHECK(items[0].text == "1,\"a, \"\"b\"\"\nc\"");
  CHECK(items[1].line == 4);
  CHECK(items[1].said.parameters.at("target") == "5\" wide");
  CHECK(items[2].said.parameters.empty());
}

TEST_CASE("batch input: what is wrong with one input is said of that one", "[cli]") {
  CHECK(mistake_in("in.jsonl", R"({"x": 1})") == "`x` is not a parameter of the agent");
  CHECK(mistake_in("in.jsonl", R"({"target": {}})") ==
        "the value of `target` is an object or a list");
  CHECK(mistake_in("in.jsonl", "[]") == "the line is not a JSON object");
  CHECK(mistake_in("in.jsonl", "{") == "the line is not valid JSON");
  CHECK(mistake_in("in.csv", "target\n\"a\"b\n") ==
        "something follows a closing quote; a quote in quotes is doubled");
  CHECK(mistake_in("in.csv", "target\n\"a\n") == "a quote is opened and never closed");
  CHECK(mistake_in("in.csv", "target\na,b\n") == "the row has 2 fields, and the header has 1");
  CHECK(mistake_in("in.txt", "a\xFF") == "the input is not text: byte 2 (0xFF) is not UTF-8");
  CHECK(mistake_in("in.txt", std::string("a\0b", 3)).starts_with("the input is not text"));
}

TEST_CASE("batch input: a header that names nothing of the agent's is the end", "[cli]") {
  CHECK(all_of("in.csv", "target,targte\n").error ==
        "column 2, `targte`, is not a parameter of the agent");
  CHECK(all_of("in.csv", "target,target\n").error == "the column `target` appears twice");
  CHECK(all_of("in.csv", "\"target\n").error == "a quote is opened and never closed");
  CHECK(all_of("in.csv", "").items.empty());
  CHECK(all_of("in.csv", "target\n").items.empty());
}

TEST_CASE("batch input: a name that says nothing needs a format", "[cli]") {
  CHECK(all_of("in.json", "{}").error.ends_with("does not follow from its name"));
  CHECK(BatchInput::open("-", std::nullopt, {}).error().message ==
        "what standard input holds does not follow from its name");
}

TEST_CASE("batch input: inputs of any length come whole, up to 16 MiB", "[cli]") {
  std::string content;
  std::vector<std::string> lines;
  for (const std::size_t size : {1, 65'535, 65'536, 65'537, 200'000, 1}) {
    lines.emplace_back(size, static_cast<char>('a' + lines.size()));
    content += lines.back() + "\n";
  }
  const auto [items, error] = all_of("in.txt", content);
  REQUIRE(items.size() == lines.size());
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < items.size(); ++at) {
    CHECK(items[at].said.prompt == lines[at]);
    bytes += items[at].bytes;
  }
  CHECK(bytes == content.size());
}

TEST_CASE("batch input: one over 16 MiB fails alone", "[cli]") {
  const std::string name = GENERATE(as<std::string>(), "in.txt", "in.jsonl", "in.csv");
  const bool is_csv = name == "in.csv";
  const std::string quote = is_csv ? "\"" : "";
  const std::string good = name == "in.jsonl" ? "{}" : "a";
  const std::string end = GENERATE("\n", "");
  const std::string content = (is_csv ? "id\n" : "") + good + "\n" + quote +
                              std::string(40u << 20, 'x') + quote + "\n" + good + end;
  const auto [items, error] = all_of(name, content);
  CHECK(error.empty());
  REQUIRE(items.size() == 3);
  REQUIRE(items[1].mistake);
  CHECK(items[1].mistake->message == "the input is longer than 16 MiB");
  CHECK(items[1].text.empty());
  CHECK(items[1].line == (is_csv ? 3 : 2));
  CHECK_FALSE(items[2].mistake);
  CHECK(items[2].line == (is_csv ? 4 : 3));
  CHECK(items[2].text == good);
}

TEST_CASE("batch input: a pipe that is silent is left at the stop", "[cli]") {
  const InputFile place("pipe.txt", "");
  fs::remove(place.path());
  REQUIRE(::mkfifo(place.path().c_str(), 0600) == 0);
  std::thread writer([&] {
    std::ofstream out(place.path());
    out << "first\nsecond without an end" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  const agent::AgentSpec agent = agent_with({});
  auto input = BatchInput::open(place.path(), std::nullopt, agent);
  REQUIRE(input);
  CHECK_FALSE(input->size());
  auto first = input->next({});
  REQUIRE((first && *first));
  CHECK((*first)->said.prompt == "first");
  std::stop_source stop;
  stop.request_stop();
  const auto none = input->next(stop.get_token());
  REQUIRE(none);
  CHECK_FALSE(*none);
  writer.join();
}
