// What a person sees of the members of a run: a line each while they are at work, and what of
// their own events is worth one.
#pragma once
#include "agent/event.h"
#include "agent/money.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cli {

class MemberLines {
 public:
  using Steady = std::chrono::steady_clock;
  // As a person would write a call, safe to show but for its escapes.
  using Shown = std::function<std::string(std::string_view tool, std::string_view arguments)>;

  struct Line {
    std::string text;
    bool is_trouble = false;
  };

  explicit MemberLines(Shown shown) : shown_(std::move(shown)) {}

  // `whose`: the run that it is a member of, which may be a member itself. What it is called in the
  // whole: "fix[2]", or "build/fix[2]".
  std::string begin(const agent::MemberStarted& member, const std::string& whose = {});
  std::string end(const agent::MemberFinished& member, const std::string& whose = {});
  bool is_member(const std::string& run_id) const { return names_.contains(run_id); }
  // Of the run of a member.
  std::optional<Line> add(const agent::Event& event);

  bool is_empty() const { return at_work_.empty(); }
  // One each, those that have begun first above; of more than `most`, the last one says how many.
  std::vector<std::string> live(std::size_t most) const;
  std::string names() const;  // who is at work

 private:
  std::string name_in(const std::string& flow, const std::string& member) const;

  struct Member {
    std::size_t number = 0;  // in the order of their beginnings
    std::string doing;
    bool is_flow = false;
    std::int64_t turn = 0;
    std::optional<agent::Money> cost = agent::Money{};
    Steady::time_point since;
  };

  // "middle[1]/last[2]" for a member of a member.
  std::string path_of(const std::string& member, const std::string& whose) const;

  Shown shown_;
  std::size_t begun_ = 0;
  std::map<std::string, std::string> names_;  // of members, by their runs
  std::map<std::string, Member> at_work_;     // by their names
};

}  // namespace cli
