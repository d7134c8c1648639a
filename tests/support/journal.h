// Journals for tests, in folders that go away.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "agent/spec.h"
#include "agent/store/sqlite_journal.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace tests {

inline const agent::Redactor& no_secrets() {
  static const agent::Redactor redactor({});
  return redactor;
}

// One event, made durable.
inline agent::Result<void> keep(agent::store::SqliteJournal& journal, const agent::Event& event) {
  journal.append(event);
  return journal.commit();
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "errand-journal-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline agent::Event event(const std::string& run_id, std::int64_t seq, agent::EventBody body) {
  const std::chrono::system_clock::time_point time{
      std::chrono::milliseconds{1'795'253'400'123 + seq}};
  return {.run_id = run_id, .seq = seq, .time = time, .body = std::move(body)};
}

inline agent::EventBody finished_tool(const std::string& content) {
  agent::ToolFinished body;
  body.turn = 1;
  body.result.call_id = "call_1";
  body.result.name = "shell";
  body.result.content = content;
  return body;
}

inline std::unique_ptr<agent::store::SqliteJournal> opened(
    const std::filesystem::path& file,
    agent::SessionSpec::Durability durability = agent::SessionSpec::Durability::process) {
  auto journal = agent::store::SqliteJournal::open(file, durability, no_secrets());
  if (!journal) {
    FAIL(journal.error().message);
  }
  return std::move(*journal);
}

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace tests
