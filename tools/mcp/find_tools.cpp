#include "tools/mcp/find_tools.h"

#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <utility>

namespace tools::mcp {
namespace {

constexpr long long k_usual_limit = 5;
constexpr std::size_t k_shown_line = 200;  // bytes of a description

constexpr const char* k_find_parameters = R"({
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "Words for what the tool is to do, or its name."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many tools to find at most; 5 where it is left out."}
  },
  "required": ["query"],
  "additionalProperties": false
})";

class FindTools final : public Tool {
 public:
  FindTools(std::shared_ptr<const ToolIndex> tools, const std::vector<std::string>& servers)
      : info_{.name = std::string(k_tool_finder),
              .description = fmt::format(
                  "Finds tools that you have but do not see yet: {} of {}. Says their names and "
                  "what they do; from your next turn on they are among your tools.",
                  tools->size(),
                  fmt::join(servers, ", ")),
              .parameters = k_find_parameters},
        index_(std::move(tools)) {}

  const agent::ToolInfo& info() const override { return info_; }
  // Not side by side with another: what was found is the model's in the order of the calls.
  Access access(const agent::Json&) const override { return {.kind = Access::Kind::nothing}; }

  Output call(const agent::Json& arguments, const CallContext&) override {
    const auto limit = agent::integer_at(arguments, "limit", k_usual_limit);
    const ToolIndex::Found found =
        index_->find(agent::text_at(arguments, "query"), static_cast<std::size_t>(limit));
    Output output;
    for (const agent::ToolInfo* tool : found.tools) {
      output.text +=
          fmt::format("{}: {}\n", tool->name, agent::one_line(tool->description, k_shown_line));
      output.found_tools.push_back(tool->name);
    }
    if (found.all == 0) {
      output.text = fmt::format("None of {} tools has these words. Try others.\n", index_->size());
    } else if (found.all > found.tools.size()) {
      output.text +=
          fmt::format("{} more fit some of these words.\n", found.all - found.tools.size());
    }
    return output;
  }

 private:
  agent::ToolInfo info_;
  std::shared_ptr<const ToolIndex> index_;
};

}  // namespace

std::unique_ptr<Tool> make_find_tools(std::shared_ptr<const ToolIndex> tools,
                                      const std::vector<std::string>& servers) {
  return std::make_unique<FindTools>(std::move(tools), servers);
}

}  // namespace tools::mcp
