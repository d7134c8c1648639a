#include "tools/mcp/tool_result.h"

#include "agent/base64.h"
#include "agent/text.h"
#include "tools/process/capture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace tools::mcp {
namespace {

using agent::Json;
namespace fs = std::filesystem;

std::string word_at(const Json& item, std::string_view key) {
  return agent::one_line(agent::text_at(item, key), 300);
}

std::string in_file(std::string_view kind,
                    std::string_view media_type,
                    std::string_view base64,
                    const fs::path& folder) {
  const auto bytes = agent::from_base64(base64);
  if (!bytes) {
    return fmt::format("[{} {}: its bytes are no base64]", kind, media_type);
  }
  Capture capture(folder, {.memory = 0});
  capture.add(*bytes);
  const Captured kept = capture.finish();
  return kept.spill_path.empty() || kept.lost_bytes > 0
             ? fmt::format(
                   "[{} {}, {} bytes, which could not be kept]", kind, media_type, bytes->size())
             : fmt::format(
                   "[{} {}, {} bytes, in {}]", kind, media_type, bytes->size(), kept.spill_path);
}

std::string text_of_resource(const Json& item, const fs::path& folder) {
  const Json* const resource = agent::find(item, "resource");
  if (resource == nullptr) {
    return "[resource without content]";
  }
  if (const Json* const text = agent::find(*resource, "text");
      text != nullptr && text->is_string()) {
    return fmt::format("[resource {}]\n{}", word_at(*resource, "uri"), text->get<std::string>());
  }
  return in_file("resource " + word_at(*resource, "uri"),
                 word_at(*resource, "mimeType"),
                 agent::text_at(*resource, "blob"),
                 folder);
}

std::string text_of(const Json& item, const fs::path& folder) {
  const std::string_view type = agent::text_at(item, "type");
  if (type == "text") {
    return std::string(agent::text_at(item, "text"));
  }
  if (type == "image" || type == "audio") {
    return in_file(type, word_at(item, "mimeType"), agent::text_at(item, "data"), folder);
  }
  if (type == "resource") {
    return text_of_resource(item, folder);
  }
  if (type == "resource_link") {
    return fmt::format("[resource {} at {}]", word_at(item, "name"), word_at(item, "uri"));
  }
  return fmt::format("[content of the type `{}`, which errand does not know]",
                     word_at(item, "type"));
}

}  // namespace

Output output_of(const Json& result, const fs::path& folder) {
  if (agent::text_at(result, "resultType") == "input_required") {
    return failure(agent::Code::mcp_tool_call,
                   "the server asks for more before it answers, and nobody is asked here");
  }
  const Json* const content = agent::find(result, "content");
  const Json* const structured = agent::find(result, "structuredContent");
  std::string text;
  if (content != nullptr && content->is_array()) {
    for (const Json& item : *content) {
      text += (text.empty() ? "" : "\n") + text_of(item, folder);
    }
  }
  if (text.empty() && structured != nullptr) {  // else it is the same once more
    text = agent::dump(*structured);
  }
  if (content == nullptr && structured == nullptr) {
    return failure(agent::Code::mcp_transport, "what the server answered is no result of a tool");
  }
  const bool has_failed = agent::bool_at(result, "isError");
  if (text.empty()) {
    text = "(no output)";
  }
  Output output;
  if (has_failed) {
    output = failure(agent::Code::mcp_tool_call, "the MCP server says that the call failed");
  }
  output.text = std::move(text);
  return output;
}

}  // namespace tools::mcp
