#include "providers/recording/replaying_http.h"

#include "agent/json.h"
#include "agent/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Error;
using agent::Json;

constexpr std::size_t k_most_lines = 8;
constexpr std::size_t k_shown_difference = 80;  // of a value
constexpr std::size_t k_context_bytes = 20;     // of a text, before the place where it differs

std::size_t count_values(const Json* value) {
  if (value == nullptr || !value->is_structured()) {
    return 1;
  }
  std::size_t count = 0;
  for (const Json& member : *value) {
    count += count_values(&member);
  }
  return count;
}

class Comparison {
 public:
  explicit Comparison(std::size_t most) : most_(most) {}

  void compare(const std::string& path, const Json* recorded, const Json* asked) {
    if (recorded != nullptr && asked != nullptr && recorded->type() == asked->type()) {
      if (recorded->is_object()) {
        return compare_objects(path, *recorded, *asked);
      }
      if (recorded->is_array()) {
        return compare_arrays(path, *recorded, *asked);
      }
    }
    if (recorded == nullptr || asked == nullptr || *recorded != *asked) {
      add(path, recorded, asked);
    }
  }

  Differences take() { return std::move(found_); }

 private:
  void compare_objects(const std::string& path, const Json& recorded, const Json& asked) {
    const auto inside = [&](const std::string& key) {
      return path.empty() ? key : path + "." + key;
    };
    for (auto member = recorded.begin(); member != recorded.end(); ++member) {
      const auto other = asked.find(member.key());
      compare(inside(member.key()), &*member, other == asked.end() ? nullptr : &*other);
    }
    for (auto member = asked.begin(); member != asked.end(); ++member) {
      if (!recorded.contains(member.key())) {
        add(inside(member.key()), nullptr, &*member);
      }
    }
  }

  void compare_arrays(const std::string& path, const Json& recorded, const Json& asked) {
    const auto item = [](const Json& list, std::size_t index) {
      return index < list.size() ? &list[index] : nullptr;
    };
    for (std::size_t index = 0; index < std::max(recorded.size(), asked.size()); ++index) {
      compare(fmt::format("{}[{}]", path, index), item(recorded, index), item(asked, index));
    }
  }

  void add(const std::string& path, const Json* recorded, const Json* asked) {
    found_.values += std::max(count_values(recorded), count_values(asked));
    if (++found_.total > most_) {
      return;
    }
    std::size_t from = 0;
    if (recorded != nullptr && asked != nullptr && recorded->is_string() && asked->is_string()) {
      from = first_difference(recorded->get_ref<const std::string&>(),
                              asked->get_ref<const std::string&>());
    }
    found_.lines.push_back(fmt::format("{}: recorded {}, asked {}",
                                       path.empty() ? "body" : path,
                                       excerpt(recorded, from),
                                       excerpt(asked, from)));
  }

  // Where a long text is shown from, so that the difference is in sight: between characters.
  static std::size_t first_difference(std::string_view one, std::string_view other) {
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
    return at <= k_shown_difference / 2 ? 0 : agent::prefix(one, at - k_context_bytes).size();
  }

  static std::string excerpt(const Json* value, std::size_t from) {
    if (value == nullptr) {
      return "nothing";
    }
    if (!value->is_string()) {
      return cut(agent::dump(*value));
    }
    const std::string_view text = value->get_ref<const std::string&>();
    const std::string_view shown = agent::prefix(text.substr(from), k_shown_difference);
    return fmt::format("{}{}{}",
                       from > 0 ? "…" : "",
                       agent::dump(Json(shown)),
                       from + shown.size() < text.size() ? "…" : "");
  }

  static std::string cut(const std::string& text) {
    const std::string_view shown = agent::prefix(text, k_shown_difference);
    return std::string(shown) + (shown.size() < text.size() ? "…" : "");
  }

  std::size_t most_;
  Differences found_;
};

// Where the protocols say how long an answer may be, and what follows from that.
constexpr auto k_places_of_room =
    std::to_array<std::string_view>({"/max_tokens",
                                     "/max_completion_tokens",
                                     "/max_output_tokens",
                                     "/thinking",
                                     "/generationConfig/maxOutputTokens",
                                     "/inferenceConfig/maxTokens",
                                     "/additionalModelRequestFields/thinking",
                                     "/options/num_predict",
                                     "/options/num_ctx"});

Json as_json(const std::string& method, const std::string& url, Json body) {
  return Json{{"method", method}, {"url", url}, {"body", std::move(body)}};
}

}  // namespace

Differences differences(const Json& recorded, const Json& asked, std::size_t most) {
  Comparison comparison(most);
  comparison.compare("", &recorded, &asked);
  return comparison.take();
}

