#include "providers/wire/classify.h"

#include "agent/retry_after_header.h"
#include "agent/text.h"
#include "providers/wire/error_body.h"
#include "providers/wire/retry_after.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace providers {
namespace {

using agent::Code;
using agent::Error;
using agent::Headers;

constexpr std::size_t k_max_message = 512;

struct Word {
  std::string_view word;
  Code code;
};

// Types and codes that decide, whatever the status is. Lower case.
constexpr std::array k_words = {
    Word{"context_length_exceeded", Code::context_overflow},
    Word{"context_window_exceeded", Code::context_overflow},
    Word{"exceed_context_size_error", Code::context_overflow},
    Word{"too_many_prompt_tokens", Code::context_overflow},
    Word{"request_too_large", Code::context_overflow},
    Word{"insufficient_quota", Code::provider_quota},
    Word{"credit_balance_exhausted", Code::provider_quota},
    Word{"organization_spend_limit_exceeded", Code::provider_quota},
    Word{"project_spend_limit_exceeded", Code::provider_quota},
    Word{"organization_usage_limit_exceeded", Code::provider_quota},
    Word{"enforced_spend_limit_reached", Code::provider_quota},
    Word{"contract_spend_limit_reached", Code::provider_quota},
    Word{"exceeded_current_quota_error", Code::provider_quota},
    Word{"billing_error", Code::provider_quota},
    Word{"billing_not_active", Code::provider_quota},
    Word{"billing_hard_limit_reached", Code::provider_quota},
    Word{"payment_required", Code::provider_quota},
    Word{"insufficient_credits", Code::provider_quota},
    Word{"insufficient_balance", Code::provider_quota},
    Word{"content_filter", Code::provider_refused},
    Word{"content_policy_violation", Code::provider_refused},
    Word{"responsibleaipolicyviolation", Code::provider_refused},
    Word{"data_inspection_failed", Code::provider_refused},
    Word{"invalid_prompt", Code::provider_refused},
    Word{"tool_use_failed", Code::provider_bad_response},
    Word{"model_not_found", Code::provider_model_not_found},
    Word{"deploymentnotfound", Code::provider_model_not_found},
    Word{"invalid_model", Code::provider_model_not_found},
    Word{"unknown_model", Code::provider_model_not_found},
    Word{"model_not_available", Code::provider_model_not_found},
    Word{"authentication_error", Code::provider_auth},
    Word{"invalid_api_key", Code::provider_auth},
    Word{"api_key_invalid", Code::provider_auth},
    Word{"invalid_authentication_error", Code::provider_auth},
    Word{"incorrect_api_key_error", Code::provider_auth},
    Word{"unauthenticated", Code::provider_auth},
    Word{"permission_error", Code::provider_auth},
    Word{"rate_limit_error", Code::provider_rate_limited},
    Word{"rate_limit_exceeded", Code::provider_rate_limited},
    Word{"ratelimitreached", Code::provider_rate_limited},
    Word{"rate_limit_reached_error", Code::provider_rate_limited},
    Word{"too_many_requests", Code::provider_rate_limited},
    Word{"ramp_limit_exceeded", Code::provider_rate_limited},
    Word{"overloaded_error", Code::provider_unavailable},
    Word{"engine_overloaded_error", Code::provider_unavailable},
    Word{"server_is_overloaded", Code::provider_unavailable},
    Word{"slow_down", Code::provider_unavailable},
    Word{"provider_overloaded", Code::provider_unavailable},
    Word{"provider_unavailable", Code::provider_unavailable},
    // Amazon's, in a header or as the name of an exception in a stream
    Word{"accessdeniedexception", Code::provider_auth},
    Word{"expiredtokenexception", Code::provider_auth},
    Word{"unrecognizedclientexception", Code::provider_auth},
    Word{"throttlingexception", Code::provider_rate_limited},
    Word{"servicequotaexceededexception", Code::provider_quota},
    Word{"resourcenotfoundexception", Code::provider_model_not_found},
    Word{"modelnotreadyexception", Code::provider_model_loading},
    Word{"modelerrorexception", Code::provider_unavailable},
    Word{"modelstreamerrorexception", Code::provider_unavailable},
};

// Words so general that they count only where no status says more.
constexpr std::array k_weak_words = {
    Word{"invalid_request_error", Code::provider_invalid_request},
    Word{"invalid_argument", Code::provider_invalid_request},
    Word{"not_found_error", Code::provider_model_not_found},
    Word{"permission_denied", Code::provider_auth},
    Word{"resource_exhausted", Code::provider_rate_limited},
    Word{"tokens", Code::provider_rate_limited},
    Word{"requests", Code::provider_rate_limited},
    Word{"validationexception", Code::provider_invalid_request},
};

constexpr std::array<std::string_view, 25> k_overflow_texts = {
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "exceed context limit",
    "exceeds the context window",
    "context window exceeds limit",
    "exceeded max context length",
    "maximum context length",
    "context_length_exceeded",
    "context length exceeded",
    "exceeds the context length",
    "exceeds the maximum context",
    "greater than the context length",
    "context size has been exceeded",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "exceeded model token limit",
    "input tokens exceeded",
    "too large for model with",
    "maximum prompt length is",
    "total length of all messages is too long",
    "reduce the length of the messages",
    "longer than the model's context",
    "exceeds the model's context",
    "exceeds the model's maximum context",
};

constexpr std::array<std::string_view, 5> k_auth_texts = {
    "incorrect api key", "invalid api key", "api key not valid", "invalid x-api-key", "no api key"};

constexpr std::array<std::string_view, 6> k_quota_texts = {"credit balance is too low",
                                                           "specified api usage limits",
                                                           "exceeded your current quota",
                                                           "insufficient credits",
                                                           "insufficient balance",
                                                           "requires more credits"};

constexpr std::array<std::string_view, 4> k_loading_texts = {
    "loading model", "model is loading", "currently loading", "model is still loading"};

constexpr std::array<std::string_view, 4> k_memory_texts = {
    "requires more system memory", "out of memory", "failed to allocate", "not enough memory"};

constexpr std::array<std::string_view, 5> k_model_texts = {"model not found",
                                                           "unknown model",
                                                           "invalid model",
                                                           "no such model",
                                                           "model identifier is invalid"};

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& patterns) {
  return std::ranges::any_of(patterns,
                             [&](std::string_view pattern) { return text.contains(pattern); });
}

