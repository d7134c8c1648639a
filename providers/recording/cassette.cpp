#include "providers/recording/cassette.h"

#include "agent/base64.h"
#include "agent/descriptor.h"
#include "agent/duration.h"
#include "agent/schema/json_schema.h"
#include "agent/text.h"
#include "providers/recording/stream_redaction.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <system_error>
#include <unistd.h>

namespace providers {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;
using agent::Result;

constexpr int k_max_depth = 220;  // of a record: that of a body, and what stands around it
constexpr std::size_t k_line = 100;
constexpr mode_t k_mode = 0666;

constexpr auto k_request_headers = std::to_array<std::string_view>(
    {"content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta"});
// Credentials, and names of whose account it is.
constexpr auto k_hidden_headers =
    std::to_array<std::string_view>({"cookie", "auth", "organization", "project"});

// What a record may hold; what is not named here is not read. Times are in milliseconds, up to
// thirty years.
constexpr std::string_view k_shape = R"({
  "type": "object",
  "properties": {
    "member": {"type": "string"},
    "run_id": {"type": "string"},
    "start": {"type": "string"},
    "seed": {"type": "integer"},
    "key_variable": {"type": "string"},
    "folder": {"type": "string"},
    "store": {"type": "string"},
    "before": {"$ref": "#/definitions/timings"},
    "request": {
      "type": "object",
      "properties": {"method": {"type": "string"}, "url": {"type": "string"}},
      "required": ["method", "url", "body"]
    },
    "response": {
      "type": "object",
      "properties": {
        "status": {"type": "integer", "minimum": 0, "maximum": 999},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "body": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "base64": {"type": "string"}}
          }
        }
      },
      "required": ["body"]
    },
    "error": {
      "type": "object",
      "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "help": {"type": "string"},
        "retry_once": {"type": "boolean"}
      }
    },
    "clock": {"$ref": "#/definitions/times"},
    "after": {"$ref": "#/definitions/timings"}
  },
  "definitions": {
    "time": {"type": "integer", "minimum": 0, "maximum": 1000000000000},
    "times": {"type": "array", "items": {"$ref": "#/definitions/time"}},
    "timings": {
      "type": "object",
      "properties": {
        "clock": {"$ref": "#/definitions/times"},
        "tools": {"type": "object", "additionalProperties": {"$ref": "#/definitions/time"}},
        "tools_end": {"type": "integer", "minimum": 0, "maximum": 1000000000}
      }
    }
  }
})";

// ---- layout: what a person can read and compare line by line ----

bool is_flat(const Json& value) {
  return std::ranges::none_of(
      value, [](const Json& member) { return member.is_structured() && !member.empty(); });
}

void lay_out(const Json& value, std::size_t indent, bool is_item, std::string& out);

void put_members(const Json& value,
                 std::string_view first,
                 std::string_view separator,
                 std::size_t indent,
                 std::string& out) {
  for (auto member = value.begin(); member != value.end(); ++member) {
    out += member == value.begin() ? first : separator;
    if (value.is_object()) {
      out += agent::dump(Json(member.key()));
      out += ": ";
    }
    lay_out(*member, indent, value.is_array(), out);
  }
}

void put_lines(const Json& value, std::size_t indent, std::string& out) {
  const std::string margin = '\n' + std::string(indent + 2, ' ');
  out += value.is_object() ? '{' : '[';
  put_members(value, margin, ',' + margin, indent + 2, out);
  out += '\n';
  out.append(indent, ' ');
  out += value.is_object() ? '}' : ']';
}

// What holds nothing nested is one line: always where it is an item of a list, or a list of
// numbers; a member of an object only where it fits.
void lay_out(const Json& value, std::size_t indent, bool is_item, std::string& out) {
  if (!value.is_structured() || value.empty()) {
    out += agent::dump(value);
    return;
  }
  if (is_flat(value)) {
    std::string line(1, value.is_object() ? '{' : '[');
    put_members(value, "", ", ", indent, line);
    line += value.is_object() ? '}' : ']';
    if (is_item || line.size() <= k_line || agent::is_number(value.front())) {
      out += line;
      return;
    }
  }
  put_lines(value, indent, out);
}

