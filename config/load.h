// Agent files: YAML, or Markdown with YAML front matter, in; a checked agent::AgentSpec out, or
// every mistake with its place. Nothing here runs an agent, and no network is touched.
#pragma once
#include "agent/environment.h"
#include "agent/error.h"
#include "agent/spec.h"
#include "config/known_names.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct Report {
  std::optional<agent::AgentSpec> agent;  // set exactly when `errors` is empty
  std::vector<agent::Error> errors;       // config.invalid or registry.duplicate, in file order
  std::vector<agent::Error> warnings;     // the same form; they stop nothing
  std::vector<agent::ModelSpec> models;   // where there are errors: those that could be read
};

// Files over 1 MiB, and whatever is no regular file, are refused unread. A file whose name ends in
// ".md" is read as Markdown. Never throws.
Report load_agent(const std::filesystem::path& file,
                  const agent::Environment& environment,
                  const KnownNames& known);

// The same for a text in memory. `shown_file` stands in the messages and in AgentSpec::file;
// `directory` is where relative paths start.
Report parse_agent(std::string_view text,
                   const std::string& shown_file,
                   const std::filesystem::path& directory,
                   bool markdown,
                   const agent::Environment& environment,
                   const KnownNames& known);

// Whether load_agent() would come to its text, whatever is in it.
agent::Result<void> check_can_be_read(const std::filesystem::path& file);

// Whether the file has the line that each agent file has, and that files of other programs have not
// like this: which is not to say that it can be loaded.
bool looks_like_agent(const std::filesystem::path& file);

}  // namespace config
