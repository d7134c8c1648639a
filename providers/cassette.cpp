#include "providers/cassette.h"

#include "agent/base64.h"
#include "agent/duration.h"
#include "agent/text.h"
#include "providers/stream_redaction.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
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
    if (is_item || line.size() <= k_line || value.front().is_number()) {
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

Json to_json(const Meanwhile& meanwhile) {
  Json tools = Json::object();
  for (const auto& [call_id, time] : meanwhile.tools) {
    tools[call_id] = time;
  }
  return {
      {"tools", std::move(tools)}, {"tools_end", meanwhile.tools_end}, {"clock", meanwhile.clock}};
}

Json to_json(const RecordedRun& run) {
  return {{"schema", k_cassette_schema},
          {"errand", run.version},
          {"run_id", run.run_id},
          {"start", agent::format_time(run.start)},
          {"seed", run.seed},
          {"key_variable", run.key_variable},
          {"folder", run.folder}};
}

Json to_json(const RecordedExchange& exchange) {
  Json pieces = Json::array();
  for (const RecordedPiece& piece : exchange.pieces) {
    pieces.push_back(to_json(piece));
  }
  Json json = {{"request",
                {{"method", exchange.method},
                 {"url", exchange.url},
                 {"headers", to_json(exchange.request_headers)},
                 {"body", agent::parse_json(exchange.request_body).value_or(Json(""))}}},
               {"response",
                {{"status", exchange.status},
                 {"headers", to_json(exchange.headers)},
                 {"body", std::move(pieces)}}}};
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

// A secret may lie across two pieces or events, so that a body with one becomes a single piece.
void redact_body(RecordedExchange& exchange, const agent::Redactor& redactor) {
  std::string body;
  std::int64_t time = 0;
  for (const RecordedPiece& piece : exchange.pieces) {
    body += piece.bytes;
    time += piece.after_ms;
  }
  auto clean = redact_stream(body, redactor);
  if (clean || !redactor.is_clean(body)) {
    exchange.pieces = {{.after_ms = time, .bytes = redactor.apply(clean.value_or(body))}};
  }
}

bool is_any_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
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

agent::Headers headers_from(const Json* json) {
  agent::Headers headers;
  if (json != nullptr && json->is_object()) {
    for (auto member = json->begin(); member != json->end(); ++member) {
      headers.emplace_back(member.key(), agent::text_at(*json, member.key()));
    }
  }
  return headers;
}

std::vector<std::int64_t> clock_from(const Json& json) {
  std::vector<std::int64_t> clock;
  if (const Json* list = agent::find(json, "clock"); list != nullptr && list->is_array()) {
    for (const Json& reading : *list) {
      clock.push_back(reading.is_number_integer() ? reading.get<std::int64_t>() : 0);
    }
  }
  return clock;
}

Meanwhile meanwhile_from(const Json* json) {
  Meanwhile meanwhile;
  if (json == nullptr) {
    return meanwhile;
  }
  meanwhile.clock = clock_from(*json);
  const long long tools_end = agent::integer_at(*json, "tools_end");
  meanwhile.tools_end = tools_end > 0 ? static_cast<std::size_t>(tools_end) : 0;
  if (const Json* tools = agent::find(*json, "tools"); tools != nullptr && tools->is_object()) {
    for (auto member = tools->begin(); member != tools->end(); ++member) {
      meanwhile.tools.emplace_back(member.key(), agent::integer_at(*tools, member.key()));
    }
  }
  return meanwhile;
}

std::optional<RecordedPiece> piece_from(const Json& json) {
  RecordedPiece piece{.after_ms = agent::integer_at(json, "after_ms"), .bytes = {}};
  if (agent::find(json, "base64") != nullptr) {
    auto bytes = agent::from_base64(agent::text_at(json, "base64"));
    if (!bytes) {
      return std::nullopt;
    }
    piece.bytes = *std::move(bytes);
    return piece;
  }
  const Json* text = agent::find(json, "text");
  if (text == nullptr || !text->is_string()) {
    return std::nullopt;
  }
  piece.bytes = text->get<std::string>();
  return piece;
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
        return refuse(record->line,
                      has_run ? "what stands here is no JSON object" : k_no_recording);
      }
      if (!has_run) {
        TRY(take_run(*json, record->line));
        has_run = true;
      } else if (const Json* after = agent::find(*json, "after")) {
        cassette_.after = meanwhile_from(after);
      } else {
        TRY(take_exchange(*json, record->line));
      }
    }
    if (!has_run) {
      return refuse(1, "it is empty");
    }
    return std::move(cassette_);
  }

 private:
  static constexpr std::string_view k_no_recording = "it is no recording of errand";

  std::unexpected<Error> refuse(int line, std::string_view what) const {
    return agent::fail(corrupt(cassette_.file, line, what));
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
    const auto start = agent::parse_time(agent::text_at(json, "start"));
    const std::string_view run_id = agent::text_at(json, "run_id");
    if (!start || run_id.empty()) {
      return refuse(line, "`start` or `run_id` of its run is missing");
    }
    cassette_.run = {.version = std::string(agent::text_at(json, "errand")),
                     .run_id = std::string(run_id),
                     .start = *start,
                     .seed = static_cast<std::uint64_t>(agent::integer_at(json, "seed")),
                     .key_variable = std::string(agent::text_at(json, "key_variable")),
                     .folder = std::string(agent::text_at(json, "folder"))};
    return {};
  }

  Result<void> take_exchange(const Json& json, int line) {
    const Json* request = agent::find(json, "request");
    const Json* response = agent::find(json, "response");
    if (request == nullptr || response == nullptr) {
      return refuse(line, "an exchange lacks its `request` or its `response`");
    }
    RecordedExchange exchange{.before = meanwhile_from(agent::find(json, "before")),
                              .method = std::string(agent::text_at(*request, "method")),
                              .url = std::string(agent::text_at(*request, "url")),
                              .request_headers = headers_from(agent::find(*request, "headers")),
                              .request_body = agent::dump(request->value("body", Json(""))),
                              .status = static_cast<int>(agent::integer_at(*response, "status")),
                              .headers = headers_from(agent::find(*response, "headers")),
                              .clock = clock_from(json),
                              .line = line};
    if (const Json* body = agent::find(*response, "body")) {
      for (const Json& item : *body) {
        auto piece = piece_from(item);
        if (!piece) {
          return refuse(line, "a piece of an answer has neither `text` nor `base64`");
        }
        exchange.pieces.push_back(*std::move(piece));
      }
    }
    if (const Json* error = agent::find(json, "error")) {
      TRY_ASSIGN(exchange.error, error_from(*error, line));
    }
    if (!exchange.error && (exchange.status < 100 || exchange.status > 999)) {
      return refuse(line, "an answer has no HTTP `status`");
    }
    cassette_.exchanges.push_back(std::move(exchange));
    return {};
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

  Cassette cassette_;
};

}  // namespace

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
    return refuse("it is no regular file");
  }
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    return refuse("it cannot be opened");
  }
  return parse_cassette(text, file);
}

