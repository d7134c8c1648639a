#include "agent/context_view.h"

#include "agent/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace agent {
namespace {

bool is_users_own(const Message& message) {
  const auto* const said = std::get_if<UserMessage>(&message);
  return said != nullptr && !said->is_programs;
}

std::string pinned_text(const std::vector<PinnedFile>& pinned) {
  std::string text;
  for (const PinnedFile& file : pinned) {
    text += fmt::format("\n\n<file path=\"{}\">\n{}{}</file>",
                        file.path,
                        file.content,
                        file.content.ends_with('\n') ? "" : "\n");
  }
  return text;
}

Message programs(std::string text) {
  return UserMessage{.text = std::move(text), .is_programs = true};
}

// What stands in place of the messages that are covered.
std::string instead(const ContextView& view) {
  std::string text =
      "[The conversation was made shorter to fit your context. What the user said stands above, "
      "word for word. These notes stand for the rest of it until here.]";
  if (!view.summary.empty()) {
    text += "\n\n" + view.summary;
  }
  if (view.left_out > view.summarized) {
    text += fmt::format("\n\n[{} messages{} were left out without notes.]",
                        view.left_out - view.summarized,
                        view.summary.empty() ? "" : " after that");
  }
  return text + view.notes + pinned_text(view.pinned);
}

std::string pinned_alone(const ContextView& view) {
  return "[Older tool results were cleared. These files as they are now:]" +
         pinned_text(view.pinned);
}

}  // namespace

std::int64_t weight(const Message& message) {
  if (const auto* const said = std::get_if<UserMessage>(&message)) {
    auto bytes = static_cast<std::int64_t>(said->text.size());
    for (const Attachment& attachment : said->attachments) {
      bytes += estimated_tokens(attachment) * k_bytes_per_token;
    }
    return bytes;
  }
  if (const auto* const answered = std::get_if<AssistantMessage>(&message)) {
    return bytes_of(*answered->reply);
  }
  return static_cast<std::int64_t>(std::get<ToolMessage>(message).content.size());
}

std::int64_t weight(const std::vector<Message>& messages) {
  std::int64_t sum = 0;
  for (const Message& message : messages) {
    sum += weight(message);
  }
  return sum;
}

std::size_t boundary(const std::vector<Message>& messages, std::size_t at) {
  at = std::min(at, messages.size());
  while (at > 0 && at < messages.size() && std::holds_alternative<ToolMessage>(messages[at])) {
    --at;
  }
  return at;
}

std::string placeholder(const ToolMessage& result, std::int64_t number, std::string_view reader) {
  std::string text = fmt::format(
      "[cleared: result {} of {}, {} bytes", number, result.name, result.content.size());
  if (!reader.empty()) {
    text += fmt::format("; {} {{\"result\": {}}} shows it again", reader, number);
  }
  return text + "]";
}

std::vector<Message> seen(const std::vector<Message>& whole, const ContextView& view) {
  const std::size_t covered = boundary(whole, view.covered());
  std::vector<Message> messages;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < covered; ++at) {
    number += std::holds_alternative<ToolMessage>(whole[at]) ? 1 : 0;
    if (is_users_own(whole[at])) {
      messages.push_back(whole[at]);
    }
  }
  if (covered > 0) {
    messages.push_back(programs(instead(view)));
  }
  const std::size_t pinned_at =
      covered > 0 || view.pinned.empty() ? whole.size() + 1 : boundary(whole, view.pinned_at);
  for (std::size_t at = covered; at <= whole.size(); ++at) {
    if (at == pinned_at) {
      messages.push_back(programs(pinned_alone(view)));
    }
    if (at == whole.size()) {
      break;
    }
    const auto* const result = std::get_if<ToolMessage>(&whole[at]);
    number += result != nullptr ? 1 : 0;
    if (result != nullptr && view.cleared.contains(number)) {
      ToolMessage cleared = *result;
      cleared.content = placeholder(*result, number, view.reader);
      messages.emplace_back(std::move(cleared));
    } else {
      messages.push_back(whole[at]);
    }
  }
  return messages;
}

}  // namespace agent
