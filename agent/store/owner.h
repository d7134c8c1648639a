// Which process has a run. The claim is a lock of the kernel on one byte of a file beside the
// journal: it is taken by one process at a time, goes away with it however that ends, and holds
// across containers of one machine, which have the same names and process numbers. What the journal
// says of the owner is for people alone.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"

#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>

namespace agent::store {

struct Owner {
  std::int64_t pid = 0;  // as its own container counts
  std::string host;
  std::chrono::system_clock::time_point since;

  bool operator==(const Owner&) const = default;
};
Owner this_process();

// A column of the journal: {"pid":…,"host":…,"since":…}. nullopt where it is none.
std::string to_text(const Owner& owner);
std::optional<Owner> owner_from_text(std::string_view text);

// Whoever a journal says has the run; nullopt where that is a process of this host without a claim:
// one that is gone, whose run another one has by now.
std::optional<Owner> living(std::optional<Owner> recorded, const std::string& run_id);

// cli.usage: who has the run, as far as that is known.
std::unexpected<Error> taken(const std::string& run_id, const std::optional<Owner>& owner);

// A run that this process has, until it is released or destroyed. A child that is forked meanwhile
// has it, too, until it starts a program or ends.
class RunClaim {
 public:
  // nullopt where another process has the run, or another object of this one. storage.io where the
  // file beside the journal cannot be made.
  static Result<std::optional<RunClaim>> take(const std::filesystem::path& journal,
                                              const std::string& run_id);
  // The same, which several may have at once; none of them beside one who has taken it.
  static Result<std::optional<RunClaim>> share(const std::filesystem::path& journal,
                                               const std::string& run_id);
  bool take_whole();  // of a shared one; false: others have it, too, and it stays shared
  const std::string& run_id() const { return run_id_; }
  // Whether others would see it: the file beside the journal is the one that it was taken in.
  bool holds(const std::filesystem::path& journal) const;

 private:
  static Result<std::optional<RunClaim>> locked(const std::filesystem::path& journal,
                                                const std::string& run_id,
                                                bool is_shared);
  RunClaim(Descriptor file, std::string run_id)
      : file_(std::move(file)), run_id_(std::move(run_id)) {}

  Descriptor file_;
  std::string run_id_;
};

// Asks who has runs, without taking them.
class RunClaims {
 public:
  explicit RunClaims(const std::filesystem::path& journal);
  bool is_claimed(const std::string& run_id) const;
  bool is_claimed_whole(const std::string& run_id) const;  // it cannot even be shared
  bool is_any_claimed() const;

 private:
  Descriptor file_;  // none: nobody has ever claimed a run here
};

// The file with the locks: it stays empty.
std::filesystem::path claims_file(std::filesystem::path journal);
// storage.io where it is not there and cannot be made, or cannot be written: no run of the journal
// could be taken.
Result<void> check_claims_file(const std::filesystem::path& journal);

}  // namespace agent::store
