#include "tools/builtin/deadline.h"

#include "agent/clock.h"
#include "agent/duration.h"

#include <fmt/format.h>

#include <atomic>
#include <stop_token>
#include <thread>
#include <utility>

namespace tools {
namespace {

class DeadlineTool final : public Tool {
 public:
  DeadlineTool(std::unique_ptr<Tool> tool, agent::Milliseconds timeout)
      : tool_(std::move(tool)), timeout_(timeout) {}

  const agent::ToolInfo& info() const override { return tool_->info(); }
  bool parallel() const override { return tool_->parallel(); }
  bool idempotent() const override { return tool_->idempotent(); }
  Access access(const agent::Json& arguments) const override { return tool_->access(arguments); }

  agent::Result<std::string> changes(const agent::Json& arguments,
                                     const CallContext& context) const override {
    return tool_->changes(arguments, context);
  }
  agent::Result<void> check_arguments(const agent::Json& arguments) const override {
    return tool_->check_arguments(arguments);
  }
  agent::Result<void> check(const agent::Json& arguments,
                            const CallContext& context) const override {
    return tool_->check(arguments, context);
  }

  void recall(const agent::Json& arguments) override { tool_->recall(arguments); }

  Output call(const agent::Json& arguments, const CallContext& context) override {
    std::stop_source stop;
    const std::stop_callback outer(context.stop, [&stop] { stop.request_stop(); });
    std::atomic<bool> is_late = false;
    std::jthread timer([this, &stop, &is_late](std::stop_token done) {
      agent::SystemClock clock;
      if (clock.sleep_for(timeout_, std::move(done))) {
        is_late = true;
        stop.request_stop();
      }
    });
    CallContext inner = context;
    inner.stop = stop.get_token();
    Output output = tool_->call(arguments, inner);
    timer.request_stop();
    timer.join();
    if (is_late && output.code == agent::Code::tool_cancelled) {
      output.code = agent::Code::tool_timeout;
      output.message =
          fmt::format("the call took longer than {}", agent::format_duration(timeout_));
    }
    return output;
  }

 private:
  std::unique_ptr<Tool> tool_;
  agent::Milliseconds timeout_;
};

}  // namespace

std::unique_ptr<Tool> with_deadline(std::unique_ptr<Tool> tool, agent::Milliseconds timeout) {
  return std::make_unique<DeadlineTool>(std::move(tool), timeout);
}

}  // namespace tools
