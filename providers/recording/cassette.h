// Recordings of a run's HTTP exchanges: what such a file holds, how it is written and read back.
//
// A file is a row of indented JSON objects: the run, then one object an exchange, appended when the
// exchange is over, and at the end what happened after the last one. A run that was killed leaves
// all exchanges but the one that it was in. The runs of a flow's steps and of sub-agents are in the
// same file, in the same objects, each of which says whose it is. Secrets are taken out before
// anything is written.
#pragma once
#include "agent/clock.h"
#include "agent/http.h"
#include "agent/json.h"
#include "agent/result.h"
#include "agent/secrets/redact.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace providers {

constexpr std::string_view k_cassette_schema = "errand.cassette/1";

// What the run was started with and no exchange shows.
struct RecordedRun {
  std::string member;  // where it stands: `fix[1]/helper[2]`; empty: it is the whole
  std::string run_id;
  agent::Clock::Wall start;  // whole milliseconds
  std::uint64_t seed = 0;
  std::string key_variable;  // where the API key came from; empty: none was sent
  std::string folder;        // the run's temporary folder: tools' results may name it
  std::string store;         // the journal that keeps it: `auto`, or a path; empty: none
};

// What the run's own thread read off the clock (milliseconds since the start), and how long the
// tools took, by call id, in the order in which they ended.
struct Timings {
  using ToolTime = std::pair<std::string, std::int64_t>;

  std::vector<std::int64_t> clock;
  std::vector<ToolTime> tools;
  std::size_t tools_end = 0;  // how many of the readings came before the last tool had ended
};

struct RecordedPiece {
  std::int64_t after_ms = 0;  // since the piece before, or the request; for people, not read back
  std::string bytes;
};

struct RecordedExchange {
  std::string member = {};  // RecordedRun's
  Timings before;           // since the exchange before this one
  std::string method;
  std::string url;
  agent::Headers request_headers = {};  // for people, not read back
  agent::Json request_body;             // a text where it was no JSON
  int status = 0;                       // 0: none came
  agent::Headers headers;
  std::vector<RecordedPiece> pieces = {};  // of the body, as they came
  std::optional<agent::Error> error =
      std::nullopt;                      // how it broke: code, message, help, retry_once
  std::vector<std::int64_t> clock = {};  // as Timings::clock, while the answer came
  int line = 0;                          // in the file, from 1
};

struct Cassette {
  std::string file;
  RecordedRun run;
  std::vector<RecordedExchange> exchanges;
  Timings after;
  std::string cut;                     // what is missing at the end of the file; empty: nothing
  std::vector<Cassette> members = {};  // of the whole, in the order in which they began

  // Where the API keys of all of them came from.
  std::vector<std::string> key_variables() const;
};

// cli.no_input where the file cannot be read, storage.corrupt (with the line) where it is no
// recording, something in it has another shape, or it is one of a later version. An unfinished
// object at its end is left out: `cut` says so.
agent::Result<Cassette> read_cassette(const std::string& file);
agent::Result<Cassette> parse_cassette(std::string_view text, const std::string& shown_file);

// The request as it is recorded and compared, secrets out.
struct ShownRequest {
  std::string method;
  std::string url;
  agent::Json body;  // as RecordedExchange::request_body
};
ShownRequest shown(const agent::HttpRequest& request, const agent::Redactor& redactor);

// Those of a request's headers that say something and are no credential. Secrets are still in.
agent::Headers telling_headers(const agent::Headers& headers);

// Appends to a new file. Thread-safe. What cannot be written whole is taken back; nothing is
// written after that.
class CassetteWriter {
 public:
  // cli.cannot_create where there is such a file already, or none can be made.
  static agent::Result<std::unique_ptr<CassetteWriter>> create(const std::string& file,
                                                               const RecordedRun& run,
                                                               const agent::Redactor& redactor);
  ~CassetteWriter();
  CassetteWriter(const CassetteWriter&) = delete;
  CassetteWriter& operator=(const CassetteWriter&) = delete;

  void begin(const RecordedRun& member);
  void add(RecordedExchange exchange);
  void end(const Timings& after, const std::string& member = {});

  std::optional<agent::Error> failure() const;  // storage.io: the first one

 private:
  CassetteWriter(int descriptor, std::string file, const agent::Redactor& redactor)
      : descriptor_(descriptor), file_(std::move(file)), redactor_(redactor) {}
  void append(const agent::Json& record);  // as it is

  const int descriptor_;
  const std::string file_;
  const agent::Redactor& redactor_;
  mutable std::mutex mutex_;
  std::int64_t size_ = 0;                // under mutex_: of what was written whole
  std::optional<agent::Error> failure_;  // under mutex_
};

}  // namespace providers
