#include "cli/prompt_input.h"

#include "agent/duration.h"
#include "agent/refusal.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {
namespace {

constexpr std::size_t k_max_bytes = 16u << 20;
constexpr std::chrono::minutes k_silence{10};  // between two bytes: a slow writer is welcome

std::unexpected<agent::Error> no_input(std::string message, std::string help) {
  return agent::fail(agent::Code::cli_no_input, std::move(message), std::move(help));
}

agent::Result<std::string> read_all(int descriptor,
                                    std::string_view name,
                                    std::chrono::milliseconds first_byte) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    const auto wait = text.empty() ? first_byte : std::chrono::milliseconds(k_silence);
    const int count = ::poll(&ready, 1, static_cast<int>(wait.count()));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count == 0) {
      return no_input(
          fmt::format("nothing came from {} within {}", name, agent::format_duration(wait)),
          "give the prompt on the command line, or close the pipe (`</dev/null`)");
    }
    const ssize_t bytes = ::read(descriptor, buffer.data(), buffer.size());
    if (bytes < 0 && errno != EINTR && errno != EAGAIN) {
      return no_input(fmt::format("cannot read {}: {}", name, std::strerror(errno)),
                      "give the prompt on the command line");
    }
    if (bytes == 0) {
      if (const auto why = agent::why_not_text(text)) {
        return no_input(fmt::format("{} is not text: {}", name, *why),
                        "give text as UTF-8; to attach a picture or a PDF, name its file in the "
                        "prompt, as in \"What is this? @scan.pdf\"");
      }
      return text;
    }
    text.append(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    if (text.size() > k_max_bytes) {
      return agent::fail(agent::Code::cli_usage,
                         fmt::format("{} holds more than 16 MiB", name),
                         "let the agent read large inputs with a tool instead");
    }
  }
}

agent::Result<std::string> read_stdin(const PromptSources& sources) {
  if (::isatty(sources.stdin_descriptor) == 1) {
    return no_input("no prompt, and standard input is a terminal",
                    "give one: `errand run AGENT \"what to do\"`, or pipe it in");
  }
  return read_all(sources.stdin_descriptor, "standard input", sources.first_byte);
}

agent::Result<std::string> read_file(const std::string& file, const PromptSources& sources) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return no_input(fmt::format("cannot read the prompt file `{}`: {}", file, std::strerror(errno)),
                    "check the path; `-` reads standard input");
  }
  auto text = read_all(descriptor, "`" + file + "`", sources.first_byte);
  ::close(descriptor);
  return text;
}

agent::Result<std::string> join_words(const PromptSources& sources) {
  std::string prompt;
  bool was_input = false;
  for (const std::string& word : sources.words) {
    const bool is_input = word == "-";
    std::string part = word;
    if (const auto why = agent::why_not_text(word)) {
      return agent::fail(
          agent::Code::cli_usage, "the prompt is not valid text: " + *why, "give it as UTF-8");
    }
    if (is_input) {
      TRY_ASSIGN(part, read_stdin(sources));
      if (agent::is_blank(part)) {
        return no_input("standard input is empty, and `-` asks for it",
                        "see whether the command before the pipe failed, or leave the `-` out");
      }
    }
    prompt += prompt.empty() ? "" : is_input || was_input ? "\n\n" : " ";
    prompt += part;
    was_input = is_input;
  }
  return prompt;
}

agent::Result<std::string> read_source(const PromptSources& sources) {
  if (!sources.words.empty()) {
    return join_words(sources);
  }
  if (sources.file && *sources.file != "-") {
    return read_file(*sources.file, sources);
  }
  return read_stdin(sources);
}

}  // namespace

agent::Result<std::optional<std::string>> read_prompt(const PromptSources& sources) {
  if (!sources.words.empty() && sources.file) {
    return agent::fail(agent::Code::cli_usage,
                       "the prompt is given twice: as text and as --prompt-file",
                       "leave one of them out");
  }
  if (sources.words.empty() && !sources.file && sources.agent_has_prompt) {
    return std::nullopt;
  }
  TRY_ASSIGN(std::string prompt, read_source(sources));
  if (agent::is_blank(prompt)) {
    return no_input("the prompt is empty", "say what the agent is to do");
  }
  return prompt;
}

bool reads_stdin(const PromptSources& sources) {
  if (!sources.words.empty()) {
    return std::ranges::find(sources.words, "-") != sources.words.end();
  }
  return sources.file ? *sources.file == "-" : !sources.agent_has_prompt;
}

bool holds_bytes(int pipe) {
  struct stat status{};
  int ready = 0;
  return ::fstat(pipe, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) &&
         ::ioctl(pipe, FIONREAD, &ready) == 0 && ready > 0;
}

}  // namespace cli
