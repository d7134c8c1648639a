// JSON Schemas that stand in a file of their own.
#pragma once
#include "agent/json.h"
#include "agent/schema/json_schema.h"
#include "config/yaml/problems.h"
#include "config/yaml/source.h"
#include "config/yaml/tree.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>

namespace config {

struct SchemaFile {
  agent::Json json;
  agent::JsonSchema compiled;
};

// The schema in the file that `path` names, from `directory` on, if `judge` lets it be read. What
// is wrong with it becomes a problem at the path, and there is none.
std::optional<SchemaFile> read_schema_file(const Value& path,
                                           const std::filesystem::path& directory,
                                           const JudgeOpened& judge,
                                           Problems& problems);

}  // namespace config
