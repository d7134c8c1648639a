// When a call has to end: as soon as it is told to stop, or to die.
#pragma once
#include "tools/tool.h"

#include <functional>
#include <stop_token>

namespace tools::mcp {

class CallEnd {
 public:
  explicit CallEnd(const CallContext& context)
      : on_stop_(context.stop, [this] { ends_.request_stop(); }),
        on_kill_(context.kill, [this] { ends_.request_stop(); }) {}
  CallEnd(const CallEnd&) = delete;
  CallEnd& operator=(const CallEnd&) = delete;

  std::stop_token token() const { return ends_.get_token(); }

 private:
  std::stop_source ends_;
  std::stop_callback<std::function<void()>> on_stop_;
  std::stop_callback<std::function<void()>> on_kill_;
};

}  // namespace tools::mcp
