// How a program's end and output are put to the model.
#pragma once
#include "tools/process/program_runner.h"
#include "tools/tool.h"

#include <optional>
#include <string>
#include <string_view>

namespace tools {

// What an end other than a clean exit means for the model: code, message and suggestion, no text.
Output failed_end(const ProgramResult& result, const ProgramRequest& request);

// Hands on what `captured` holds, with a last line in brackets for what was lost.
void put_text(Output& output, Captured captured);

// Says at the end of the text which hosts the program was kept from, and what it changed of git's
// own data.
void tell_notes(std::string& text, const ProgramResult& result);

// "`PATH` was put back".
std::string change_text(const sandbox::ProtectedChange& change);
// As what a run ends that has nothing worse behind it; nullopt: well.
std::optional<agent::Code> end_with(const sandbox::ProtectedChange& change);

// Puts `line` on a line of its own at the end of `text`.
void append_line(std::string& text, std::string_view line);

}  // namespace tools