ReplayingHttp::ReplayingHttp(Cassette cassette,
                             ReplayingTimings& timings,
                             const agent::Redactor& redactor,
                             bool is_room_shared)
    : file_(std::move(cassette.file)),
      after_(std::move(cassette.after)),
      timings_(timings),
      redactor_(redactor),
      is_room_shared_(is_room_shared) {
  for (RecordedExchange& exchange : cassette.exchanges) {
    std::string body = agent::canonical(compared(exchange.request_body));
    exchanges_.push_back({.recorded = std::move(exchange), .body = std::move(body)});
  }
  timings_.play(before(0));
}

const Timings& ReplayingHttp::before(std::size_t index) const {
  return index < exchanges_.size() ? exchanges_[index].recorded.before : after_;
}

agent::Result<agent::HttpResponse> ReplayingHttp::send(const agent::HttpRequest& request,
                                                       const agent::OnData& on_data,
                                                       std::stop_token stop) {
  const ShownRequest asked = shown(request, redactor_);
  const auto index = take(asked);
  if (!index) {
    return agent::fail(miss(asked));
  }
  const RecordedExchange& exchange = exchanges_[*index].recorded;
  timings_.play_clock(exchange.clock);
  const bool is_streamed = on_data && (exchange.error || exchange.status / 100 == 2);
  agent::HttpResponse response{.status = exchange.status, .headers = exchange.headers, .body = {}};
  bool goes_on = true;
  for (const RecordedPiece& piece : exchange.pieces) {
    if (!is_streamed) {
      response.body += piece.bytes;
    } else if (goes_on && !stop.stop_requested()) {
      goes_on = on_data(piece.bytes) != agent::Heard::enough;
    }
  }
  timings_.play(before(*index + 1));
  if (stop.stop_requested()) {
    return agent::fail(Code::run_cancelled, "the model call was cancelled");
  }
  if (!exchange.error || !goes_on) {
    return response;
  }
  return agent::fail(exchange.error->code == Code::run_cancelled ? unfinished(exchange)
                                                                 : *exchange.error);
}

Json ReplayingHttp::compared(Json body) const {
  for (const std::string_view place : k_places_of_room) {
    const Json::json_pointer pointer{std::string(place)};
    if (is_room_shared_ && body.contains(pointer)) {
      const Json::json_pointer parent = pointer.parent_pointer();
      body[parent].erase(pointer.back());
      if (!parent.empty() && body[parent].empty()) {
        body.erase(parent.back());  // where nothing else is said, it is not there
      }
    }
  }
  return body;
}

std::optional<std::size_t> ReplayingHttp::take(const ShownRequest& request) {
  const std::string body = agent::canonical(compared(request.body));
  const std::lock_guard lock(mutex_);
  for (std::size_t index = 0; index < exchanges_.size(); ++index) {
    Exchange& exchange = exchanges_[index];
    if (!exchange.is_used && exchange.body == body && exchange.recorded.url == request.url &&
        exchange.recorded.method == request.method) {
      exchange.is_used = true;
      return index;
    }
  }
  return std::nullopt;
}

Error ReplayingHttp::at(const RecordedExchange& exchange, std::string message) const {
  return {.code = Code::replay_miss,
          .message = std::move(message),
          .help =
              "Record the run anew where the change is meant: remove the file, and give it to "
              "--record.",
          .where = agent::Where{.file = file_, .line = exchange.line, .excerpt = {}}};
}

Error ReplayingHttp::unfinished(const RecordedExchange& exchange) const {
  Error error = at(exchange, "the recorded run was stopped while it waited for this answer");
  error.is_unfinished = true;
  return error;
}

// Those that were not yet used come first: the next one of them is what was most likely meant.
Error ReplayingHttp::miss(const ShownRequest& request) const {
  const std::lock_guard lock(mutex_);
  const auto count = exchanges_.size();
  const bool all_used = std::ranges::all_of(exchanges_, &Exchange::is_used);
  std::optional<std::size_t> nearest;
  Differences found;
  for (std::size_t index = 0; index < count; ++index) {
    if (exchanges_[index].is_used && !all_used) {
      continue;
    }
    const RecordedExchange& recorded = exchanges_[index].recorded;
    Differences here =
        differences(as_json(recorded.method, recorded.url, compared(recorded.request_body)),
                    as_json(request.method, request.url, compared(request.body)),
                    k_most_lines);
    if (!nearest || here.values < found.values) {
      nearest = index;
      found = std::move(here);
    }
  }
  if (!nearest) {
    return at({}, "the recording holds no exchange at all, and a request was made");
  }
  std::string message =
      all_used ? fmt::format("one request more than was recorded: all {} answers are used", count)
               : std::string("no answer is recorded for this request");
  message += fmt::format("; the nearest is exchange {} of {}", *nearest + 1, count);
  if (found.total == 0) {
    message += ", which is the same and was answered already";
  }
  for (const std::string& line : found.lines) {
    message += "\n" + line;
  }
  if (found.total > found.lines.size()) {
    message += fmt::format("\n… and {} more differences", found.total - found.lines.size());
  }
  return at(exchanges_[*nearest].recorded, std::move(message));
}

}  // namespace providers
