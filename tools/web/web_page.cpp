#include "tools/web/web_page.h"

#include "agent/text.h"
#include "tools/web/charset.h"
#include "tools/web/html_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tools {
namespace {

using agent::Code;

constexpr std::array<std::string_view, 9> k_texts = {
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-javascript",
    "application/x-ndjson",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/x-sh",
};

bool is_html(std::string_view type) {
  return type == "text/html" || type == "application/xhtml+xml";
}

bool is_text(std::string_view type) {
  return type.empty() || is_html(type) || type.starts_with("text/") || type.ends_with("+json") ||
         type.ends_with("+xml") || type.ends_with("+yaml") ||
         std::ranges::find(k_texts, type) != k_texts.end();
}

bool is_token_character(char c) {
  const char low = agent::to_lower(c);
  return agent::is_digit(c) || (low >= 'a' && low <= 'z') ||
         std::string_view("!#$&^_.+-/").contains(c);
}

std::string token(std::string_view text) {
  text = agent::trimmed(text);
  if (text.size() > 1 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
  }
  const bool is_one = text.size() <= 100 && std::ranges::all_of(text, is_token_character);
  return is_one ? agent::to_lower(text) : "";
}

auto unusable(std::string_view why,
              std::string_view type,
              const agent::Headers& headers,
              std::size_t size) {
  const std::string whole(token(agent::header(headers, "content-length")));
  return agent::fail(Code::tool_result_unusable,
                     fmt::format("{}: {}, {} bytes",
                                 why,
                                 type.empty() ? "of an unknown type" : type,
                                 whole.empty() ? fmt::format("{}", size) : whole),
                     "Only text can be shown. Look for the same as HTML, text or JSON.");
}

// NUL stands in no text but that of two or four bytes a character, which a byte order mark tells.
bool has_binary(std::string_view body) {
  return body.contains('\0') && !body.starts_with("\xFF\xFE") && !body.starts_with("\xFE\xFF");
}

}  // namespace

ContentType read_content_type(std::string_view header) {
  ContentType read{.type = token(header.substr(0, header.find(';'))), .charset = {}};
  while (header.contains(';')) {
    header.remove_prefix(header.find(';') + 1);
    const std::string_view parameter = header.substr(0, header.find(';'));
    const std::size_t equals = parameter.find('=');
    if (equals != std::string_view::npos && read.charset.empty() &&
        agent::to_lower(agent::trimmed(parameter.substr(0, equals))) == "charset") {
      read.charset = token(parameter.substr(equals + 1));
    }
  }
  return read;
}

agent::Result<std::string> page_text(const Url& url,
                                     const agent::Headers& headers,
                                     std::string_view body,
                                     const std::stop_token& stop) {
  const ContentType type = read_content_type(agent::header(headers, "content-type"));
  if (!is_text(type.type) || (has_binary(body) && !type.charset.starts_with("utf-16"))) {
    return unusable("the content is not text", type.type, headers, body.size());
  }
  std::string charset = type.charset;
  if (charset.empty() && is_html(type.type)) {
    charset = token(charset_in_page(body));
  }
  auto text = to_utf8(body, charset);
  if (!text) {
    return unusable(
        fmt::format("its encoding `{}` is not known", charset), type.type, headers, body.size());
  }
  if (!is_html(type.type)) {
    return std::move(*text);
  }
  return html_to_text(*text, url, stop);
}

}  // namespace tools
