#include "cli/run_seal.h"

#include "agent/descriptor.h"
#include "agent/sha256.h"
#include "cli/user_folders.h"
#include "config/yaml/source.h"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_key_bytes = 64;  // hexadecimal digits

std::optional<std::string> read_key(const fs::path& file) {
  auto text = config::read_text_file(file, k_key_bytes);
  return text && text->size() == k_key_bytes ? std::optional(*std::move(text)) : std::nullopt;
}

// Whole from the first moment on: of two processes that make one, one is the first.
void make_key(const fs::path& file) {
  std::random_device random;
  std::string key;
  while (key.size() < k_key_bytes) {
    key += fmt::format("{:08x}", random());
  }
  const std::string temporary = fmt::format("{}.{}", file.string(), ::getpid());
  const agent::Descriptor opened(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (opened && agent::write_all(opened.get(), key) == 0) {
    ::link(temporary.c_str(), file.c_str());
  }
  if (opened) {
    ::unlink(temporary.c_str());
  }
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  }
  return bytes;
}

// RFC 2104.
std::string hmac_sha256(std::string_view key, std::string_view text) {
  constexpr std::size_t k_block = 64;
  std::string inner(k_block, '\x36');
  std::string outer(k_block, '\x5c');
  for (std::size_t at = 0; at < key.size() && at < k_block; ++at) {
    inner[at] = static_cast<char>(inner[at] ^ key[at]);
    outer[at] = static_cast<char>(outer[at] ^ key[at]);
  }
  return agent::sha256_hex(outer + bytes_of(agent::sha256_hex(inner.append(text))));
}

}  // namespace

std::optional<std::string> seal_key(const agent::Environment& environment) {
  const fs::path folder = state_folder(environment);
  if (!folder.is_absolute()) {
    return std::nullopt;
  }
  const fs::path file = folder / "run-seal.key";
  if (auto key = read_key(file)) {
    return key;
  }
  make_key(file);
  return read_key(file);
}

std::string seal_of(const std::string& key,
                    const std::string& run_id,
                    const agent::RunStarted& started) {
  std::string text;
  const auto add = [&](std::string_view part) { text += fmt::format("{}:{}", part.size(), part); };
  add(run_id);
  add(started.agent_file);
  add(started.model);
  add(started.cwd);
  add(started.instructions);
  add(started.plan.output_schema);
  add(started.made_from.agent_text);
  add(started.made_from.agent_folder);
  for (const std::string& option : started.made_from.options) {
    add(option);
  }
  return hmac_sha256(key, text);
}

}  // namespace cli
