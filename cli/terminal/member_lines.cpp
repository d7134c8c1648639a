#include "cli/terminal/member_lines.h"

#include "cli/terminal/event_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace cli {

std::string MemberLines::path_of(const std::string& member, const std::string& whose) const {
  const auto upper = names_.find(whose);
  return upper == names_.end() ? member : upper->second + "/" + member;
}

std::string MemberLines::begin(const agent::MemberStarted& member, const std::string& whose) {
  const std::string name = path_of(member.member, whose);
  if (!member.run_id.empty()) {
    names_[member.run_id] = name;
  }
  at_work_[name] = {.number = ++begun_,
                    .doing = excerpt(member.runs, k_excerpt_bytes),
                    .is_flow = member.kind == "flow",
                    .since = Steady::now()};
  return name;
}

std::string MemberLines::end(const agent::MemberFinished& member, const std::string& whose) {
  const std::string name = path_of(member.member, whose);
  at_work_.erase(name);
  return name;
}

std::optional<MemberLines::Line> MemberLines::add(const agent::Event& event) {
  const std::string& name = names_.at(event.run_id);
  const auto found = at_work_.find(name);
  if (found == at_work_.end()) {
    return std::nullopt;  // it has ended
  }
  Member& member = found->second;
  const auto line = [&](std::string text, bool is_trouble) {
    return Line{.text = fmt::format("{}: {}", name_of(name), text), .is_trouble = is_trouble};
  };
  if (const auto use = agent::use_in(event.body)) {
    member.cost = agent::sum_of(member.cost, use->cost);
  }
  if (const auto* started = std::get_if<agent::MemberStarted>(&event.body)) {
    begin(*started, event.run_id);
  } else if (const auto* ended = std::get_if<agent::MemberFinished>(&event.body)) {
    end(*ended, event.run_id);
    std::string text = fmt::format("{}: {}", ended->member, member_words(*ended));
    for (const std::string& words : last_words(*ended)) {
      text += "\n" + words;
    }
    return line(std::move(text), ended->result.exit_code != 0);
  }
  if (const auto* turn = std::get_if<agent::TurnStarted>(&event.body)) {
    member.turn = turn->turn;
    member.doing = "the model";
  } else if (const auto* started = std::get_if<agent::ToolStarted>(&event.body)) {
    member.doing = shown_(started->name, started->arguments);
    return line("▸ " + member.doing, false);
  } else if (std::holds_alternative<agent::ApprovalRequested>(event.body)) {
    member.doing = "waits for approval";
  } else if (const auto* finished = std::get_if<agent::ToolFinished>(&event.body)) {
    const agent::ToolResult& result = finished->result;
    member.doing = "the model";
    if (!result.is_well()) {
      return line(fmt::format("{}: {}", name_of(result.name), result_words(result)), true);
    }
  } else if (const auto* retry = std::get_if<agent::ModelRetrying>(&event.body)) {
    return line(retry_line(*retry), true);
  } else if (const auto* fallback = std::get_if<agent::ModelFallback>(&event.body)) {
    return line(fallback_line(*fallback), true);
  } else if (const auto* warning = std::get_if<agent::Warning>(&event.body)) {
    return line("warning: " + warning->message, true);
  } else if (const auto* parked = std::get_if<agent::RunParked>(&event.body)) {
    std::string calls;
    for (const agent::ParkedCall& call : parked->calls) {
      calls += (calls.empty() ? "" : "; ") + waiting_line(call);
    }
    return line(calls, true);
  }
  return std::nullopt;
}

std::vector<std::string> MemberLines::live(std::size_t most) const {
  std::vector<std::pair<std::string_view, const Member*>> members;
  for (const auto& [name, member] : at_work_) {
    if (!member.is_flow) {  // its members have lines of their own
      members.emplace_back(name, &member);
    }
  }
  std::ranges::sort(members, {}, [](const auto& one) { return one.second->number; });
  std::vector<std::string> lines;
  for (const auto& [name, member] : members) {
    if (lines.size() + 1 == most && members.size() > most) {
      lines.push_back(fmt::format("… {} more", members.size() - lines.size()));
      break;
    }
    const auto waited =
        std::chrono::duration_cast<std::chrono::seconds>(Steady::now() - member->since);
    std::string line = fmt::format("… {}", name_of(name));
    line += member->turn > 0 ? fmt::format(", turn {}", member->turn) : "";
    line += fmt::format(": {}", member->doing);
    line += member->cost && *member->cost != agent::Money{}
                ? ", " + agent::format_money(member->cost)
                : "";
    lines.push_back(line + fmt::format(", {} s", waited.count()));
  }
  return lines;
}

std::string MemberLines::names() const {
  std::string names;
  for (const auto& [name, member] : at_work_) {
    names += (names.empty() ? "" : ", ") + name_of(name);
  }
  return excerpt(names, k_excerpt_bytes);
}

}  // namespace cli
