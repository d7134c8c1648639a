#include "tools/mcp/tool_result.h"

#include "agent/base64.h"
#include "agent/text.h"
#include "tools/mcp/content.h"
#include "tools/process/capture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tools::mcp {
namespace {

using agent::Json;
constexpr std::size_t k_shown_failure = 300;  // bytes, of what the server says of it
namespace fs = std::filesystem;

std::string word_at(const Json& item, std::string_view key) {
  return agent::one_line(agent::text_at(item, key), 300);
}

// What a result has beside text, in files: so many of them, for a server may send any number, and
// nothing ends the call while they are written.
class Files {
 public:
  explicit Files(const fs::path& folder) : folder_(folder) {}

  // What the text says in its place.
  std::string keep(std::string_view kind, std::string_view media_type, std::string_view base64) {
    const std::string bytes = agent::from_base64(base64).value_or("");
    if (++count_ > k_most) {
      return fmt::format("[{} {}, {} bytes, not kept: a result has room for {} of them]",
                         kind,
                         media_type,
                         bytes.size(),
                         k_most);
    }
    Capture capture(folder_, {.memory = 0});
    capture.add(bytes);
    const Captured kept = capture.finish();
    return kept.spill_path.empty() || kept.lost_bytes > 0
               ? fmt::format(
                     "[{} {}, {} bytes, which could not be kept]", kind, media_type, bytes.size())
               : fmt::format(
                     "[{} {}, {} bytes, in {}]", kind, media_type, bytes.size(), kept.spill_path);
  }

 private:
  static constexpr int k_most = 100;