template <std::size_t N>
std::optional<Code> code_of_word(const ErrorBody& body, const std::array<Word, N>& table) {
  for (const Word& row : table) {
    if (body.has_word(row.word)) {
      return row.code;
    }
  }
  return std::nullopt;
}

bool names_model(const ErrorBody& body) {
  return std::ranges::any_of(body.words,
                             [](const std::string& word) { return word.contains("model"); });
}

// "model `x` does not exist" and its like.
bool is_about_missing_model(std::string_view text) {
  return has_any(text, k_model_texts) ||
         (text.contains("model") &&
          (text.contains("does not exist") || text.contains("not found")));
}

bool is_overflow(int status, std::string_view text) {
  // Of the answers that speak of tokens, a 429 is about the rate, whatever its words.
  const bool may_be = status == 0 || status == 400 || status == 413 || status == 422;
  if (status == 500) {
    return text.contains("context size has been exceeded") ||
           text.contains("exceeds the available context size");
  }
  if (!may_be) {
    return false;
  }
  return has_any(text, k_overflow_texts) ||
         (text.contains("prompt token count of") && text.contains("exceeds the limit"));
}

// A limit that no wait of minutes lifts, or one of nothing: "limit: 0".
bool is_daily_quota(int status, const ErrorBody& body) {
  return status == 429 && (body.error.contains("PerDay") || body.message.contains("limit: 0"));
}

