// `errand doctor`: what of the sandbox this machine can enforce.
#include "agent/json.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "tools/process/supervisor.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/profile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cli {
namespace {

using agent::Code;
using agent::Json;
using tools::sandbox::Layer;
using tools::sandbox::LayerRow;
using tools::sandbox::LayerSet;

// Everything that an agent file can ask for; the numbers limit nothing.
std::string widest_confinement() {
  constexpr std::uint64_t k_plenty = std::uint64_t{1} << 40;
  return encode(tools::sandbox::Profile{
      .egress_proxy = true, .memory = k_plenty, .processes = k_plenty, .cpu_time = k_plenty});
}

void write_text(LayerSet layers, std::ostream& out) {
  constexpr std::size_t k_indent = 16;
  for (const LayerRow& row : tools::sandbox::k_layers) {
    const std::string says = layers.has(row.layer)
                                 ? std::string("in force")
                                 : fmt::format("missing: without it, {}", row.without);
    out << fmt::format("{:<14}  {}\n", row.name, wrapped(says, 80 - k_indent, k_indent));
  }
}

void write_json(LayerSet layers, std::ostream& out) {
  Json in_force = Json::array();
  Json missing = Json::array();
  for (const LayerRow& row : tools::sandbox::k_layers) {
    (layers.has(row.layer) ? in_force : missing).push_back(row.name);
  }
  const Json json = {{"schema", "errand.doctor/1"},
                     {"sandbox", {{"layers", in_force}, {"missing", missing}}}};
  out << agent::dump(json) << "\n";
}

}  // namespace

agent::Result<int> command_doctor(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());
  TRY_ASSIGN(const LayerSet layers, supervisor->try_profile(widest_confinement()));
  if (parsed.value("--output") == "json") {
    write_json(layers, context.out);
  } else {
    write_text(layers, context.out);
  }
  if (!layers.has(Layer::files) || !layers.has(Layer::network)) {
    return agent::fail(Code::sandbox_setup,
                       "this machine cannot enforce what agents require by default",
                       "run where the kernel has Landlock and seccomp (Linux 5.13 and newer), or "
                       "set `sandbox.required` to what is enough");
  }
  return 0;
}

}  // namespace cli
