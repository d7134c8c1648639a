// The many shapes of an error body, brought to one.
#pragma once
#include "agent/json.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace providers {

struct ErrorBody {
  std::string message;             // what the provider said; may be empty
  std::string detail;              // what the upstream of a gateway said; may be empty
  std::vector<std::string> words;  // types and codes, in lower case
  std::string param;               // the parameter that was refused; may be empty
  std::string request_id;
  int status = 0;     // the HTTP status that the body speaks of; 0: none
  std::string error;  // the error object as JSON, for what only one provider has
  bool is_json = false;

  bool has_word(std::string_view word) const;
};

// JSON of any of the shapes, an event stream with an error in it, HTML, text, or nothing.
ErrorBody read_error_body(std::string_view body);

// The same of a JSON value, or nullopt where it does not report an error.
std::optional<ErrorBody> find_error(const agent::Json& json);

}  // namespace providers