ShownRequest shown(const agent::HttpRequest& request, const agent::Redactor& redactor) {
  ShownRequest shown{
      .method = request.method, .url = redactor.apply(request.url), .headers = {}, .body = {}};
  for (const auto& [name, value] : request.headers) {
    if (is_any_of(agent::to_lower(name), k_request_headers)) {
      shown.headers.emplace_back(agent::to_lower(name), redactor.apply(value));
    }
  }
  const auto body = agent::parse_json(request.body);
  shown.body = redactor.dump(body ? *body : Json(agent::to_valid_utf8(request.body)));
  return shown;
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
        is_there ? fmt::format("`{}` is there already, and a recording replaces nothing", file)
                 : fmt::format("cannot create `{}`: {}", file, std::strerror(errno)),
        is_there ? "Remove it first, name another file, or play it with --replay."
                 : "Name a file in a folder that exists and may be written.");
  }
  std::unique_ptr<CassetteWriter> writer(new CassetteWriter(descriptor, file, redactor));
  writer->append(to_json(run));
  if (const auto failure = writer->failure()) {
    ::unlink(file.c_str());
    return agent::fail(*failure);
  }
  return writer;
}

CassetteWriter::~CassetteWriter() {
  ::close(descriptor_);
}

void CassetteWriter::add(RecordedExchange exchange) {
  redact_body(exchange, redactor_);
  drop_hidden_headers(exchange.headers);
  append(to_json(exchange));
}

void CassetteWriter::end(const Meanwhile& after) {
  append({{"after", to_json(after)}});
}

std::optional<Error> CassetteWriter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void CassetteWriter::append(const Json& record) {
  std::string text;
  put_lines(agent::parse_json(redactor_.dump(record), k_max_depth).value_or(record), 0, text);
  text += '\n';

  const std::lock_guard lock(mutex_);
  for (std::string_view rest = text; !failure_ && !rest.empty();) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      failure_ = Error{.code = Code::storage_io,
                       .message = fmt::format(
                           "cannot write to the recording `{}`: {}", file_, std::strerror(errno)),
                       .help = {}};
    }
  }
  if (!failure_) {
    size_ += static_cast<std::int64_t>(text.size());
  } else {
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, size_);
  }
}

}  // namespace providers
