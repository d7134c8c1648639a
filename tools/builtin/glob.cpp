// Finds files by name.
#include "tools/files/glob.h"

#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/walk.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tools {
namespace {

constexpr std::size_t k_glob_max_shown = 1'000;

constexpr const char* k_glob_parameters = R"({
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "Like `src/**/*.cpp` or `*.{h,md}`."},
    "path": {"type": "string", "description": "The folder to start in; the working folder if left out."}
  },
  "required": ["pattern"],
  "additionalProperties": false
})";

// Counts on after the last one that is shown.
class Listing {
 public:
  explicit Listing(std::string_view folder) : folder_(folder) {}

  void add(const std::string& relative) {
    const std::string line = one_line(join_shown(folder_, relative)) + '\n';
    if (left_out_ > 0 || shown_ == k_glob_max_shown || text_.size() + line.size() > k_page_bytes) {
      ++left_out_;
      return;
    }
    text_ += line;
    ++shown_;
  }

  std::string finish(const WalkEnd& end) {
    if (shown_ == 0) {
      text_ = "[no file matches]\n";
    }
    if (left_out_ > 0) {
      text_ += fmt::format("[and {} more; narrow the pattern]\n", left_out_);
    }
    return std::move(text_) + end.notes();
  }

 private:
  std::string_view folder_;
  std::string text_;
  std::size_t shown_ = 0;
  std::size_t left_out_ = 0;
};

// Where the walk starts, as the model would write it: an absolute pattern stands for itself.
std::string start_folder(std::string_view path, const std::string& folder_of_pattern) {
  if (folder_of_pattern.starts_with('/')) {
    return folder_of_pattern;
  }
  return folder_of_pattern.empty() ? std::string(path) : join_shown(path, folder_of_pattern);
}

WalkOptions options_for(const Glob& glob) {
  WalkOptions options{.hidden = glob.names_hidden()};
  if (const auto names = glob.max_names()) {
    options.max_depth = std::min(*names, options.max_depth);
  }
  return options;
}

// Where the search begins.
std::string target(const agent::Json& arguments) {
  return start_folder(agent::text_at(arguments, "path", "."),
                      split_pattern(agent::text_at(arguments, "pattern")).folder);
}

Output call_glob(const agent::Json& arguments, const CallContext& context) {
  const SplitPattern split = split_pattern(agent::text_at(arguments, "pattern"));
  const auto glob = Glob::compile(split.rest);
  if (!glob) {
    return failure(glob.error());
  }
  const auto folder =
      resolve(start_folder(agent::text_at(arguments, "path", "."), split.folder), context);
  if (!folder) {
    return failure(folder.error());
  }
  Listing listing(folder->shown);
  const WalkOptions options = options_for(*glob);
  auto end =
      walk(*folder, options, context.stop, [&](const std::string& relative, const FolderEntry&) {
        if (glob->matches(relative)) {
          listing.add(relative);
        }
        return Walk::go_on;
      });
  if (!end) {
    return failure(end.error());
  }
  if (end->stopped) {
    return failure(agent::Code::tool_cancelled, "stopped while looking for files");
  }
  if (glob->max_names()) {
    end->too_deep = 0;  // what lies deeper than the pattern cannot match
  }
  return {.text = listing.finish(*end)};
}

}  // namespace

std::unique_ptr<Tool> make_glob(const agent::ToolSpec& spec) {
  return std::make_unique<FunctionTool>(
      agent::ToolInfo{
          .name = "glob",
          .description =
              "Finds files by name, sorted by path. `*` and `?` stay within a name, `**` stands "
              "for any folders. Hidden names match only where the pattern spells the dot; .git "
              "is left out; links to folders are not followed.",
          .parameters = k_glob_parameters,
          .repeatable = spec.repeatable},
      FunctionTool::Policy{
          .parallel = true, .idempotent = true, .access = Access::Kind::names, .target = target},
      call_glob);
}

}  // namespace tools