// Gemini has the same words for every quota; one of a minute is over when its delay is.
bool is_minute_quota(int status, const ErrorBody& body) {
  return status == 429 && !is_daily_quota(status, body) && body.error.contains("PerMinute") &&
         body.error.contains("retryDelay");
}

std::optional<Code> code_of_text(int status, const ErrorBody& body, std::string_view text) {
  if (is_overflow(status, text) ||
      (status != 429 && (body.has_word("too_many_tokens") || text.contains("too_many_tokens")))) {
    return Code::context_overflow;
  }
  const bool is_client_error = status == 0 || (status >= 400 && status < 500);
  if (is_client_error && status != 429 && has_any(text, k_auth_texts)) {
    return Code::provider_auth;
  }
  if (is_minute_quota(status, body)) {
    return Code::provider_rate_limited;
  }
  if (is_client_error && (has_any(text, k_quota_texts) || is_daily_quota(status, body))) {
    return Code::provider_quota;
  }
  if ((status == 0 || status >= 500) && has_any(text, k_memory_texts)) {
    return Code::provider_other;
  }
  if ((status == 0 || status >= 500) && has_any(text, k_loading_texts)) {
    return Code::provider_model_loading;
  }
  if ((status == 0 || status == 400 || status == 422) && is_about_missing_model(text)) {
    return Code::provider_model_not_found;
  }
  return std::nullopt;
}

Code code_of_client_error(int status, const ErrorBody& body, std::string_view text) {
  switch (status) {
    case 401:
      return Code::provider_auth;
    case 402:
      return Code::provider_quota;
    case 403:
      return names_model(body) ? Code::provider_model_not_found : Code::provider_auth;
    case 404:
      return body.is_json && text.contains("model") ? Code::provider_model_not_found
                                                    : Code::provider_invalid_request;
    case 408:
    case 425:
      return Code::provider_unavailable;
    case 409:
      return text.contains("lock") || text.contains("conflict") ? Code::provider_unavailable
                                                                : Code::provider_invalid_request;
    case 429:
      return Code::provider_rate_limited;
    default:
      return Code::provider_invalid_request;
  }
}

Code code_of(int status, const ErrorBody& body) {
  std::string text = agent::to_lower(body.message + "\n" + body.detail);
  for (const std::string& word : body.words) {
    text += "\n" + word;
  }
  if (status == 401) {
    return Code::provider_auth;
  }
  if (const auto code = code_of_word(body, k_words)) {
    return *code;
  }
  if (const auto code = code_of_text(status, body, text)) {
    return *code;
  }
  if (status >= 500) {
    return Code::provider_unavailable;
  }
  if (status >= 400) {
    return code_of_client_error(status, body, text);
  }
  // No status: an error inside a stream. What names no fault of the request is the server's.
  return code_of_word(body, k_weak_words).value_or(Code::provider_unavailable);
}

std::string message_of(const ErrorBody& body) {
  std::string message = body.message;
  if (!body.detail.empty() && !message.contains(body.detail)) {
    message += (message.empty() ? "" : ": ") + body.detail;
  }
  return agent::one_line(agent::trimmed(message), k_max_message);
}

std::string message_of(int status, std::string_view raw, const ErrorBody& body) {
  const std::string said = message_of(body);
  if (said.empty()) {
    return fmt::format("HTTP {} with {} body", status, raw.empty() ? "an empty" : "an unreadable");
  }
  return body.is_json ? said : fmt::format("HTTP {}: {}", status, said);
}

std::string wrong_address_help(std::string_view base_url) {
  return fmt::format("check that `model.base_url` ({}) and `model.protocol` fit the server",
                     base_url);
}

std::optional<std::chrono::milliseconds> wait_in_body(const ErrorBody& body,
                                                      agent::Clock::Wall now) {
  const auto json = agent::parse_json(body.error);
  return json ? retry_after_body(*json, now) : std::nullopt;
}

