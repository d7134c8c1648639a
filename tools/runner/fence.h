// The fence around what a tool brings in from outside: it tells the model that what stands inside
// is data, and a text inside cannot close it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tools {

class Fence {
 public:
  // The same `seed` (the run's; nobody outside knows it) and `call` (its number in the run) give
  // the same fence. `tool` is who brought it.
  Fence(std::uint64_t seed, std::uint64_t call, std::string_view tool);

  const std::string& head() const { return head_; }  // with a line end
  const std::string& foot() const { return foot_; }  // begins with one
  // The text without the words of a fence, this one's or any other's.
  std::string defused(std::string text) const;

 private:
  std::string number_;
  std::string head_;
  std::string foot_;
};

}  // namespace tools
