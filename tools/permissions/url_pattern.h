// The pattern of a permission rule on URLs: https://HOST[:PORT][/PATH], where HOST may begin with
// `*.`, or be `*`, and PATH has the wildcards of text_pattern.h. Without a path it is the whole
// host.
#pragma once
#include "agent/result.h"
#include "tools/permissions/text_pattern.h"
#include "tools/web/url.h"

#include <string>
#include <string_view>

namespace tools {

class UrlPattern {
 public:
  // config.invalid where it is no pattern.
  static agent::Result<UrlPattern> compile(std::string_view pattern);

  // Whether the URL is allowed, as it is written and as lax servers read it.
  bool allows(const Url& url) const;
  // Whether it is forbidden, however it is written: over http and https, by the path as lax servers
  // read it, in any case, with any query and with or without a slash at its end. maybe: its path
  // has characters that servers read in different ways.
  Match forbids(const Url& url) const;

 private:
  explicit UrlPattern(std::string_view path);
  bool is_host(const Url& url) const;
  bool is_place(const Url& url) const;

  std::string scheme_;
  std::string host_;  // without `*.`
  bool is_wide_ = false;
  int port_ = 0;  // 0: the scheme's
  TextPattern path_;
  TextPattern lax_;
};

}  // namespace tools
