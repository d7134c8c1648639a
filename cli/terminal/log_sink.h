// The log file of a run (--log-file): one line an event, for whoever has to find out what happened.
#pragma once
#include "agent/event.h"
#include "agent/secrets/redact.h"

#include <memory>
#include <string>

namespace cli {

class LogSink final : public agent::EventSink {
 public:
  // Appends to `file`. cli.cannot_create where that cannot be.
  static agent::Result<std::unique_ptr<LogSink>> open(const std::string& file,
                                                      const agent::Redactor& redactor);
  ~LogSink() override;

  void on(const agent::Event& event) override;

 private:
  struct Impl;
  LogSink(std::unique_ptr<Impl> impl, const agent::Redactor& redactor);
  std::unique_ptr<Impl> impl_;
  const agent::Redactor& redactor_;
};

}  // namespace cli
