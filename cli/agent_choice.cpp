#include "cli/agent_choice.h"

#include "agent/absence.h"
#include "agent/text.h"
#include "config/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using agent::Code;
using agent::Result;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> k_agent_files = {
    "agent.yaml", "agent.yml", "errand.yaml", "agent.md"};
constexpr std::array<std::string_view, 4> k_endings = {".yaml", ".yml", ".md", ".json"};
constexpr std::array<std::string_view, 4> k_fronts = {"/", "./", "../", "~/"};

bool is_present(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool has_agent_ending(std::string_view word) {
  return std::ranges::any_of(k_endings, [&](auto ending) { return word.ends_with(ending); });
}

bool has_blanks(std::string_view word) {
  return word.find_first_of(" \t\r\n") != std::string_view::npos;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// A sentence may name a path, and begin with one; it is none unless all of it is.
bool looks_like_path(const std::string& word, const fs::path& folder) {
  const bool is_like_one = word.contains('/') || has_agent_ending(word);
  if (!has_blanks(word)) {
    return is_like_one;
  }
  return std::ranges::any_of(k_fronts, [&](auto front) { return word.starts_with(front); }) ||
         (is_like_one && is_file(folder / word));
}

// `review` for review.yaml.
std::optional<std::string> file_meant(const std::string& word, const fs::path& folder) {
  for (const std::string_view ending : k_endings) {
    if (std::string file = word + std::string(ending); is_file(folder / file)) {
      return file;
    }
  }
  return std::nullopt;
}

// One word of a shell that is pasted into.
std::string as_word(std::string_view text) {
  return agent::one_line(agent::shell_word(text));
}

// `file` is empty where what is there can be no agent.
std::unexpected<agent::Error> two_readings(std::string why,
                                           const std::string& word,
                                           const std::string& file) {
  const std::string as_agent =
      file.empty() ? std::string()
                   : fmt::format("`errand run {}` runs it as an agent; ", as_word("./" + file));
  return agent::fail(
      Code::cli_usage,
      std::move(why),
      fmt::format("{}`errand run --prompt {}` gives the word to the agent of this folder",
                  as_agent,
                  as_word(word)));
}

Result<bool> is_agent(const std::string& word, const fs::path& folder) {
  if (word.empty() || word == "-" || word.starts_with('@')) {
    return false;
  }
  if (looks_like_path(word, folder)) {
    return true;
  }
  const std::string shown = agent::one_line(word);
  if (is_present(folder / word)) {
    if (agents_of_folder(folder).empty()) {
      return true;
    }
    return two_readings(fmt::format("`{}` is in this folder, and could be a prompt as well", shown),
                        word,
                        is_file(folder / word) ? word : "");
  }
  if (const auto meant = has_blanks(word) ? std::nullopt : file_meant(word, folder)) {
    return two_readings(
        fmt::format("there is no file `{}`, but `{}`", shown, agent::one_line(*meant)),
        word,
        *meant);
  }
  return false;
}

// `errand run "Look into this" review.yaml`: the folder's agent would take it for words.
Result<void> check_no_agent_follows(const std::vector<std::string>& words, const fs::path& folder) {
  for (const std::string& word : words) {
    if ((word.ends_with(".yaml") || word.ends_with(".yml")) && is_present(folder / word)) {
      return agent::fail(
          Code::cli_usage,
          fmt::format("`{}` follows the prompt", agent::one_line(word)),
          fmt::format("an agent stands before it: `errand run {} …`; a prompt that names the file "
                      "follows --prompt",
                      as_word(word)));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> agents_right_in(const fs::path& folder) {
  constexpr int k_most_files = 10'000;
  std::vector<std::string> found = agents_of_folder(folder);
  std::error_code error;
  int seen = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (++seen > k_most_files) {
      break;
    }
    if (has_agent_ending(name) && std::ranges::find(found, name) == found.end() &&
        config::looks_like_agent(entry->path())) {
      found.push_back(std::move(name));
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> agents_of_folder(const fs::path& folder) {
  std::vector<std::string> found;
  for (const std::string_view name : k_agent_files) {
    std::error_code error;
    if (!agent::is_absent(folder / name) && !fs::is_directory(folder / name, error)) {
      found.emplace_back(name);
    }
  }
  return found;
}

Result<std::string> agent_of_folder(const fs::path& folder) {
  const std::vector<std::string> found = agents_of_folder(folder);
  if (found.size() == 1) {
    return found.front();
  }
  if (found.empty()) {
    return agent::fail(Code::cli_no_input,
                       fmt::format("no agent file is named, and this folder has none ({})",
                                   fmt::join(k_agent_files, ", ")),
                       "name one: `errand run review.yaml \"what to do\"`; `errand init` writes a "
                       "first agent.yaml");
  }
  return agent::fail(Code::cli_usage,
                     fmt::format("no agent file is named, and this folder has several: {}",
                                 fmt::join(found, ", ")),
                     fmt::format("name the one that is meant: `errand run {}`", found.front()));
}

Result<AgentChoice> choose_agent(const Parsed& parsed, const fs::path& folder) {
  const std::vector<std::string>& words = parsed.positionals;
  const bool has_prompt = parsed.has("--prompt") || parsed.has("--prompt-file");
  bool is_named = !words.empty();
  if (is_named && !has_prompt) {
    TRY_ASSIGN(is_named, is_agent(words.front(), folder));
  }
  if (is_named) {
    return AgentChoice{.file = words.front(), .prompt = {words.begin() + 1, words.end()}};
  }
  TRY(check_no_agent_follows(words, folder));
  TRY_ASSIGN(std::string file, agent_of_folder(folder));
  return AgentChoice{.file = std::move(file), .is_named = false, .prompt = words};
}

}  // namespace cli
