#include "cli/terminal/log_sink.h"

#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <string_view>
#include <variant>

namespace cli {
namespace {

constexpr std::size_t k_pending_bytes = 64u << 10;

std::string_view level_of(const agent::EventBody& body) {
  if (const auto* end = std::get_if<agent::RunFinished>(&body)) {
    return end->result.error ? "error" : "info";
  }
  if (std::holds_alternative<agent::Warning>(body) ||
      std::holds_alternative<agent::LimitWarning>(body) ||
      std::holds_alternative<agent::ModelRetrying>(body) ||
      std::holds_alternative<agent::ModelFallback>(body)) {
    return "warning";
  }
  return agent::is_journaled(body) ? "info" : "debug";
}

// 2026-08-01T12:00:00.123+02:00, where the machine is.
std::string time_stamp(std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms = std::chrono::floor<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> date{};
  std::array<char, 8> zone{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &local);
  std::strftime(zone.data(), zone.size(), "%z", &local);
  const std::string_view offset = zone.data();  // +0200
  return fmt::format("{}.{:03}{}:{}",
                     date.data(),
                     ms,
                     offset.substr(0, 3),
                     offset.substr(std::min<std::size_t>(3, offset.size())));
}

// Characters that deceive as JSON writes them; the others JSON has escaped already.
std::string shown(std::string_view json) {
  std::string out;
  for (;;) {
    const std::size_t del = json.find('\x7F');
    out += agent::printable(json.substr(0, del));
    if (del == std::string_view::npos) {
      return out;
    }
    out += "\\u007f";
    json.remove_prefix(del + 1);
  }
}

}  // namespace

agent::Result<std::unique_ptr<LogSink>> LogSink::open(const std::string& file,
                                                      const agent::Redactor& redactor,
                                                      agent::WritePatience& patience) {
  auto output = Output::append_to(file, &patience);
  if (!output) {
    return agent::fail(std::move(output).error().while_("opening the log file"));
  }
  return std::unique_ptr<LogSink>(new LogSink(*std::move(output), redactor));
}

void LogSink::on(const agent::Event& event) {
  agent::Json fields = agent::to_json(event);
  for (const char* repeated : {"v", "ts", "type", "raw"}) {
    fields.erase(repeated);
  }
  const std::string_view level = level_of(event.body);
  pending_ += fmt::format("{} {} {} {}\n",
                          time_stamp(std::chrono::system_clock::now()),
                          level,
                          agent::type_name(event.body),
                          shown(redactor_.dump(fields)));
  if (level != "debug" || pending_.size() >= k_pending_bytes) {
    output_->write(pending_);
    pending_.clear();
  }
}

std::optional<agent::Warning> LogSink::loss() {
  if (has_told_ || (output_->failure() == nullptr && !output_->is_given_up())) {
    return std::nullopt;
  }
  has_told_ = true;
  return agent::Warning{.message = output_->failure() != nullptr ? output_->failure()->message
                                                                 : "nobody reads the log file",
                        .help = "The rest of the log is lost; the run goes on."};
}

}  // namespace cli
