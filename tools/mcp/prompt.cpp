#include "tools/mcp/prompt.h"

#include "agent/attachment.h"
#include "agent/base64.h"
#include "agent/text.h"
#include "tools/mcp/content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tools::mcp {
namespace {

using agent::Code;
using agent::Json;
using agent::OpeningMessage;
using agent::Result;

constexpr std::size_t k_longest_line = 200;  // bytes
constexpr std::size_t k_most_messages = 1'000;

std::string on_a_line(const Json& item, std::string_view key) {
  return agent::one_line(agent::text_at(item, key), k_longest_line);
}

std::vector<PromptArgument> arguments_in(const Json& item) {
  std::vector<PromptArgument> arguments;
  const Json* const list = agent::find(item, "arguments");
  if (list != nullptr && list->is_array()) {
    for (const Json& one : *list) {
      arguments.push_back({.name = std::string(agent::text_at(one, "name")),
                           .is_required = agent::bool_at(one, "required")});
    }
  }
  return arguments;
}

std::string names_of(const std::vector<PromptArgument>& arguments) {
  std::vector<std::string> names;
  for (const PromptArgument& one : arguments) {
    names.push_back(agent::one_line(one.name, 60) + (one.is_required ? " (needed)" : ""));
  }
  return names.empty() ? "it takes none" : fmt::format("it takes {}", fmt::join(names, ", "));
}

// Text for the message, or a picture that goes with it.
class Content {
 public:
  Content(OpeningMessage& message, std::vector<std::string>& left_out)
      : message_(message), left_out_(left_out) {}

  void add(const Json& content) {
    const std::string_view type = agent::text_at(content, "type");
    if (type == "text") {
      say(agent::text_at(content, "text"));
    } else if (type == "image" || type == "audio") {
      attach(type, std::string(), on_a_line(content, "mimeType"), agent::text_at(content, "data"));
    } else if (type == "resource") {
      const Json* const resource = agent::find(content, "resource");
      add_resource(resource == nullptr ? Json::object() : *resource);
    } else if (type == "resource_link") {
      say(fmt::format(
          "[resource {} at {}]", on_a_line(content, "name"), on_a_line(content, "uri")));
    } else {
      leave_out(fmt::format("content of the type `{}`", on_a_line(content, "type")),
                "errand does not know it");
    }
  }

 private:
  void say(std::string_view text) {
    message_.text += message_.text.empty() || text.empty() ? "" : "\n\n";
    message_.text += text;
  }

  void leave_out(std::string_view what, std::string_view why) {
    std::string sentence = fmt::format("{} was left out: {}", what, why);
    say(fmt::format("[{}]", sentence));
    left_out_.push_back(std::move(sentence));
  }

  void add_resource(const Json& resource) {
    const std::string uri = on_a_line(resource, "uri");
    const Json* const text = agent::find(resource, "text");
    if (text != nullptr && text->is_string()) {
      say(fmt::format("[resource {}]\n{}", uri, text->get<std::string>()));
    } else {
      attach("resource", uri, on_a_line(resource, "mimeType"), agent::text_at(resource, "blob"));
    }
  }

  // By what the bytes are, not by what they are called.
  void attach(std::string_view kind,
              const std::string& name,
              const std::string& media_type,
              std::string_view base64) {
    const std::string bytes = agent::from_base64(base64).value_or("");
    const std::string_view known = agent::media_type_of(bytes);
    if (known.empty() || message_.role != "user") {
      leave_out(fmt::format("{} {}", kind, name.empty() ? media_type : name),
                known.empty() ? "it is nothing that can go with a prompt"
                              : "models take none in what the assistant said");
      return;
    }
    message_.attachments.push_back({.name = name.empty() ? std::string(kind) : name,
                                    .media_type = std::string(known),
                                    .base64 = agent::to_base64(bytes)});
    say(fmt::format("[attachment {}]", message_.attachments.size()));
  }

  OpeningMessage& message_;
  std::vector<std::string>& left_out_;
};

}  // namespace

std::vector<Prompt> prompts_in(const std::vector<Json>& items) {
  std::vector<Prompt> prompts;
  for (const Json& item : items) {
    const std::string name(agent::text_at(item, "name"));
    if (!name.empty()) {
      prompts.push_back({.name = name,
                         .description = on_a_line(item, "description"),
                         .arguments = arguments_in(item)});
    }
  }
  return prompts;
}

Result<void> check_arguments(const Prompt& prompt,
                             const std::map<std::string, std::string>& arguments,
                             std::string_view server) {
  const auto wrong = [&](std::string_view what, const std::string& name) {
    return agent::fail(Code::cli_usage,
                       fmt::format("the prompt `{}/{}` {} `{}`",
                                   server,
                                   agent::one_line(prompt.name, 60),
                                   what,
                                   agent::one_line(name, 60)),
                       names_of(prompt.arguments) + "; `--use-arg NAME=VALUE` gives one");
  };
  for (const auto& [name, value] : arguments) {
    if (std::ranges::find(prompt.arguments, name, &PromptArgument::name) ==
        prompt.arguments.end()) {
      return wrong("takes no argument", name);
    }
  }
  for (const PromptArgument& one : prompt.arguments) {
    if (one.is_required && !arguments.contains(one.name)) {
      return wrong("needs the argument", one.name);
    }
  }
  return {};
}

Result<PromptOpening> opening_of(const Json& result, std::string_view where) {
  const auto wrong = [&](std::string_view what) {
    return agent::fail(Code::mcp_other, fmt::format("{} {}", where, what));
  };
  const Json* const list = agent::find(result, "messages");
  if (list == nullptr || !list->is_array() || list->empty()) {
    return wrong("has no messages");
  }
  if (list->size() > k_most_messages) {
    return wrong(fmt::format("has {} messages, more than {}", list->size(), k_most_messages));
  }
  PromptOpening all;
  std::vector<OpeningMessage>& opening = all.messages;
  for (const Json& one : *list) {
    const std::string_view role = agent::text_at(one, "role");
    const Json* const content = agent::find(one, "content");
    if ((role != "user" && role != "assistant") || content == nullptr) {
      return wrong("has a message without role or content");
    }
    if (const std::string_view flaw = flaw_of_content(*content); !flaw.empty()) {
      return wrong(flaw == k_no_base64 ? "has a message whose bytes are no base64"
                                       : fmt::format("has a message whose content {}", flaw));
    }
    if (opening.empty() && role != "user") {
      return wrong("begins with words of the assistant, which no model takes");
    }
    if (opening.empty() || opening.back().role != role) {
      opening.push_back({.role = std::string(role), .text = {}});
    }
    Content(opening.back(), all.left_out).add(*content);
  }
  return all;
}

}  // namespace tools::mcp
