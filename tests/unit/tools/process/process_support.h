// What tests with real processes share: a folder, a call's context, and a look into /proc.
#pragma once
#include "agent/environment.h"
#include "tools/process/local_program_runner.h"
#include "tools/process/supervisor.h"
#include "tools/tool.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>

namespace tests {

// "" where it cannot be read, as of a process that ends meanwhile.
inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// False where it did not become true in time.
inline bool wait_until(const std::function<bool()>& is_true,
                       std::chrono::seconds patience = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// The pid that a script wrote into `path`, once it is there.
inline int pid_in(const std::filesystem::path& path) {
  CHECK(wait_until([&] { return read_text(path).ends_with('\n'); }));
  return std::atoi(read_text(path).c_str());
}

// A zombie has ended: only who reaps it is late.
inline bool is_running(int pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) != "Z";
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "errand-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// All that a call needs, with a supervisor of its own.
class ProcessWorld {
 public:
  ProcessWorld() {
    auto started = tools::Supervisor::start();
    REQUIRE(started);
    supervisor = std::move(*started);
    program_runner = std::make_unique<tools::LocalProgramRunner>(*supervisor);
  }

  tools::CallContext context() {
    return {.cwd = folder.path(),
            .temporary = temporary,
            .environment = environment,
            .program_runner = program_runner.get(),
            .stop = stop.get_token(),
            .kill = kill.get_token(),
            .on_output = [this](std::string_view bytes) {
              const std::lock_guard lock(mutex);
              live += bytes;
            }};
  }
  tools::ProgramControl control() {
    const tools::CallContext all = context();
    return {all.stop, all.kill, all.on_output};
  }
  std::string live_output() {
    const std::lock_guard lock(mutex);
    return live;
  }
  std::filesystem::path file(const std::string& name) const { return folder.path() / name; }

  TemporaryFolder folder;
  std::filesystem::path temporary = folder.path() / "temporary";
  agent::Environment environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  std::unique_ptr<tools::Supervisor> supervisor;
  std::unique_ptr<tools::LocalProgramRunner> program_runner;
  std::stop_source stop;
  std::stop_source kill;
  std::mutex mutex;
  std::string live;
};

}  // namespace tests
