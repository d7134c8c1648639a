// What a command line says to the calls of a parked run: --approve CALL, --deny CALL, --reason.
#pragma once
#include "agent/loop.h"
#include "agent/result.h"
#include "cli/parse.h"
#include "cli/recorded_run.h"

#include <map>
#include <string>

namespace cli {

// By call id. Takes from --deny of `parsed` what names calls and no rules, be they of tools of
// members. cli.usage where the run is not parked, has no such call, is past it, or is told two
// things.
agent::Result<std::map<std::string, agent::GivenAnswer>> given_answers(
    const RecordedRun& run, Parsed& parsed, const agent::Environment& environment);

// The calls that wait, for a message; empty: none does.
std::string pending_words(const RecordedRun& run);

}  // namespace cli
