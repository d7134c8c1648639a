#include "agent/store/owner.h"

#include "agent/duration.h"
#include "agent/json.h"
#include "agent/shortage.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace agent::store {
namespace {

// One byte for each run, by the hash (FNV-1a) of its id, of the places that a file can have.
off_t place_of(std::string_view run_id) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : run_id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  }
  return static_cast<off_t>(hash >> 2);
}

struct flock lock_at(off_t place, off_t length) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = length;  // 0: to the end
  return lock;
}

// `kind`: the lock that could not be taken there, F_WRLCK by default.
bool is_locked(const Descriptor& file, off_t place, off_t length, short kind = F_WRLCK) {
  struct flock lock = lock_at(place, length);
  lock.l_type = kind;
  return file && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::unexpected<Error> cannot(std::string_view what,
                              const std::filesystem::path& file,
                              int number) {
  return fail(agent::error_of(
      number,
      {.code = Code::storage_io,
       .message = fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(number)),
       .help = number == EISDIR  ? "take that folder away: errand makes a file of this name"
               : number == ELOOP ? "take that link away: errand makes a file of this name"
                                 : "make the file and its folder writable"}));
}

Result<Descriptor> opened(const std::filesystem::path& claims) {
  Descriptor file(
      ::open(claims.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  return file ? Result<Descriptor>(std::move(file)) : cannot("open", claims, errno);
}

// As the kernel lists the locks that are held through a descriptor.
bool shows_lock(const std::filesystem::path& descriptor, off_t place) {
  const std::string ending = fmt::format(" {0} {0}", place);
  std::ifstream lines(descriptor);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("lock:") && line.ends_with(ending)) {
      return true;
    }
  }
  return false;
}

bool any_shows_lock(std::filesystem::directory_iterator descriptors, off_t place) {
  std::error_code error;
  for (; !error && descriptors != std::filesystem::directory_iterator();
       descriptors.increment(error)) {
    if (shows_lock(descriptors->path(), place)) {
      return true;
    }
  }
  return false;
}

// True where that cannot be seen, too.
bool may_hold_lock(std::int64_t pid, off_t place) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::directory_iterator descriptors(fmt::format("/proc/{}/fdinfo", pid), error);
  if (error) {
    const bool is_gone = error == std::errc::no_such_file_or_directory;
    return !is_gone || !fs::exists("/proc/self", error);
  }
  return any_shows_lock(std::move(descriptors), place);
}

// Before it has said so in the journal. Empty: none that can be seen has it.
std::string process_with_lock(off_t place) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
    std::error_code closed;
    fs::directory_iterator descriptors;
    if (is_process) {
      descriptors = fs::directory_iterator(at->path() / "fdinfo", closed);
    }
    if (any_shows_lock(std::move(descriptors), place)) {
      return name;
    }
  }
  return {};
}

std::string who_has(const std::string& run_id, const std::optional<Owner>& owner) {
  if (owner) {
    return fmt::format("process {} on {} has the run {}, since {}",
                       owner->pid,
                       one_line(owner->host, 100),
                       run_id,
                       format_time(owner->since));
  }
  const std::string process = process_with_lock(place_of(run_id));
  return process.empty()
             ? fmt::format("another process has the run {}", run_id)
             : fmt::format("process {} on {} has the run {}", process, this_process().host, run_id);
}

}  // namespace

std::optional<Owner> living(std::optional<Owner> recorded, const std::string& run_id) {
  const bool is_seen = recorded && recorded->host == this_process().host;
  return is_seen && !may_hold_lock(recorded->pid, place_of(run_id)) ? std::nullopt : recorded;
}

Owner this_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return {.pid = getpid(),
          .host = host.data(),
          .since = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now())};
}

std::unexpected<Error> taken(const std::string& run_id, const std::optional<Owner>& owner) {
  return fail({.code = Code::cli_usage,
               .message = who_has(run_id, owner),
               .help = "wait for its end, or stop that process",
               .is_taken = true});
}

std::string to_text(const Owner& owner) {
  return dump(Json{{"pid", owner.pid}, {"host", owner.host}, {"since", format_time(owner.since)}});
}

std::optional<Owner> owner_from_text(std::string_view text) {
  const auto json = parse_json(text);
  const auto since = json ? parse_time(text_at(*json, "since")) : std::nullopt;
  if (!since) {
    return std::nullopt;
  }
  return Owner{.pid = integer_at(*json, "pid"),
               .host = std::string(text_at(*json, "host")),
               .since = *since};
}

std::filesystem::path claims_file(std::filesystem::path journal) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(journal, error);
  return (error ? journal : real) += "-lock";  // one for all names of the journal
}

Result<void> check_claims_file(const std::filesystem::path& journal) {
  TRY(opened(claims_file(journal)));
  return {};
}

Result<std::optional<RunClaim>> RunClaim::take(const std::filesystem::path& journal,
                                               const std::string& run_id) {
  return locked(journal, run_id, false);
}

Result<std::optional<RunClaim>> RunClaim::share(const std::filesystem::path& journal,
                                                const std::string& run_id) {
  return locked(journal, run_id, true);
}

Result<std::optional<RunClaim>> RunClaim::locked(const std::filesystem::path& journal,
                                                 const std::string& run_id,
                                                 bool is_shared) {
  const std::filesystem::path path = claims_file(journal);
  TRY_ASSIGN(Descriptor file, opened(path));
  struct flock lock = lock_at(place_of(run_id), 1);
  lock.l_type = is_shared ? F_RDLCK : F_WRLCK;
  if (fcntl(file.get(), F_OFD_SETLK, &lock) == 0) {
    return std::optional(RunClaim(std::move(file), run_id));
  }
  if (errno == EAGAIN || errno == EACCES) {
    return std::nullopt;
  }
  return cannot("lock", path, errno);
}

bool RunClaim::take_whole() {
  struct flock lock = lock_at(place_of(run_id_), 1);
  return fcntl(file_.get(), F_OFD_SETLK, &lock) == 0;
}

bool RunClaim::holds(const std::filesystem::path& journal) const {
  struct stat here{};
  struct stat there{};
  return fstat(file_.get(), &here) == 0 && ::stat(claims_file(journal).c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

RunClaims::RunClaims(const std::filesystem::path& journal)
    : file_(::open(claims_file(journal).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

bool RunClaims::is_claimed(const std::string& run_id) const {
  return is_locked(file_, place_of(run_id), 1);
}

bool RunClaims::is_claimed_whole(const std::string& run_id) const {
  return is_locked(file_, place_of(run_id), 1, F_RDLCK);
}

bool RunClaims::is_any_claimed() const {
  return is_locked(file_, 0, 0);
}

}  // namespace agent::store