// ---- to JSON ----

Json to_json(const agent::Headers& headers) {
  Json json = Json::object();
  for (const auto& [name, value] : headers) {
    const std::string_view before = agent::text_at(json, name);
    json[name] = before.empty() ? value : fmt::format("{}, {}", before, value);
  }
  return json;
}

Json to_json(const RecordedPiece& piece) {
  Json json = {{"after_ms", piece.after_ms}};
  if (agent::is_valid_utf8(piece.bytes)) {
    json["text"] = piece.bytes;
  } else {
    json["base64"] = agent::to_base64(piece.bytes);
  }
  return json;
}

Json to_json(const Timings& timings) {
  Json tools = Json::object();
  for (const auto& [call_id, time] : timings.tools) {
    tools[call_id] = time;
  }
  return {{"tools", std::move(tools)}, {"tools_end", timings.tools_end}, {"clock", timings.clock}};
}

// What begins each object; nothing says that it is the whole's.
Json object_of(const std::string& member) {
  return member.empty() ? Json::object() : Json{{"member", member}};
}

Json to_json(const RecordedRun& run) {
  Json json = run.member.empty() ? Json{{"schema", k_cassette_schema}, {"errand", ERRAND_VERSION}}
                                 : object_of(run.member);
  json.update({{"run_id", run.run_id},
               {"start", agent::format_time(run.start)},
               {"seed", run.seed},
               {"key_variable", run.key_variable},
               {"folder", run.folder},
               {"store", run.store}});
  return json;
}

Json to_json(const std::vector<RecordedPiece>& pieces) {
  Json json = Json::array();
  for (const RecordedPiece& piece : pieces) {
    json.push_back(to_json(piece));
  }
  return json;
}

// All but the pieces of the answer.
Json to_json(const RecordedExchange& exchange) {
  Json json = object_of(exchange.member);
  json["request"] = {{"method", exchange.method},
                     {"url", exchange.url},
                     {"headers", to_json(exchange.request_headers)},
                     {"body", exchange.request_body}};
  json["response"] = {{"status", exchange.status}, {"headers", to_json(exchange.headers)}};
  if (exchange.error) {
    json["error"] = {{"code", agent::row(exchange.error->code).name},
                     {"message", exchange.error->message},
                     {"help", exchange.error->help},
                     {"retry_once", exchange.error->retry_once}};
  }
  json["before"] = to_json(exchange.before);
  json["clock"] = exchange.clock;
  return json;
}

// Told as providers/wire/answer_decoder.cpp tells it: by the first byte, that of a frame's length.
bool is_event_stream(std::string_view body) {
  return body.starts_with('\0');
}

// A secret may lie across two pieces or events, so that a body with one becomes a single piece. The
// frames of an event stream stay as they came: with other bytes their checksums were wrong.
void redact_body(RecordedExchange& exchange, const agent::Redactor& redactor) {
  std::string body;
  std::int64_t time = 0;
  for (const RecordedPiece& piece : exchange.pieces) {
    body += piece.bytes;
    time += piece.after_ms;
  }
  if (is_event_stream(body)) {
    return;
  }
  auto clean = redact_stream(body, redactor);
  if (clean || !redactor.is_clean(body)) {
    exchange.pieces = {{.after_ms = time, .bytes = redactor.apply(clean.value_or(body))}};
  }
}

void drop_hidden_headers(agent::Headers& headers) {
  std::erase_if(headers, [](const auto& header) {
    const std::string name = agent::to_lower(header.first);
    return std::ranges::any_of(k_hidden_headers,
                               [&](std::string_view word) { return name.contains(word); });
  });
}

// ---- from JSON ----

Error corrupt(const std::string& file, int line, std::string_view what) {
  return {.code = Code::storage_corrupt,
          .message = fmt::format("`{}` cannot be replayed: {}", file, what),
          .help = "Record the run anew: remove the file, and give it to --record.",
          .where = agent::Where{.file = file, .line = line, .excerpt = {}}};
}

// One of the objects of a file, still as text.
struct Record {
  std::string_view text;
  int line = 1;
  bool is_whole = false;
};

