// From what a tool returned to what the model and the user read: worded, redacted, valid UTF-8,
// and short enough, with the whole kept in a file.
#pragma once
#include "agent/secrets/redact.h"
#include "agent/toolbox.h"
#include "tools/tool.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tools {

constexpr std::size_t k_max_content = 30'000;  // bytes that the model gets to see of one result

class Fence;

class ResultMaker {
 public:
  // `temporary` is made (0700) when the first output is too long. Without a redactor secrets stay.
  // Both are borrowed.
  ResultMaker(const std::filesystem::path& temporary, const agent::Redactor* redactor)
      : temporary_(temporary), redactor_(redactor) {}

  // Everything but fatal and duration_ms. With a fence, what the tool said stands inside of it,
  // however much is cut out.
  agent::ToolResult make(const std::string& call_id,
                         const std::string& name,
                         Output output,
                         const Fence* fence = nullptr);

 private:
  std::string clean(std::string_view bytes, const Fence* fence) const;
  void put_content(agent::ToolResult& result,
                   const Output& output,
                   std::string_view block,
                   const Fence* fence);
  std::string keep(std::string_view whole);

  const std::filesystem::path& temporary_;
  const agent::Redactor* redactor_;
  int files_ = 0;
};

agent::ToolStatus status_of(const Output& output);

}  // namespace tools
