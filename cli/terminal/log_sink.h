// The log file of a run (--log-file): one line an event, for whoever has to find out what happened.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"
#include "cli/output.h"

#include <memory>
#include <string>

namespace cli {

// What it cannot write is lost, and said once: an observer never fails a run.
class LogSink final : public agent::EventSink {
 public:
  // Appends to `file`. cli.cannot_create where that cannot be.
  static agent::Result<std::unique_ptr<LogSink>> open(const std::string& file,
                                                      const agent::Redactor& redactor,
                                                      agent::WritePatience& patience);

  void on(const agent::Event& event) override;
  std::optional<agent::Warning> loss() override;

 private:
  LogSink(std::unique_ptr<Output> output, const agent::Redactor& redactor)
      : output_(std::move(output)), redactor_(redactor) {}
  void flush();

  std::unique_ptr<Output> output_;
  const agent::Redactor& redactor_;
  std::string pending_;  // lines that may wait for one that may not
  bool has_told_ = false;
};

}  // namespace cli
