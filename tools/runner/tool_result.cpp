#include "tools/runner/tool_result.h"

#include "agent/descriptor.h"
#include "agent/text.h"
#include "tools/feedback.h"
#include "tools/runner/fence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

using agent::Code;
using agent::Descriptor;
using agent::ToolStatus;
namespace fs = std::filesystem;

constexpr std::size_t k_max_message = 2'000;  // bytes
constexpr std::size_t k_room_for_line = 512;  // bytes, for where text is cut
constexpr std::string_view k_in_the_fence =
    "the call failed; why stands below, as data from outside";

std::string_view suffix(std::string_view text, std::size_t limit) {
  std::size_t from = text.size() - std::min(limit, text.size());
  while (from < text.size() && agent::is_continuation(text[from])) {
    ++from;
  }
  return text.substr(from);
}

// 0, or errno. Nobody but the user may look in.
int make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

ToolStatus status_of(const Output& output) {
  if (!output.code) {
    return ToolStatus::ok;
  }
  const Code code = *output.code;
  if (code == Code::tool_not_found || code == Code::tool_invalid_parameters ||
      code == Code::tool_type_mismatch) {
    return ToolStatus::invalid;
  }
  if (code == Code::tool_policy_blocked) {
    return ToolStatus::denied;
  }
  if (code == Code::tool_confirmation_required || code == Code::run_declined) {
    return ToolStatus::not_run;
  }
  if (code == Code::tool_timeout) {
    return ToolStatus::timed_out;
  }
  return code == Code::tool_cancelled ? ToolStatus::cancelled : ToolStatus::failed;
}

std::string ResultMaker::clean(std::string_view bytes, const Fence* fence) const {
  std::string text = agent::to_valid_utf8(bytes);
  if (redactor_ != nullptr) {
    text = agent::to_valid_utf8(redactor_->apply(text));
  }
  return fence != nullptr ? fence->defused(std::move(text)) : text;
}

agent::ToolResult ResultMaker::make(const std::string& call_id,
                                    const std::string& name,
                                    Output output,
                                    const Fence* fence) {
  agent::ToolResult result{.call_id = call_id,
                           .name = name,
                           .content = {},
                           .status = status_of(output),
                           .code = output.code,
                           .message = one_line(clean(output.message, fence), k_max_message),
                           .help = clean(output.help, fence),
                           .task_failed = output.task_failed,
                           .full_output = {},
                           .exit_status = output.exit_status};
  std::string block;
  if (output.code) {
    if (result.message.empty()) {
      result.message = "the tool gave no reason";
    }
    const bool is_fenced = fence != nullptr && output.quotes;
    if (is_fenced && output.text.empty()) {
      output.text = result.message;
    }
    block = error_block(*output.code,
                        is_fenced ? k_in_the_fence : std::string_view(result.message),
                        clean(output.suggestion, fence),
                        output.idempotent);
  }
  output.text = clean(output.text, fence);
  put_content(result, output, block, fence);
  return result;
}

void ResultMaker::put_content(agent::ToolResult& result,
                              const Output& output,
                              std::string_view block,
                              const Fence* fence) {
  if (output.text.empty()) {
    result.content = block.empty() ? "[no output]" : std::string(block);
    return;
  }
  const std::string head = (block.empty() ? std::string() : fmt::format("{}\n\n", block)) +
                           (fence != nullptr ? fence->head() : "");
  const std::string foot = fence != nullptr ? fence->foot() : "";
  const bool is_partial = output.total_bytes > 0;  // who could keep the whole was the tool
  if (!is_partial && head.size() + output.text.size() + foot.size() <= k_max_content) {
    result.content = head + output.text + foot;
    return;
  }
  result.truncated = true;
  result.full_output = is_partial ? output.spill_path : keep(output.text);
  const std::uint64_t total = is_partial ? output.total_bytes : output.text.size();
  const std::string line =
      fmt::format("\n[… cut here: the output has {} bytes; {} …]\n",
                  total,
                  result.full_output.empty() ? "the rest could not be kept"
                                             : "the whole is in the file " + result.full_output);
  // The file's path is another one when a run is replayed: the text is cut at the same place.
  const std::size_t around = head.size() + std::max(line.size(), k_room_for_line) + foot.size();
  const std::size_t room = k_max_content - std::min(k_max_content, around);
  const std::size_t half = std::min(room, output.text.size()) / 2;
  result.content = head;
  result.content += agent::prefix(output.text, half);
  result.content += line;
  result.content += suffix(output.text, half);
  result.content += foot;
}

// The path of the new file, or empty where it cannot be written.
std::string ResultMaker::keep(std::string_view whole) {
  if (make_folder(temporary_) != 0) {
    return {};
  }
  constexpr int k_max_files = 100'000;
  while (++files_ < k_max_files) {
    const fs::path path = temporary_ / fmt::format("output-{}.txt", files_);
    const Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == EEXIST) {
      continue;  // of the same run, before it was resumed
    }
    if (!file) {
      break;
    }
    if (agent::write_all(file.get(), whole) != 0) {
      ::unlink(path.c_str());
      break;
    }
    return path.string();
  }
  return {};
}

}  // namespace tools
