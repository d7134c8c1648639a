#include "config/attachment.h"

#include "agent/base64.h"
#include "agent/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace config {
namespace {

constexpr std::size_t k_most_bytes = 32u << 20;  // of all files of a prompt
constexpr std::string_view k_spaces = " \t\r\n";

// The word behind an `@`, without the sentence's own marks at its end.
std::string_view path_at(std::string_view rest) {
  if (rest.starts_with('"')) {
    const auto end = rest.find('"', 1);
    return end == std::string_view::npos ? std::string_view() : rest.substr(1, end - 1);
  }
  const std::string_view word = rest.substr(0, rest.find_first_of(k_spaces));
  return word.substr(0, word.find_last_not_of(".,;:!?)]}>'\"") + 1);
}

std::size_t bytes_of(const agent::Attachment& attachment) {
  const std::string_view text = attachment.base64;
  return text.size() / 4 * 3 - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0);
}

std::unexpected<agent::Error> refuse(const std::filesystem::path& file,
                                     std::string message,
                                     std::string help) {
  return agent::fail({.code = agent::Code::config_invalid,
                      .message = std::move(message),
                      .help = std::move(help),
                      .where = agent::Where{.file = file.string(), .excerpt = {}}});
}

}  // namespace

bool is_medium(std::string_view path) {
  constexpr std::array<std::string_view, 6> k_endings = {
      ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"};
  const std::string lower = agent::to_lower(path.substr(std::min(path.size(), path.rfind('.'))));
  return std::ranges::find(k_endings, lower) != k_endings.end();
}

std::vector<Mention> find_mentions(std::string_view text) {
  std::vector<Mention> mentions;
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    const bool begins_a_word = at == 0 || k_spaces.contains(text[at - 1]) ||
                               std::string_view("([{<").contains(text[at - 1]);
    const std::string_view path = path_at(text.substr(at + 1));
    if (begins_a_word && is_medium(path)) {
      mentions.push_back({.at = at,
                          .from = static_cast<std::size_t>(path.data() - text.data()),
                          .path = std::string(path)});
    }
  }
  return mentions;
}

agent::Result<void> attach(const std::filesystem::path& file,
                           std::vector<agent::Attachment>& attachments,
                           const JudgeOpened& judge) {
  const std::string name = agent::one_line(file.string());
  TRY_ASSIGN(const std::string bytes, read_text_file(file, k_most_bytes, judge));
  const std::string_view media_type = agent::media_type_of(bytes);
  if (media_type.empty()) {
    return refuse(file,
                  fmt::format("`{}` is neither a picture nor a PDF, whatever its name says", name),
                  "PNG, JPEG, GIF, WebP and PDF can go with a prompt");
  }
  agent::Attachment attachment{.name = agent::to_valid_utf8(file.filename().string()),
                               .media_type = std::string(media_type),
                               .base64 = agent::to_base64(bytes)};
  if (std::ranges::find(attachments, attachment) != attachments.end()) {
    return {};
  }
  std::size_t all = bytes.size();
  for (const agent::Attachment& one : attachments) {
    all += bytes_of(one);
  }
  if (all > k_most_bytes) {
    return refuse(file,
                  fmt::format("with `{}`, more than 32 MiB would go with the prompt", name),
                  "attach fewer or smaller files");
  }
  attachments.push_back(std::move(attachment));
  return {};
}

}  // namespace config
