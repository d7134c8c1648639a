#include "config/named_files.h"

#include "agent/text.h"
#include "config/yaml/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

namespace config {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Where the path starts; nullopt: at no folder of the agent's, since it is a whole one.
std::optional<fs::path> start_of(const fs::path& written, const fs::path& folder) {
  std::error_code error;
  fs::path start = fs::canonical(folder, error);
  const fs::path plain = (folder / written).lexically_normal();
  if (written.is_absolute()) {
    return is_inside(plain, folder) || is_inside(plain, start) ? std::optional(start)
                                                               : std::nullopt;
  }
  for (const fs::path& part : written.lexically_normal()) {
    if (part != "..") {
      break;
    }
    start = start.parent_path();
  }
  return start;
}

}  // namespace

agent::Result<void> NamedFiles::judge(const fs::path& written, const fs::path& real) const {
  const auto refuse_and_say = [&](std::string_view why, std::string help) {
    return agent::fail({.code = agent::Code::config_invalid,
                        .message = fmt::format("`{}` {}", agent::one_line(written.string()), why),
                        .help = std::move(help),
                        .where = agent::Where{.file = locate(written).string(), .excerpt = {}}});
  };
  const auto refuse = [&](std::string_view why) {
    return refuse_and_say(
        why,
        fmt::format("`sandbox: {{read: [\"{}\"]}}` in the agent file opens it to the agent",
                    agent::one_line(real.string())));
  };
  std::error_code error;
  const auto reading =
      policy_ ? policy_(fs::absolute(locate(written), error), real) : Reading::open;
  if (!reading && reading.error().code == agent::Code::tool_policy_blocked) {
    return refuse_and_say("may not be read by tools: " + reading.error().message,
                          "a model is shown what its tools may read: name another file, or take "
                          "out the rule");
  }
  if (!reading) {
    return agent::fail(reading.error());
  }
  if (*reading == Reading::named) {
    return {};
  }
  if (*reading == Reading::closed) {
    return refuse("is in a home folder or a secret place, which the sandbox closes to the agent");
  }
  const auto start = start_of(written, folder_);
  if (start && !is_inside(real, *start)) {
    return refuse(
        fmt::format("leads by a link out of the folder `{}`", agent::one_line(start->string())));
  }
  return {};
}

agent::Result<void> NamedFiles::foresee(const fs::path& written, const fs::path& real) const {
  auto judged = judge(written, real);
  return !judged && judged.error().code == agent::Code::sandbox_setup ? agent::Result<void>()
                                                                      : judged;
}

agent::Result<std::string> NamedFiles::read(const fs::path& written, std::size_t limit) const {
  return read_text_file(
      locate(written), limit, [&](const fs::path& real) { return judge(written, real); });
}

}  // namespace config