// Takes the next object off the front of `text`; nullopt at the end.
std::optional<Record> next_record(std::string_view& text, int& line) {
  const auto skip = [&](std::size_t count) {
    line += static_cast<int>(std::ranges::count(text.substr(0, count), '\n'));
    text.remove_prefix(count);
  };
  skip(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) {
    return std::nullopt;
  }
  Record record{.text = text, .line = line};
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (depth <= 0 && !in_string) {
      record.text = text.substr(0, at + 1);
      record.is_whole = true;
      break;
    }
  }
  skip(record.text.size());
  return record;
}

// What follows reads records that have the shape.

agent::Headers headers_from(const Json* json) {
  agent::Headers headers;
  if (json != nullptr) {
    for (auto member = json->begin(); member != json->end(); ++member) {
      headers.emplace_back(member.key(), agent::text_at(*json, member.key()));
    }
  }
  return headers;
}

std::vector<std::int64_t> clock_from(const Json& json) {
  std::vector<std::int64_t> clock;
  if (const Json* list = agent::find(json, "clock")) {
    for (const Json& reading : *list) {
      clock.push_back(agent::integer_of(reading).value_or(0));
    }
  }
  return clock;
}

Timings timings_from(const Json* json) {
  Timings timings;
  if (json == nullptr) {
    return timings;
  }
  timings.clock = clock_from(*json);
  timings.tools_end = static_cast<std::size_t>(agent::integer_at(*json, "tools_end"));
  if (const Json* tools = agent::find(*json, "tools")) {
    for (auto member = tools->begin(); member != tools->end(); ++member) {
      timings.tools.emplace_back(member.key(), agent::integer_at(*tools, member.key()));
    }
  }
  return timings;
}

