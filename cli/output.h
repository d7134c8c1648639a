// Bytes out of the process: stdout, or a file that appears whole or not at all.
#pragma once
#include "agent/descriptor.h"
#include "agent/result.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace cli {

// Writes to a descriptor or a file, and waits for its reader for as long as the patience lasts;
// null: for ever. The first failure sticks, and is asked for; nothing is written after it.
class Output {
 public:
  static std::unique_ptr<Output> to_descriptor(int descriptor,
                                               std::string name,
                                               agent::WritePatience* patience = nullptr);
  // A file of the user's naming. Devices, pipes, and this process's own descriptors by their names
  // (/dev/stdout, /dev/fd/3) are written as they are; a link to anything else is refused, and in a
  // relative path one out of the working folder, so that no other file is reached than the one that
  // was named. cli.cannot_create where it cannot be.
  //
  // This one writes beside a regular file, without a name where the file system has that, and takes
  // its place on commit().
  static agent::Result<std::unique_ptr<Output>> to_file(const std::string& file,
                                                        agent::WritePatience* patience = nullptr);
  // This one writes at the end of a regular file, at once.
  static agent::Result<std::unique_ptr<Output>> append_to(const std::string& file,
                                                          agent::WritePatience* patience = nullptr);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // The name of what is written beside the file; empty: it has none.
  const std::string& temporary() const { return temporary_; }

  void write(std::string_view bytes);
  // What was written is there to stay; once, at the end. Where the folder was moved meanwhile, and
  // the name leads to another one, that is a failure.
  void commit();

  const agent::Error* failure() const { return failure_ ? &*failure_ : nullptr; }  // storage.io
  bool reader_is_gone() const { return reader_is_gone_; }                          // EPIPE
  // The work was being stopped, and nobody read the rest: no failure of its own.
  bool is_given_up() const { return is_given_up_; }

 private:
  Output(agent::Descriptor owned, std::string name, agent::WritePatience* patience)
      : owned_(std::move(owned)),
        descriptor_(owned_.get()),
        name_(std::move(name)),
        patience_(patience) {}
  void fail(std::string_view doing, int error);
  bool give_name();
  bool leads_elsewhere() const;

  agent::Descriptor owned_;
  int descriptor_;
  std::string name_;
  agent::WritePatience* patience_;
  agent::Descriptor folder_;           // of the file that is replaced; empty: written in place
  std::filesystem::path folder_name_;  // the same, absolute
  std::string temporary_;
  bool reader_is_gone_ = false;
  bool is_given_up_ = false;
  std::optional<agent::Error> failure_;
};

// The exit code of a program whose product went there: that of SIGPIPE where the reader went away,
// else `otherwise`. The output's own failure, where it has one.
agent::Result<int> ending_of(const Output& output, int otherwise);

// Which regular file a path leads to, there already or not: two outputs to one would lose the
// first. Links and spellings do not matter.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;  // the folder's, where the file is not there yet
  std::string name;  // in that case

  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identity_of(const std::string& file);  // none: no regular file

// cli.cannot_create where a relative path from the folder on goes by a link that leads out of it:
// what is below that may be another's, a run's among them. Links to folders that are in it are as
// good as these.
agent::Result<void> check_stays_inside(const std::string& file,
                                       const std::filesystem::path& folder = ".");

// cli.cannot_create where the last part of the path is a link.
agent::Result<void> check_is_no_link(const std::string& file);

}  // namespace cli
