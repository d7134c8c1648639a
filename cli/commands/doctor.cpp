// `errand doctor`: what of the sandbox this machine can enforce.
#include "agent/json.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "tools/process/supervisor.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/places.h"
#include "tools/sandbox/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

// What holds on this machine where an agent file says nothing else; the manual has the tables.
struct Standard {
  std::vector<std::string> closed;  // homes
  std::vector<std::string> open;    // what is there of them
};

Standard standard_of(const agent::Environment& environment) {
  const tools::sandbox::Homes homes = tools::sandbox::find_homes(environment);
  Standard standard;
  for (const std::filesystem::path& home : homes.closed) {
    standard.closed.push_back(home.string());
  }
  for (const std::filesystem::path& home : homes.own) {
    for (const std::filesystem::path& place : tools::sandbox::open_places(home)) {
      std::error_code error;
      if (std::filesystem::exists(place, error)) {
        standard.open.push_back(place.string());
      }
    }
  }
  return standard;
}

void write_text(const Standard& standard, std::ostream& out) {
  constexpr std::size_t k_indent = 16;
  const auto row = [&](std::string_view name, const std::string& says) {
    out << fmt::format("{:<14}  {}\n", name, wrapped(says, 80 - k_indent, k_indent));
  };
  out << "\nWhat tools may do, unless an agent file says otherwise:\n";
  row("write",
      "the working folder but for what git and errand obey, and the run's own temporary folder");
  row("read", "the system, the working folder, the agent file's, and folders of PATH");
  row("closed",
      fmt::format("{}; secret places and errand's own folders",
                  agent::one_line(fmt::to_string(fmt::join(standard.closed, ", ")))));
  row("open in them",
      standard.open.empty() ? std::string("nothing that is there")
                            : agent::one_line(fmt::to_string(fmt::join(standard.open, ", "))));
  row("network", "none; Unix sockets with a name are closed whatever the agent file says");
  row("environment", "the variables in errand-agent(5), and those of a tool's `env`");
  row("best effort",
      "names of files can be seen, disks filled, and without the layer mounts what git and errand "
      "obey is put back after each call, but for git's data; errand then refuses to write a log or "
      "a recording where tools can write, and a `deny` of a path makes every program ask");
}

void write_json(LayerSet layers, const Standard& standard, std::ostream& out) {
  Json in_force = Json::array();
  Json missing = Json::array();
  for (const LayerRow& row : tools::sandbox::k_layers) {
    (layers.has(row.layer) ? in_force : missing).push_back(row.name);
  }
  const Json json = {{"schema", "errand.doctor/1"},
                     {"sandbox",
                      {{"layers", in_force},
                       {"missing", missing},
                       {"closed", standard.closed},
                       {"open", standard.open}}}};
  out << agent::dump(json) << "\n";
}

}  // namespace

agent::Result<int> command_doctor(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());
  TRY_ASSIGN(const LayerSet layers, supervisor->try_profile(widest_confinement()));
  const Standard standard = standard_of(context.environment);
  if (parsed.value("--output") == "json") {
    write_json(layers, standard, context.out);
  } else {
    write_text(layers, context.out);
    write_text(standard, context.out);
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
