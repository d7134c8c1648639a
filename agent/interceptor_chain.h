// Several interceptors as one: each sees the text as the ones before it left it.
#pragma once
#include "agent/interceptor.h"

#include <span>

namespace agent {

class InterceptorChain final : public Interceptor {
 public:
  // Borrowed, in the order in which they are asked.
  explicit InterceptorChain(std::span<Interceptor* const> interceptors)
      : interceptors_(interceptors) {}

  // Asked one after the other until one ends the run or refuses. What they add for the model is put
  // together; a question of any outweighs that another allows.
  HookDecision judge(const HookContext& hook_context,
                     const Emit& emit,
                     std::stop_token stop) override;
  std::optional<Error> killed() override;

 private:
  std::span<Interceptor* const> interceptors_;
};

}  // namespace agent
