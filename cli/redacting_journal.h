// A journal that keeps no secrets: what is kept can be shown.
#pragma once
#include "agent/event.h"
#include "agent/redact.h"

namespace cli {

class RedactingJournal final : public agent::Journal {
 public:
  // Both borrowed.
  RedactingJournal(agent::Journal& journal, const agent::Redactor& redactor)
      : journal_(journal), redactor_(redactor) {}

  agent::Result<void> append(const agent::Event& event) override;

 private:
  agent::Journal& journal_;
  const agent::Redactor& redactor_;
};

}  // namespace cli