std::optional<std::chrono::milliseconds> wait_asked_for(const Error& error,
                                                        const Headers& headers,
                                                        const ErrorBody& body,
                                                        agent::Clock::Wall now) {
  auto wait = agent::retry_after_header(headers, now);
  const auto other = wait_in_body(body, now);
  if (other && (!wait || *other > *wait)) {
    wait = other;
  }
  if (!wait) {
    wait = retry_after_text(body.message);
  }
  if (!wait) {
    wait = retry_after_text(body.detail);
  }
  if (!wait && error.code == Code::provider_rate_limited) {
    wait = rate_limit_reset(headers, now);
  }
  return wait;
}

std::optional<bool> should_retry(const Headers& headers) {
  const std::string_view value = agent::header(headers, "x-should-retry");
  if (value == "true") {
    return true;
  }
  return value == "false" ? std::optional(false) : std::nullopt;
}

Error redirected(int status, const Headers& headers, std::string_view base_url) {
  const std::string_view location = agent::header(headers, "location");
  return Error{.code = Code::provider_invalid_request,
               .message = fmt::format("{} answered with a redirect (HTTP {}) to {}",
                                      base_url,
                                      status,
                                      location.empty() ? "nowhere" : agent::one_line(location)),
               .help = "set `model.base_url` to the address that the server answers at"};
}

// Words that only the header has.
void add_header_words(ErrorBody& body, const Headers& headers) {
  const std::string_view type = agent::header(headers, "x-amzn-errortype");
  if (!type.empty()) {
    body.words.push_back(agent::to_lower(type.substr(0, type.find(':'))));
  }
}

}  // namespace

Error classify_answer(int status,
                      const Headers& headers,
                      std::string_view raw,
                      agent::Clock::Wall now,
                      std::string_view base_url) {
  ErrorBody body = read_error_body(raw);
  add_header_words(body, headers);
  Error error;
  if (status < 300) {
    error = {.code = Code::provider_bad_response,
             .message = fmt::format("{} gave no answer that HTTP has for a request", base_url),
             .help = {}};
  } else if (status < 400) {
    error = redirected(status, headers, base_url);
  } else {
    error.code = code_of(status, body);
    error.message = message_of(status, raw, body);
    error.retry_after = wait_asked_for(error, headers, body, now);
    error.server_says_retry = should_retry(headers);
    if (status == 404 && error.code == Code::provider_invalid_request) {
      error.help = wrong_address_help(base_url);
    }
  }
  error.http_status = status;
  error.request_id = body.request_id.empty() ? request_id(headers) : body.request_id;
  return error;
}

std::optional<Error> error_inside(const agent::Json& json) {
  const auto body = find_error(json);
  if (!body) {
    return std::nullopt;
  }
  Error error{.code = code_of(body->status, *body), .message = message_of(*body)};
  if (error.message.empty()) {
    error.message = "the answer is an error without a message";
  }
  error.retry_after = retry_after_text(body->message);
  error.request_id = body->request_id;
  return error;
}

std::optional<std::chrono::milliseconds> wait_inside(const agent::Json& json,
                                                     agent::Clock::Wall now) {
  const auto body = find_error(json);
  return body ? wait_in_body(*body, now) : std::nullopt;
}

std::string request_id(const Headers& headers) {
  constexpr std::array<std::string_view, 8> k_names = {"request-id",
                                                       "x-request-id",
                                                       "apim-request-id",
                                                       "x-generation-id",
                                                       "mistral-correlation-id",
                                                       "x-ds-trace-id",
                                                       "x-amzn-requestid",
                                                       "cf-ray"};
  for (const std::string_view name : k_names) {
    if (const std::string_view id = agent::header(headers, name); !id.empty()) {
      return std::string(id);
    }
  }
  return {};
}

std::string excerpt(std::string_view body) {
  return agent::one_line(body, 200);
}

}  // namespace providers