std::optional<std::string> bytes_from(const Json& piece) {
  if (agent::find(piece, "base64") != nullptr) {
    return agent::from_base64(agent::text_at(piece, "base64"));
  }
  const Json* text = agent::find(piece, "text");
  return text != nullptr ? std::optional(text->get<std::string>()) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::string& file) { cassette_.file = file; }

  Result<Cassette> read(std::string_view text) {
    int line = 1;
    bool has_run = false;
    while (const auto record = next_record(text, line)) {
      if (!record->is_whole && has_run) {
        cassette_.cut =
            fmt::format("the recording `{}` breaks off in line {}: what stands there is left out",
                        cassette_.file,
                        record->line);
        break;
      }
      const auto json = agent::parse_json(record->text, k_max_depth);
      if (!json || !json->is_object()) {
        return refuse(record->line, has_run ? "this is not a JSON object" : k_no_recording);
      }
      if (!has_run) {
        TRY(take_run(*json, record->line));
        has_run = true;
        continue;
      }
      TRY(check_shape(*json, record->line));
      TRY(take_object(*json, record->line));
    }
    if (!has_run) {
      return refuse(1, "it is empty");
    }
    return std::move(cassette_);
  }

 private:
  static constexpr std::string_view k_no_recording = "it is not a recording of errand";

  std::unexpected<Error> refuse(int line, std::string_view what) const {
    return agent::fail(corrupt(cassette_.file, line, what));
  }

  Result<void> check_shape(const Json& record, int line) const {
    const auto violations = shape_.check(record);
    if (violations.empty()) {
      return {};
    }
    const auto& [pointer, message, is_type] = violations.front();
    return refuse(line, fmt::format("`{}` {}", pointer, message));
  }

  Result<void> take_object(const Json& json, int line) {
    const std::string member(agent::text_at(json, "member"));
    const auto found = members_.find(member);
    if (agent::find(json, "run_id") != nullptr) {
      if (member.empty() || found != members_.end()) {
        return refuse(line,
                      member.empty() ? std::string("the whole begins a second time")
                                     : fmt::format("the run `{}` begins a second time", member));
      }
      members_.emplace(member, cassette_.members.size());
      Cassette& part = cassette_.members.emplace_back(Cassette{.file = cassette_.file});
      TRY_ASSIGN(part.run, run_from(json, line));
      return {};
    }
    if (!member.empty() && found == members_.end()) {
      return refuse(line, fmt::format("the run `{}` has not begun", member));
    }
    Cassette& part = member.empty() ? cassette_ : cassette_.members[found->second];
    if (const Json* after = agent::find(json, "after")) {
      part.after = timings_from(after);
      return {};
    }
    TRY_ASSIGN(auto exchange, exchange_from(json, line));
    part.exchanges.push_back(std::move(exchange));
    return {};
  }

  Result<void> take_run(const Json& json, int line) {
    const std::string_view schema = agent::text_at(json, "schema");
    if (schema != k_cassette_schema) {
      const auto family = k_cassette_schema.substr(0, k_cassette_schema.find('/') + 1);
      return refuse(line,
                    schema.starts_with(family)
                        ? fmt::format("it has the format {}, which this errand does not know; {} "
                                      "wrote it",
                                      schema,
                                      "errand " + std::string(agent::text_at(json, "errand", "?")))
                        : std::string(k_no_recording));
    }
    TRY(check_shape(json, line));
    TRY_ASSIGN(cassette_.run, run_from(json, line));
    return {};
  }

  Result<RecordedRun> run_from(const Json& json, int line) const {
    const auto start = agent::parse_time(agent::text_at(json, "start"));
    const std::string_view run_id = agent::text_at(json, "run_id");
    if (!start || run_id.empty()) {
      return refuse(line, "`start` or `run_id` of its run is missing");
    }
    return RecordedRun{.member = std::string(agent::text_at(json, "member")),
                       .run_id = std::string(run_id),
                       .start = *start,
                       .seed = static_cast<std::uint64_t>(agent::integer_at(json, "seed")),
                       .key_variable = std::string(agent::text_at(json, "key_variable")),
                       .folder = std::string(agent::text_at(json, "folder")),
                       .store = std::string(agent::text_at(json, "store"))};
  }

  Result<RecordedExchange> exchange_from(const Json& json, int line) const {
    const Json* request = agent::find(json, "request");
    const Json* response = agent::find(json, "response");
    if (request == nullptr || response == nullptr) {
      return refuse(line, "an exchange lacks its `request` or its `response`");
    }
    RecordedExchange exchange{.member = std::string(agent::text_at(json, "member")),
                              .before = timings_from(agent::find(json, "before")),
                              .method = std::string(agent::text_at(*request, "method")),
                              .url = std::string(agent::text_at(*request, "url")),
                              .request_body = request->at("body"),
                              .status = static_cast<int>(agent::integer_at(*response, "status")),
                              .headers = headers_from(agent::find(*response, "headers")),
                              .clock = clock_from(json),
                              .line = line};
    for (const Json& piece : response->at("body")) {
      auto bytes = bytes_from(piece);
      if (!bytes) {
        return refuse(line, "a piece of an answer has neither `text` nor `base64`");
      }
      exchange.pieces.push_back({.bytes = *std::move(bytes)});
    }
    if (const Json* error = agent::find(json, "error")) {
      TRY_ASSIGN(exchange.error, error_from(*error, line));
    }
    if (!exchange.error && exchange.status < 100) {
      return refuse(line, "an answer has no HTTP `status`");
    }
    return exchange;
  }

  Result<Error> error_from(const Json& json, int line) const {
    const auto code = agent::code_from_name(agent::text_at(json, "code"));
    if (!code) {
      return refuse(line, "an exchange's error has an unknown `code`");
    }
    return Error{.code = *code,
                 .message = std::string(agent::text_at(json, "message")),
                 .help = std::string(agent::text_at(json, "help")),
                 .retry_once = agent::bool_at(json, "retry_once")};
  }

  const agent::JsonSchema shape_ =
      *agent::JsonSchema::compile(agent::parse_json(k_shape).value_or(Json()));
  Cassette cassette_;
  std::map<std::string, std::size_t, std::less<>> members_;  // where they are in cassette_.members
};

}  // namespace

std::vector<std::string> Cassette::key_variables() const {
  std::vector<std::string> variables{run.key_variable};
  std::ranges::transform(members, std::back_inserter(variables), [](const Cassette& member) {
    return member.run.key_variable;
  });
  return variables;
}

