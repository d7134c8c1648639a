// The makers of the built-in tools but shell, one source file each. Which of them an agent
// gets, and under which name, is registry.h's.
#pragma once
#include "agent/result.h"
#include "agent/spec.h"
#include "tools/tool.h"

#include <cstddef>
#include <memory>
#include <utility>

namespace tools {

// What the makers below return: thread-safe, and but for todo without state of its own.
std::unique_ptr<Tool> make_read_file(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_write_file(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_edit_file(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_apply_patch(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_ask_user(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_git_commit(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_git_switch(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_list_directory(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_glob(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_grep(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_read_result(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_task_failed(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_todo(const agent::ToolSpec& spec);
std::unique_ptr<Tool> make_web_fetch(const agent::ToolSpec& spec);

// sandbox.violation where the file tools would refuse one of the files.
agent::Result<void> check_access(const Access& access, const CallContext& context);

// How much of its own output a tool shows before it says how to go on: below the runner's cap, so
// that nothing is cut out of the middle.
constexpr std::size_t k_page_bytes = 28'000;

// A tool that is a function.
class FunctionTool final : public Tool {
 public:
  using Call = Output (*)(const agent::Json& arguments, const CallContext& context);
  struct Policy {
    bool parallel = false;
    bool idempotent = false;
    Access::Kind access = Access::Kind::nothing;  // at the argument `path`, but where `target` says
    std::string (*target)(const agent::Json& arguments) = nullptr;
    agent::Result<std::string> (*changes)(const agent::Json& arguments,
                                          const CallContext& context) = nullptr;
    agent::Result<void> (*check_arguments)(const agent::Json& arguments) = nullptr;
  };

  FunctionTool(agent::ToolInfo info, Policy policy, Call function)
      : info_(std::move(info)), policy_(policy), function_(function) {}

  const agent::ToolInfo& info() const override { return info_; }
  bool parallel() const override { return policy_.parallel; }
  bool idempotent() const override { return policy_.idempotent; }
  Access access(const agent::Json& arguments) const override {
    return {.kind = policy_.access,
            .target = policy_.target != nullptr
                          ? policy_.target(arguments)
                          : std::string(agent::text_at(arguments, "path", "."))};
  }
  agent::Result<std::string> changes(const agent::Json& arguments,
                                     const CallContext& context) const override {
    return policy_.changes != nullptr ? policy_.changes(arguments, context) : std::string();
  }
  agent::Result<void> check_arguments(const agent::Json& arguments) const override {
    return policy_.check_arguments != nullptr ? policy_.check_arguments(arguments)
                                              : agent::Result<void>();
  }
  agent::Result<void> check(const agent::Json& arguments,
                            const CallContext& context) const override {
    return check_access(access(arguments), context);
  }
  Output call(const agent::Json& arguments, const CallContext& context) override {
    return function_(arguments, context);
  }

 private:
  agent::ToolInfo info_;
  Policy policy_;
  Call function_;
};

}  // namespace tools
