// Changes in several files at once, as a unified diff: all of them, or none.
#include "agent/text.h"
#include "tools/builtin/builtins.h"
#include "tools/feedback.h"
#include "tools/files/atomic_file_write.h"
#include "tools/files/patch.h"
#include "tools/files/patched_text.h"
#include "tools/files/unified_diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace tools {
namespace {

using agent::Code;
using agent::fail;
using agent::Result;
namespace fs = std::filesystem;
using Kind = FilePatch::Kind;

constexpr std::size_t k_apply_patch_max_file = 16u << 20;

constexpr const char* k_apply_patch_parameters = R"({
  "type": "object",
  "properties": {
    "patch": {"type": "string", "minLength": 1, "description": "A unified diff as git writes it: for each file `--- a/PATH` and `+++ b/PATH` (/dev/null for a new or a deleted file; `diff --git`, `rename from` and `rename to` for a rename), then hunks: `@@ -LINE,COUNT +LINE,COUNT @@` and lines with a blank, - or + in front."}
  },
  "required": ["patch"],
  "additionalProperties": false
})";

std::string shown(const NamedPath& name) {
  return one_line(name.shown, 400);
}

// A file as it is now.
struct Original {
  std::string content;
  struct stat status = {};
};

Result<Original> read(const NamedPath& name, const CallContext& context) {
  TRY_ASSIGN(const RegularFile file, open_regular(name));
  TRY_ASSIGN(std::string content, read_whole(file, name, k_apply_patch_max_file, context.stop));
  return Original{.content = std::move(content), .status = file.status};
}

// A file and what the patch makes of it, as a diff with the lines that are really there.
Result<std::string> changes_of_file(const FilePatch& file, const CallContext& context) {
  Original old;
  if (file.kind != Kind::create) {
    TRY_ASSIGN(const NamedPath from,
               resolve(file.old_path.empty() ? file.new_path : file.old_path, context));
    TRY_ASSIGN(old, read(from, context));
  }
  TRY_ASSIGN(const PatchedText text,
             patched_text(old.content, file.hunks, one_line(file.path(), 400), context.stop));
  std::string changes;
  if (file.kind == Kind::rename) {
    changes += fmt::format(
        "rename from {}\nrename to {}\n", diff_name(file.old_path), diff_name(file.new_path));
  }
  if (file.is_executable) {
    changes += fmt::format("new mode: {}executable\n", *file.is_executable ? "" : "not ");
  }
  const bool goes = file.kind == Kind::remove;
  return changes + unified_diff(file.kind == Kind::create ? "/dev/null" : file.old_path,
                                old.content,
                                goes ? "/dev/null" : file.new_path,
                                goes ? std::string_view() : text.content);
}

bool only_adds(const FilePatch& file) {
  return std::ranges::all_of(file.hunks, [](const Hunk& hunk) {
    return std::ranges::all_of(hunk.lines, [](const PatchLine& line) { return line.mark == '+'; });
  });
}

std::string places_of(const std::vector<std::size_t>& lines) {
  constexpr std::size_t k_most = 10;
  if (lines.empty()) {
    return {};
  }
  std::string text = fmt::format(" ({} hunk{} at line{} ",
                                 lines.size(),
                                 lines.size() == 1 ? "" : "s",
                                 lines.size() == 1 ? "" : "s");
  for (std::size_t at = 0; at < std::min(lines.size(), k_most); ++at) {
    text += fmt::format("{}{}", at == 0 ? "" : ", ", lines[at]);
  }
  return text + (lines.size() > k_most ? ", …)" : ")");
}

// The files of one patch: everything is read, checked and written beside its place before the first
// file changes.
class Application {
 public:
  explicit Application(const CallContext& context) : context_(context) {}

  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() {
    while (!steps_.empty()) {
      steps_.pop_back();  // the folders of a later file may be in those of an earlier one
    }
  }

  Result<std::string> apply(const std::vector<FilePatch>& files) {
    auto done = perform(files);
    if (done) {
      return std::move(report_);
    }
    agent::Error error = std::move(done).error();
    if (!is_torn_) {
      error.help += fmt::format("{}Nothing was changed.", error.help.empty() ? "" : " ");
    }
    return fail(std::move(error));
  }

