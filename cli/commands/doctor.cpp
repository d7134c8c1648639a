// `errand doctor`: what of the sandbox this machine can enforce, and how it stands with errand's
// own.
#include "agent/json.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/health.h"
#include "cli/help.h"
#include "cli/terminal/render_error.h"
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
    for (std::string& place : tools::sandbox::open_places(home)) {
      std::error_code error;
      if (std::filesystem::exists(place, error)) {
        standard.open.push_back(std::move(place));
      }
    }
  }
  return standard;
}

std::vector<Health::Line> rows_of(const Standard& standard) {
  return {
      {"write",
       "the working folder but for what git and errand obey, and the run's own temporary folder"},
      {"read", "the system, the working folder, the agent file's, and folders of PATH"},
      {"closed",
       fmt::format("{}; secret places and errand's own folders",
                   agent::one_line(fmt::to_string(fmt::join(standard.closed, ", "))))},
      {"open in them",
       standard.open.empty() ? std::string("nothing that is there")
                             : agent::one_line(fmt::to_string(fmt::join(standard.open, ", ")))},
      {"network", "none; Unix sockets with a name are closed whatever the agent file says"},
      {"environment", "the variables in errand-agent(5), and those of a tool's `env`"},
      {"best effort",
       "names of files can be seen, disks filled, and without the layer mounts what git and errand "
       "obey is put back after each call, but for git's data; errand then refuses to write a log "
       "or a recording where tools can write, and a `deny` of a path makes every program ask"},
  };
}

void write_row(std::string_view name, std::string_view says, std::ostream& out) {
  constexpr std::size_t k_indent = 16;
  out << fmt::format("{:<14}  {}\n", name, wrapped(std::string(says), 80 - k_indent, k_indent));
}

void write_text(LayerSet layers,
                const std::vector<Health::Line>& standard,
                const Health& health,
                std::ostream& out) {
  for (const LayerRow& row : tools::sandbox::k_layers) {
    write_row(row.name,
              layers.has(row.layer) ? std::string("in force")
                                    : fmt::format("missing: without it, {}", row.without),
              out);
  }
  out << "\nWhat tools may do, unless an agent file says otherwise:\n";
  for (const Health::Line& row : standard) {
    write_row(row.subject, row.says, out);
  }
  out << "\nWhat errand has here:\n";
  for (const Health::Line& line : health.lines) {
    write_row(line.subject, line.says, out);
  }
}

Json to_json(LayerSet layers, const Standard& standard, const std::vector<Health::Line>& rows) {
  Json in_force = Json::array();
  Json missing = Json::array();
  Json without = Json::object();
  for (const LayerRow& row : tools::sandbox::k_layers) {
    (layers.has(row.layer) ? in_force : missing).push_back(row.name);
    if (!layers.has(row.layer)) {
      without[std::string(row.name)] = row.without;
    }
  }
  Json says = Json::object();
  for (const Health::Line& row : rows) {
    says[row.subject] = row.says;
  }
  return {{"layers", in_force},
          {"missing", missing},
          {"without", without},
          {"closed", standard.closed},
          {"open", standard.open},
          {"standard", says}};
}

}  // namespace

agent::Result<int> command_doctor(const Parsed& parsed, Context& context) {
  TRY_ASSIGN(const auto supervisor, tools::Supervisor::start());
  TRY_ASSIGN(const LayerSet layers, supervisor->try_profile(widest_confinement()));
  const Standard standard = standard_of(context.environment);
  const std::vector<Health::Line> rows = rows_of(standard);
  Health health = look_at_health(context);
  if (parsed.has("--online")) {
    TRY(ask_providers(parsed, context, health));
    if (context.cancellation.signal_number() != 0) {
      return 128 + context.cancellation.signal_number();
    }
  }
  if (!layers.has(Layer::files) || !layers.has(Layer::network)) {
    health.errors.insert(
        health.errors.begin(),
        {.code = Code::sandbox_setup,
         .message = "this machine cannot enforce what agents require by default",
         .help = "run where the kernel has Landlock and seccomp (Linux 5.13 and newer), or "
                 "set `sandbox.required` to what is enough"});
  }
  if (parsed.value("--output") == "json") {
    Json json = std::move(health.report);
    json["schema"] = "errand.doctor/1";
    json["sandbox"] = to_json(layers, standard, rows);
    context.out << context.redactor.dump(json) << "\n";
  } else {
    write_text(layers, rows, health, context.out);
  }
  if (health.errors.empty()) {
    return 0;
  }
  for (std::size_t at = 1; at < health.errors.size(); ++at) {
    context.err << render(health.errors[at], context.color_err, context.redactor) << "\n\n";
  }
  return agent::fail(std::move(health.errors.front()));
}

}  // namespace cli
