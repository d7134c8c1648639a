#include "config/build/build.h"
#include "config/check.h"
#include "config/keys.h"
#include "config/read.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace config {

agent::SandboxSpec build_sandbox(const Value& value, const KnownNames& known, Problems& problems) {
  agent::SandboxSpec sandbox;
  const std::string mode = value.kind == Kind::text ? value.text : text_at(value, "mode");
  sandbox.mode = agent::sandbox_mode_from(mode).value_or(sandbox.mode);
  sandbox.network = text_at(value, "network") == "allow";
  sandbox.allow_hosts = build_hosts(value, Shape::host_pattern, known, problems);
  sandbox.read = texts_at(value, "read");
  sandbox.write = texts_at(value, "write");
  sandbox.memory = count_at(value, "memory");
  sandbox.processes = count_at(value, "processes");
  sandbox.cpu_time = duration_at(value, "cpu_time");
  if (value_at(value, "required") != nullptr) {
    sandbox.required = texts_at(value, "required");
  }
  if (const Entry* const hosts = value.find("allow_hosts"); hosts != nullptr && sandbox.network) {
    problems.add(hosts->key_span,
                 "`sandbox.allow_hosts` does nothing where `sandbox.network` allows all hosts",
                 "take one of them out");
  }
  for (const Entry& entry : value.entries) {
    if (sandbox.mode == agent::SandboxSpec::Mode::off && entry.key != "mode" &&
        !is_free_key(entry.key)) {
      problems.add(entry.key_span,
                   fmt::format("`sandbox.{}` does nothing where the sandbox is off", entry.key),
                   "take it out, or choose another mode");
    }
  }
  return sandbox;
}

agent::CommandSandbox build_command_sandbox(const Value& item) {
  agent::CommandSandbox sandbox;
  const Value* value = value_at(item, "sandbox");
  if (value == nullptr) {
    return sandbox;
  }
  sandbox.is_off = value->kind == Kind::text && value->text == "off";
  if (value_at(*value, "network") != nullptr) {
    sandbox.network = text_at(*value, "network") == "allow";
  }
  sandbox.read = texts_at(*value, "read");
  sandbox.write = texts_at(*value, "write");
  return sandbox;
}

}  // namespace config