  const fs::path& folder_;
  int count_ = 0;
};

const Json* text_in(const Json& resource) {
  const Json* const text = agent::find(resource, "text");
  return text != nullptr && text->is_string() ? text : nullptr;
}

std::string text_of_resource(const Json& resource, Files& files) {
  if (const Json* const text = text_in(resource)) {
    return fmt::format("[resource {}]\n{}", word_at(resource, "uri"), text->get<std::string>());
  }
  return files.keep("resource " + word_at(resource, "uri"),
                    word_at(resource, "mimeType"),
                    agent::text_at(resource, "blob"));
}

std::string text_of(const Json& item, Files& files) {
  const std::string_view type = agent::text_at(item, "type");
  if (type == "text") {
    return std::string(agent::text_at(item, "text"));
  }
  if (type == "image" || type == "audio") {
    return files.keep(type, word_at(item, "mimeType"), agent::text_at(item, "data"));
  }
  if (type == "resource") {
    return text_of_resource(item["resource"], files);
  }
  if (type == "resource_link") {
    const std::string about = word_at(item, "description");
    return fmt::format("[resource {} at {}{}{}]",
                       word_at(item, "name"),
                       word_at(item, "uri"),
                       about.empty() ? "" : ": ",
                       about);
  }
  return fmt::format("[content of the type `{}`, which errand does not know]",
                     word_at(item, "type"));
}

// Some write null for what they leave out.
const Json* given(const Json& result, std::string_view key) {
  const Json* const value = agent::find(result, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Empty: it is one.
std::string flaw_of_list(const Json* list,
                         std::string_view name,
                         std::string_view (*flaw_of)(const Json& item)) {
  if (list == nullptr || !list->is_array()) {
    return list == nullptr ? fmt::format("it has no `{}`", name)
                           : fmt::format("its `{}` is no list", name);
  }
  for (std::size_t at = 0; at < list->size(); ++at) {
    if (const std::string_view flaw = flaw_of((*list)[at]); !flaw.empty()) {
      return fmt::format("item {} of its `{}` {}", at + 1, name, flaw);
    }
  }
  return {};
}

std::string flaw_of_result(const Json& result) {
  const Json* const content = given(result, "content");
  const Json* const failed = given(result, "isError");
  if (failed != nullptr && !failed->is_boolean()) {
    return "its `isError` is neither true nor false";
  }
  return content == nullptr && given(result, "structuredContent") != nullptr
             ? std::string()
             : flaw_of_list(content, "content", flaw_of_content);
}

bool is_text_of(std::string_view text, const Json& value) {
  const auto said = agent::parse_json(text);
  return (value.is_string() && text == value.get_ref<const std::string&>()) ||
         (said && agent::is_same_value(*said, value));
}

// What stands under the one name of an object, where the name tells nothing: libraries of servers
// call so what a tool gives, and many values have no other.
const Json* only_member(const Json& value) {
  constexpr auto k_nameless = std::to_array<std::string_view>({"content", "result"});
  if (!value.is_object() || value.size() != 1) {
    return nullptr;
  }
  const bool is_nameless = std::ranges::find(k_nameless, value.begin().key()) != k_nameless.end();
  return is_nameless || value.front().is_structured() ? &value.front() : nullptr;
}

// Whether one of the texts is that value: servers that know of clients without structured content
// say it twice.
bool says(const Json* content, const Json& value) {
  const Json* const member = only_member(value);
  return content != nullptr && std::ranges::any_of(*content, [&](const Json& item) {
           const std::string_view text = agent::text_at(item, "text");
           return is_text_of(text, value) || (member != nullptr && is_text_of(text, *member));
         });
}

// What keeps a result from being what the tool has promised; empty: nothing does.
std::string broken_promise(const Json& result, const std::string& schema) {
  const auto structured = result.find("structuredContent");  // which may be null
  if (structured == result.end()) {
    return "there is no structured content";
  }
  const auto checked = agent::JsonSchema::compile(*agent::parse_json(schema),
                                                  agent::JsonSchema::Draft::draft_2020_12);
  const auto violations = checked->check(*structured);
  if (violations.empty()) {
    return {};
  }
  const auto& [pointer, message, is_type] = violations.front();
  return fmt::format("{} {}",
                     pointer.empty() ? "the structured content" : agent::one_line(pointer, 200),
                     agent::one_line(message, 300));
}

}  // namespace

Output output_of(const Json& result, const fs::path& folder, const std::string& schema) {
  if (const std::string flaw = flaw_of_result(result); !flaw.empty()) {
    return failure(agent::Code::mcp_transport,
                   fmt::format("what the server answered is no result of a tool: {}", flaw));
  }
  const Json* const content = given(result, "content");
  const Json* const structured = given(result, "structuredContent");
  std::string text;
  Files files(folder);
  if (content != nullptr) {
    for (const Json& item : *content) {
      text += (text.empty() ? "" : "\n") + text_of(item, files);
    }
  }
  if (structured != nullptr && !says(content, *structured)) {
    text += (text.empty() ? "" : "\n") + agent::dump(*structured);
  }
  const bool has_failed = agent::bool_at(result, "isError");
  const bool has_words = !agent::is_blank(text);
  if (text.empty()) {
    text = "(no output)";
  }
  Output output;
  if (has_failed) {
    output = failure(agent::Code::mcp_tool_call,
                     has_words ? "the MCP server says: " + agent::one_line(text, k_shown_failure)
                               : "the MCP server says that the call failed");
    output.quotes = has_words;
  } else if (const std::string broken = schema.empty() ? "" : broken_promise(result, schema);
             !broken.empty()) {
    output = failure(agent::Code::mcp_tool_call,
                     "what the MCP server answered is not what its `outputSchema` promises",
                     "The call was made. Take its answer for what it is, or go another way.");
    output.help = "the call was made; the server's answer, or its schema, is wrong";
    text += fmt::format("\n[not as `outputSchema` says: {}]", broken);
  }
  output.text = std::move(text);
  return output;
}

Output output_of_contents(const Json& result, const fs::path& folder) {
  const Json* const contents = agent::find(result, "contents");
  if (const std::string flaw = flaw_of_list(contents, "contents", flaw_of_resource);
      !flaw.empty()) {
    return failure(agent::Code::mcp_transport,
                   fmt::format("what the server answered is no resource: {}", flaw));
  }
  Output output;
  if (contents->size() == 1 && text_in(contents->front()) != nullptr) {  // the URI is known
    output.text = agent::text_at(contents->front(), "text");
  } else {
    Files files(folder);
    for (const Json& one : *contents) {
      output.text += (output.text.empty() ? "" : "\n") + text_of_resource(one, files);
    }
  }
  if (output.text.empty()) {
    output.text = "(no content)";
  }
  return output;
}

Output failure_of(const agent::Error& error) {
  const bool is_cancelled =
      error.code == agent::Code::run_cancelled || error.code == agent::Code::guardrail_killed;
  // Of one that took too long the help is about a key of the agent file, which is the user's.
  const bool is_for_model = error.code != agent::Code::tool_timeout;
  Output output = failure(is_cancelled ? agent::Code::tool_cancelled : error.code,
                          error.message,
                          is_for_model ? error.help : "");
  output.help = error.help;
  output.quotes = !is_cancelled && error.code != agent::Code::tool_invalid_parameters;
  return output;
}

}  // namespace tools::mcp