Result<Cassette> parse_cassette(std::string_view text, const std::string& shown_file) {
  return Reader(shown_file).read(text);
}

Result<Cassette> read_cassette(const std::string& file) {
  const auto refuse = [&](std::string_view why) {
    return agent::fail(Code::cli_no_input,
                       fmt::format("cannot read the recording `{}`: {}", file, why),
                       "Check the path; `errand run --record FILE` makes a recording.");
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    return refuse("there is no such file");
  }
  if (!std::filesystem::is_regular_file(status)) {
    return refuse("it is not a regular file");
  }
  std::ifstream in(file, std::ios::binary);
  std::string text;
  std::array<char, 1u << 16> part;
  while (in) {
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    return refuse("it cannot be read");
  }
  constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF";
  std::string_view content = text;
  content.remove_prefix(content.starts_with(k_byte_order_mark) ? k_byte_order_mark.size() : 0);
  return parse_cassette(content, file);
}

ShownRequest shown(const agent::HttpRequest& request, const agent::Redactor& redactor) {
  auto body = agent::parse_json(request.body);
  ShownRequest shown{.method = request.method,
                     .url = redactor.apply(request.url),
                     .body = body ? *std::move(body) : Json(agent::to_valid_utf8(request.body))};
  redactor.redact(shown.body);
  return shown;
}

agent::Headers telling_headers(const agent::Headers& headers) {
  agent::Headers telling;
  for (const auto& [name, value] : headers) {
    if (std::string key = agent::to_lower(name);
        std::ranges::find(k_request_headers, key) != k_request_headers.end()) {
      telling.emplace_back(std::move(key), value);
    }
  }
  return telling;
}

Result<std::unique_ptr<CassetteWriter>> CassetteWriter::create(const std::string& file,
                                                               const RecordedRun& run,
                                                               const agent::Redactor& redactor) {
  const int descriptor =
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, k_mode);
  if (descriptor < 0) {
    const bool is_there = errno == EEXIST;
    return agent::fail(
        Code::cli_cannot_create,
        is_there ? fmt::format("`{}` already exists, and a recording never replaces a file", file)
                 : fmt::format("cannot create `{}`: {}", file, std::strerror(errno)),
        is_there ? "Remove it first, name another file, or play it with --replay."
                 : "Name a file in a folder that exists and may be written.");
  }
  std::unique_ptr<CassetteWriter> writer(new CassetteWriter(descriptor, file, redactor));
  Json record = to_json(run);
  redactor.redact(record);
  writer->append(record);
  if (const auto failure = writer->failure()) {
    ::unlink(file.c_str());
    return agent::fail(*failure);
  }
  return writer;
}

CassetteWriter::~CassetteWriter() {
  ::close(descriptor_);
}

void CassetteWriter::begin(const RecordedRun& member) {
  Json record = to_json(member);
  redactor_.redact(record);
  append(record);
}

void CassetteWriter::add(RecordedExchange exchange) {
  redact_body(exchange, redactor_);
  drop_hidden_headers(exchange.headers);
  Json record = to_json(exchange);
  redactor_.redact(record);
  record["response"]["body"] = to_json(exchange.pieces);  // clean: base64 may look like a secret
  append(record);
}

void CassetteWriter::end(const Timings& after, const std::string& member) {
  Json record = object_of(member);
  record["after"] = to_json(after);
  append(record);
}

std::optional<Error> CassetteWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void CassetteWriter::append(const Json& record) {
  std::string text;
  put_lines(record, 0, text);
  text += '\n';

  const std::lock_guard lock(mutex_);
  if (const int error = failure_ ? 0 : agent::write_all(descriptor_, text); error != 0) {
    failure_ = Error{.code = Code::storage_io,
                     .message = fmt::format(
                         "cannot write to the recording `{}`: {}", file_, std::strerror(error)),
                     .help = {}};
  }
  if (!failure_) {
    size_ += static_cast<std::int64_t>(text.size());
  } else {
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, size_);
  }
}

}  // namespace providers
