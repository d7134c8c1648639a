// Large JSON values where memory is short: nlohmann's own destructor wants as much again.
#pragma once
#include "agent/json.h"

namespace agent {

// Empties it, without any memory of its own. The value may be nested as deeply as parse_json()
// lets it be.
void take_apart(Json& value);

// Does so at the end of a scope; borrows the value.
class TakenApart {
 public:
  explicit TakenApart(Json& value) : value_(value) {}
  TakenApart(const TakenApart&) = delete;
  TakenApart& operator=(const TakenApart&) = delete;
  ~TakenApart() { take_apart(value_); }

 private:
  Json& value_;
};

}  // namespace agent
