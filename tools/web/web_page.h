// What a server answered, as text that a model reads.
#pragma once
#include "agent/http.h"
#include "agent/result.h"
#include "tools/web/url.h"

#include <stop_token>
#include <string>
#include <string_view>

namespace tools {

// "text/html" and "utf-8" of a Content-Type; both in lower case and empty where they are not said.
struct ContentType {
  std::string type;
  std::string charset;
};
ContentType read_content_type(std::string_view header);

// HTML becomes text, other text stays as it is, in UTF-8. tool.result_unusable: what is no text, or
// is in an encoding that nobody knows; tool.cancelled.
agent::Result<std::string> page_text(const Url& url,
                                     const agent::Headers& headers,
                                     std::string_view body,
                                     const std::stop_token& stop);

}  // namespace tools