 private:
  struct Step {
    std::unique_ptr<AtomicFileWrite> place;
    bool removes = false;
  };

  Result<void> perform(const std::vector<FilePatch>& files) {
    for (const FilePatch& file : files) {
      TRY(prepare(file));
    }
    if (context_.stop.stop_requested()) {
      return fail(Code::tool_cancelled, "stopped before anything was changed");
    }
    return change();
  }

  Result<void> prepare(const FilePatch& file) {
    switch (file.kind) {
      case Kind::modify:
        return modify(file);
      case Kind::create:
        return create(file);
      case Kind::remove:
        return remove(file);
      case Kind::rename:
        return rename(file);
    }
    std::unreachable();
  }

  Result<void> modify(const FilePatch& file) {
    TRY_ASSIGN(const NamedPath name, resolve(file.new_path, context_));
    auto old = read(name, context_);
    std::error_code error;
    if (!old && only_adds(file) && !fs::exists(name.path, error)) {
      old.error().help = "A new file has `--- /dev/null` for its old name.";
    }
    if (!old) {
      return fail(std::move(old).error());
    }
    TRY_ASSIGN(auto place, known_place(name, *old));
    TRY_ASSIGN(const PatchedText text,
               patched_text(old->content, file.hunks, shown(name), context_.stop));
    TRY(place->draft(text.content, place.get(), file.is_executable));
    report_ += fmt::format("patched {}{}\n", shown(name), places_of(text.lines));
    steps_.push_back({.place = std::move(place)});
    return {};
  }

  Result<void> create(const FilePatch& file) {
    TRY_ASSIGN(const NamedPath name, resolve(file.new_path, context_));
    TRY_ASSIGN(auto place, new_place(name));
    TRY_ASSIGN(const PatchedText text, patched_text({}, file.hunks, shown(name), context_.stop));
    TRY(place->draft(text.content, nullptr, file.is_executable));
    report_ += fmt::format("created {} ({} bytes)\n", shown(name), text.content.size());
    steps_.push_back({.place = std::move(place)});
    return {};
  }

  Result<void> remove(const FilePatch& file) {
    TRY_ASSIGN(const NamedPath name, resolve(file.old_path, context_));
    TRY_ASSIGN(const Original old, read(name, context_));
    TRY_ASSIGN(auto place, known_place(name, old));
    TRY(check_no_link(name));
    if (!file.hunks.empty()) {
      TRY_ASSIGN(const PatchedText text,
                 patched_text(old.content, file.hunks, shown(name), context_.stop));
      if (!text.content.empty()) {
        return fail(
            Code::tool_failed,
            fmt::format("{}: the patch deletes the file, but not all of its lines", shown(name)),
            "Take out every line, or keep the file: `+++ b/PATH` in place of /dev/null.");
      }
    }
    report_ += fmt::format("deleted {}\n", shown(name));
    steps_.push_back({.place = std::move(place), .removes = true});
    return {};
  }

  Result<void> rename(const FilePatch& file) {
    TRY_ASSIGN(const NamedPath from, resolve(file.old_path, context_));
    TRY_ASSIGN(const NamedPath to, resolve(file.new_path, context_));
    TRY_ASSIGN(const Original old, read(from, context_));
    TRY_ASSIGN(auto old_place, known_place(from, old));
    TRY(check_no_link(from));
    TRY_ASSIGN(auto place, new_place(to));
    TRY_ASSIGN(const PatchedText text,
               patched_text(old.content, file.hunks, shown(from), context_.stop));
    TRY(place->draft(text.content, old_place.get(), file.is_executable));
    report_ += fmt::format("renamed {} to {}{}\n", shown(from), shown(to), places_of(text.lines));
    steps_.push_back({.place = std::move(place)});
    steps_.push_back({.place = std::move(old_place), .removes = true});
    return {};
  }

  Result<std::unique_ptr<AtomicFileWrite>> known_place(const NamedPath& name, const Original& old) {
    TRY_ASSIGN(auto place, AtomicFileWrite::open(name));
    TRY(check_once(name, *place));
    TRY(place->check_is(old.status));
    TRY(place->check_known());
    return place;
  }

