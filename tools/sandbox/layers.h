// The parts of a sandbox that a kernel may have or lack. What is asked for and what is there is
// compared, and said, in these names.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tools::sandbox {

enum class Layer : std::uint8_t {
  files,          // Landlock: what may be read and written
  mounts,         // a private mount namespace: exceptions inside what is allowed
  network,        // seccomp: which sockets can be made
  hosts,          // a private network: no way out but errand's proxy
  system_calls,   // seccomp: no ptrace, mount, io_uring, keyring
  signals,        // none to processes outside the call
  control_group,  // cgroup v2: memory and processes are counted for the whole call
  memory,
  processes,
  cpu_time,
};

struct LayerRow {
  Layer layer;
  std::string_view name;
  std::string_view without;     // what does not hold where it is missing
  bool has_substitute = false;  // something weaker takes its place: no reason to warn in every run
};

constexpr auto k_layers = std::to_array<LayerRow>({
    {Layer::files, "files", "programs can read and write whatever you can"},
    {Layer::mounts,
     "mounts",
     "programs can change modes, owners, times and extended attributes of your files; what they "
     "change of what git and "
     "errand obey is undone after the call, not prevented, and git's data (objects, refs, index) "
     "stays changed, which is said; they have no terminals or shared memory of their own"},
    {Layer::network, "network", "programs can reach the network"},
    {Layer::hosts, "hosts", "`sandbox.allow_hosts` is not enforced"},
    {Layer::system_calls, "system_calls", "programs can use ptrace, mounts and the keyring"},
    {Layer::signals,
     "signals",
     "programs can send signals to your other processes, if not to errand",
     true},
    {Layer::control_group,
     "control_group",
     "`sandbox.memory` is the address space of each process, and `sandbox.processes` counts all "
     "processes of the user, and none of root's",
     true},
    {Layer::memory, "memory", "`sandbox.memory` is not enforced"},
    {Layer::processes, "processes", "`sandbox.processes` is not enforced"},
    {Layer::cpu_time, "cpu_time", "`sandbox.cpu_time` is not enforced"},
});

class LayerSet {
 public:
  constexpr LayerSet() = default;
  constexpr explicit LayerSet(std::uint32_t bits) : bits_(bits) {}

  constexpr bool has(Layer layer) const { return (bits_ & bit(layer)) != 0; }
  constexpr bool has_all(LayerSet others) const { return (bits_ & others.bits_) == others.bits_; }
  constexpr void add(Layer layer) { bits_ |= bit(layer); }
  constexpr std::uint32_t bits() const { return bits_; }
  bool operator==(const LayerSet&) const = default;

 private:
  static constexpr std::uint32_t bit(Layer layer) { return 1u << std::to_underlying(layer); }
  std::uint32_t bits_ = 0;
};

}  // namespace tools::sandbox
