#include "cli/start_progress.h"

#include "cli/terminal/event_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace cli {

StartProgress::StartProgress(std::vector<std::string> servers, Progress* progress)
    : waiting_(std::move(servers)), progress_(progress) {
  show();
}

StartProgress::~StartProgress() {
  waiting_.clear();
  show();
}

void StartProgress::on_started(const tools::mcp::StartedServer& server) {
  std::erase(waiting_, server.name);
  if (progress_ != nullptr && server.is_ready) {
    progress_->tell_of_start(fmt::format("MCP server {}: {}, {} tool{}, {}",
                                         name_of(server.name),
                                         server.revision,
                                         server.tools,
                                         server.tools == 1 ? "" : "s",
                                         duration_words(server.took.count())));
  }
  show();
}

void StartProgress::show() {
  if (progress_ != nullptr) {
    progress_->start(waiting_.empty()
                         ? std::string()
                         : fmt::format("starting MCP servers: {}", fmt::join(waiting_, ", ")));
  }
}

}  // namespace cli
