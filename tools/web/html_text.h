// A page of HTML as text to read: headings, lists, tables, links and code as Markdown has them;
// scripts, styles and what is hidden are left out.
#pragma once
#include "agent/result.h"
#include "tools/web/url.h"

#include <stop_token>
#include <string>
#include <string_view>

namespace tools {

// `page` is valid UTF-8; links are resolved from `base`. In time linear in the page: tags that are
// nested too deeply are left out, which the first line then says. tool.result_unusable: it takes
// too much memory or time to be taken apart all the same. tool.cancelled: `stop` was requested.
agent::Result<std::string> html_to_text(std::string_view page,
                                        const Url& base,
                                        const std::stop_token& stop);

}  // namespace tools
