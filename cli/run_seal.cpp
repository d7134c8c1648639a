#include "cli/run_seal.h"

#include "agent/descriptor.h"
#include "agent/sha256.h"
#include "cli/user_folders.h"
#include "config/yaml/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <system_error>
#include <unistd.h>

namespace cli {
namespace {

namespace fs = std::filesystem;
using agent::Code;
using agent::Result;

constexpr std::size_t k_key_digits = 64;

std::optional<std::string> read_key(const fs::path& file) {
  auto text = config::read_text_file(file, k_key_digits);
  return text && text->size() == k_key_digits ? std::optional(*std::move(text)) : std::nullopt;
}

// Whole from the first moment on: of two processes or threads that make one, one is the first.
void make_key(const fs::path& file) {
  std::random_device random;
  std::string key;
  while (key.size() < k_key_digits) {
    key += fmt::format("{:08x}", random());
  }
  const std::string temporary = fmt::format("{}.{}.{:08x}", file.string(), ::getpid(), random());
  const agent::Descriptor opened(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (opened && agent::write_all(opened.get(), key) == 0) {
    ::link(temporary.c_str(), file.c_str());
  }
  if (opened) {
    ::unlink(temporary.c_str());
  }
}

// Whether tools can reach it: what is in the working folder is theirs to read.
bool is_in_work(const fs::path& folder, const fs::path& work) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(folder, error);
  return error || std::ranges::mismatch(work, real).in1 == work.end();
}

}  // namespace

Result<std::string> seal_key(const agent::Environment& environment, const fs::path& cwd) {
  const fs::path folder = state_folder(environment);
  if (!folder.is_absolute()) {
    return agent::fail(
        Code::cli_usage, "neither XDG_STATE_HOME nor HOME is set", "set one of them");
  }
  if (is_in_work(folder, cwd)) {
    return agent::fail(
        Code::cli_usage,
        fmt::format("{} is in the working folder, where tools can read what is in it",
                    folder.string()),
        "work in another folder, or have XDG_STATE_HOME name one elsewhere");
  }
  const fs::path file = folder / "run-seal.key";
  if (auto key = read_key(file)) {
    return *std::move(key);
  }
  std::error_code error;
  fs::create_directories(folder, error);  // a journal elsewhere has not made it
  make_key(file);
  if (auto key = read_key(file)) {
    return *std::move(key);
  }
  return fs::exists(fs::symlink_status(file, error))
             ? agent::fail(
                   Code::storage_io,
                   fmt::format("{} cannot be read, or is not a key", file.string()),
                   "put a backup in its place; or take it away: a new one is made, and no run "
                   "from before is known as yours then")
             : agent::fail(Code::storage_io,
                           fmt::format("{} cannot be made", file.string()),
                           "make its folder writable");
}

std::string seal_of(const std::string& key,
                    const std::string& run_id,
                    const agent::RunStarted& started) {
  const std::string text = agent::length_prefixed({run_id,
                                                   started.agent_file,
                                                   started.model,
                                                   started.cwd,
                                                   started.instructions,
                                                   started.plan.output_schema,
                                                   started.made_from.agent_text,
                                                   started.made_from.agent_folder});
  std::string options;
  for (const std::string& option : started.made_from.options) {
    options += agent::length_prefixed({option});
  }
  return agent::hmac_sha256_hex(key, text + options);
}

}  // namespace cli