  Result<std::unique_ptr<AtomicFileWrite>> new_place(const NamedPath& name) {
    TRY_ASSIGN(auto place, AtomicFileWrite::open(name));
    TRY(check_once(name, *place));
    if (place->exists()) {
      return fail(Code::tool_failed,
                  fmt::format("`{}` already exists, and the patch creates it", shown(name)),
                  "Read it, and change its lines; or take another name.");
    }
    return place;
  }

  Result<void> check_once(const NamedPath& name, const AtomicFileWrite& place) {
    if (paths_.insert(place.true_path()).second) {
      return {};
    }
    return fail(Code::tool_invalid_parameters,
                fmt::format("the patch has `{}` twice", shown(name)),
                "Put all hunks of a file under one header.");
  }

  static Result<void> check_no_link(const NamedPath& name) {
    std::error_code error;
    if (!fs::is_symlink(name.path, error)) {
      return {};
    }
    return fail(Code::tool_failed,
                fmt::format("`{}` is a link; a patch can change what it leads to, but not delete "
                            "or rename it",
                            shown(name)),
                "Name the file itself.");
  }

  Result<void> change() {
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      AtomicFileWrite& place = *steps_[at].place;
      if (auto done = steps_[at].removes ? place.set_aside() : place.swap_in(); !done) {
        return take_back(at, std::move(done).error());
      }
    }
    for (Step& step : steps_) {
      step.place->keep();
    }
    return {};
  }

  // The last change first.
  std::unexpected<agent::Error> take_back(std::size_t count, agent::Error error) {
    while (count > 0) {
      if (const auto done = steps_[--count].place->put_back(); !done) {
        error.message += "; " + done.error().message;
        is_torn_ = true;
      }
    }
    return fail(std::move(error));
  }

  const CallContext& context_;
  std::vector<Step> steps_;
  std::set<fs::path> paths_;
  std::string report_;
  bool is_torn_ = false;  // what was changed could not be put back
};

class ApplyPatch final : public Tool {
 public:
  explicit ApplyPatch(const agent::ToolSpec& spec)
      : info_{.name = "apply_patch",
              .description =
                  "Changes, makes, deletes and renames files as a unified diff says: all "
                  "of them, or none. Lines that stay or go must be in the file exactly; "
                  "line numbers may be off where the lines are unique. Read the files "
                  "first.",
              .parameters = k_apply_patch_parameters,
              .repeatable = spec.repeatable} {}

  const agent::ToolInfo& info() const override { return info_; }

  Result<void> check_arguments(const agent::Json& arguments) const override {
    TRY(parse_patch(agent::text_at(arguments, "patch")));
    return {};
  }

  // A patch that cannot be read touches nothing: it is refused.
  Access access(const agent::Json& arguments) const override {
    const auto files = parse_patch(agent::text_at(arguments, "patch"));
    if (!files) {
      return {.kind = Access::Kind::nothing};
    }
    Access access{.kind = Access::Kind::writes, .target = files->front().path()};
    for (const FilePatch& file : *files) {
      for (const std::string& path : {file.old_path, file.new_path}) {
        if (!path.empty() && path != access.target &&
            std::ranges::find(access.further, path) == access.further.end()) {
          access.further.push_back(path);
        }
      }
    }
    return access;
  }

  Result<std::string> changes(const agent::Json& arguments,
                              const CallContext& context) const override {
    TRY_ASSIGN(const auto files, parse_patch(agent::text_at(arguments, "patch")));
    std::string changes;
    for (const FilePatch& file : files) {
      TRY_ASSIGN(const std::string of_file, changes_of_file(file, context));
      changes += of_file;
    }
    return changes;
  }

  Result<void> check(const agent::Json& arguments, const CallContext& context) const override {
    return check_access(access(arguments), context);
  }

  Output call(const agent::Json& arguments, const CallContext& context) override {
    const auto files = parse_patch(agent::text_at(arguments, "patch"));
    if (!files) {
      return failure(files.error());
    }
    auto report = Application(context).apply(*files);
    return report ? Output{.text = std::move(*report)} : failure(report.error());
  }

 private:
  agent::ToolInfo info_;
};

}  // namespace

std::unique_ptr<Tool> make_apply_patch(const agent::ToolSpec& spec) {
  return std::make_unique<ApplyPatch>(spec);
}

}  // namespace tools
