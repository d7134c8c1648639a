#include "providers/wire/tool_call_assembler.h"

#include "agent/call_ids.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace providers {
namespace {

using agent::Json;

// Asked of each piece: what is plainly not whole is not read again.
bool is_object(const AssembledCall& call) {
  if (!call.open.are_closed()) {
    return false;
  }
  const auto json = agent::parse_json(call.arguments);
  return json && json->is_object();
}

// Arguments are text on the wire; some servers send the object itself.
std::string arguments_of(const Json& function, std::string_view key) {
  const Json* arguments = agent::find(function, key);
  if (arguments == nullptr) {
    return {};
  }
  return arguments->is_string() ? arguments->get<std::string>() : agent::dump(*arguments);
}

}  // namespace

struct ToolCallAssembler::Piece {
  std::string_view id;
  std::string_view name;
  std::string arguments;
  std::optional<long long> index;
  bool is_custom = false;
  std::string_view input;
  const Json* extra_content = nullptr;
};

ToolCallAssembler::Piece ToolCallAssembler::read_piece(const Json& json) {
  Piece piece{.id = agent::text_at(json, "id"),
              .extra_content = agent::find(json, "extra_content")};
  if (const Json* custom = agent::find(json, "custom")) {
    piece.name = agent::text_at(*custom, "name");
    piece.input = agent::text_at(*custom, "input");
    piece.is_custom = true;
  } else if (const Json* function = agent::find(json, "function")) {
    piece.name = agent::text_at(*function, "name");
    piece.arguments = arguments_of(*function, "arguments");
  }
  return piece;
}

// The call is the last one with what it is given here, or the last of all: an id and an index are
// only ever put on those.
void ToolCallAssembler::extend(AssembledCall& call, Piece piece) {
  const auto position = static_cast<std::size_t>(&call - calls_.data());
  if (call.id.empty() && !piece.id.empty()) {
    call.id = piece.id;
    const auto [known, is_first] = last_by_id_.try_emplace(call.id, position);
    if (!is_first && !is_object(calls_[known->second])) {
      torn_ids_.insert(call.id);
    }
    known->second = std::max(known->second, position);
  }
  if (call.name.empty()) {
    call.name = piece.name;
  }
  if (!call.index && piece.index) {
    call.index = piece.index;
    const auto [known, is_first] = last_by_index_.try_emplace(*piece.index, position);
    call.has_own_index = is_first;
    known->second = std::max(known->second, position);
  }
  size_ += piece.arguments.size() + piece.input.size();
  call.open.take(piece.arguments);
  if (call.arguments.empty()) {
    call.arguments = std::move(piece.arguments);
  } else {
    call.arguments += piece.arguments;
  }
  call.is_custom = call.is_custom || piece.is_custom;
  call.input += piece.input;
  if (piece.extra_content != nullptr) {
    call.extra_content = agent::dump(*piece.extra_content);
  }
}

namespace {

bool is_blank(std::string_view arguments) {
  return arguments.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

void make_normal(AssembledCall& call, bool is_cut) {
  const bool is_nothing = is_blank(call.arguments) || call.arguments == "null";
  // Of a cut answer, and of free text, nothing must not become a call that can run.
  if (is_nothing) {
    call.arguments = is_cut || call.is_custom ? "" : "{}";
  }
}

}  // namespace

void OpenBrackets::take(std::string_view text) {
  for (const char c : text) {
    if (in_string) {
      in_string = is_escaped || c != '"';
      is_escaped = !is_escaped && c == '\\';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

AssembledCall* ToolCallAssembler::with_index(const Piece& piece) {
  const auto found = piece.index ? last_by_index_.find(*piece.index) : last_by_index_.end();
  return found == last_by_index_.end() ? nullptr : &calls_[found->second];
}

AssembledCall* ToolCallAssembler::with_id(const Piece& piece) {
  const auto found = last_by_id_.find(std::string(piece.id));
  return found == last_by_id_.end() ? nullptr : &calls_[found->second];
}

// Of a piece that has neither an id nor a name, nor the index of a call: where the last call says
// none of its own (some servers say 0 in the head of each call), and the piece none but its place.
bool ToolCallAssembler::may_be_of_last(const Piece& piece) const {
  if (calls_.empty()) {
    return false;
  }
  if (!piece.index) {
    return calls_.size() == 1 || !calls_.back().index;
  }
  return !calls_.back().has_own_index && *piece.index == static_cast<long long>(calls_.size()) - 1;
}

// What goes on with a call says which one, and only one; what begins one has an id or a name.
bool ToolCallAssembler::is_lost(const Piece& piece) {
  const AssembledCall* const by_index = with_index(piece);
  if (piece.id.empty()) {
    return by_index == nullptr ? piece.name.empty() && !may_be_of_last(piece)
                               : renames(*by_index, piece);
  }
  const AssembledCall* const by_id = with_id(piece);
  if (by_id == nullptr) {
    const bool is_of_another = by_index != nullptr && !by_index->id.empty();
    const bool begins_within = by_index == nullptr && !piece.arguments.empty() && !calls_.empty();
    return piece.name.empty() && (is_of_another || begins_within);
  }
  if (by_index == nullptr) {
    return piece.name.empty() && !piece.index && torn_ids_.contains(by_id->id);
  }
  const bool is_of_two = by_id->index != piece.index &&
                         (by_index->id.empty() ? piece.name.empty() : by_index->id != piece.id);
  return is_of_two || (by_id == by_index && renames(*by_id, piece));
}

// One call is of one tool. Where servers say one id or one index for several calls, the arguments
// before the next name are whole.
bool ToolCallAssembler::renames(const AssembledCall& call, const Piece& piece) {
  return !call.id.empty() && !call.name.empty() && !piece.name.empty() && piece.name != call.name &&
         !is_object(call);
}

// The call that the piece belongs to by its id and its index; null: none that is known.
AssembledCall* ToolCallAssembler::known_call(const Piece& piece) {
  AssembledCall* const by_index = with_index(piece);
  if (piece.id.empty()) {
    const bool goes_on = by_index == nullptr && piece.name.empty() && !calls_.empty();
    return goes_on ? &calls_.back() : by_index;
  }
  AssembledCall* const by_id = with_id(piece);
  if (by_id == nullptr) {
    return by_index != nullptr && by_index->id.empty() ? by_index : nullptr;
  }
  const bool is_elsewhere =
      piece.index && by_id->index && *piece.index != *by_id->index && !piece.name.empty();
  return is_elsewhere ? nullptr : by_id;
}

// Where two calls share an id or an index, a piece starts another call if it has another name, or a
// name at all while the arguments before it are complete.
AssembledCall& ToolCallAssembler::call_for(const Piece& piece) {
  AssembledCall* const call = known_call(piece);
  const bool starts_another =
      call == nullptr || (!piece.name.empty() && !call->name.empty() &&
                          (piece.name != call->name ||
                           ((piece.id.empty() || !piece.arguments.empty()) && is_object(*call))));
  size_ += starts_another ? 1 : 0;
  return starts_another ? calls_.emplace_back() : *call;
}

// A whole call that comes once more, as it was.
bool ToolCallAssembler::repeats_a_call(const Piece& piece) const {
  const auto found = piece.id.empty() ? last_by_id_.end() : last_by_id_.find(std::string(piece.id));
  if (found == last_by_id_.end() || !piece.index || piece.name.empty()) {
    return false;
  }
  const AssembledCall& call = calls_[found->second];
  return call.index == piece.index && call.name == piece.name &&
         call.arguments == piece.arguments && is_object(call);
}

bool ToolCallAssembler::add_piece(const Json& json, std::optional<long long> index) {
  Piece piece = read_piece(json);
  piece.index = index;
  const bool is_empty =
      piece.id.empty() && piece.name.empty() && piece.arguments.empty() && piece.input.empty();
  if (is_empty || repeats_a_call(piece)) {
    return true;
  }
  if (is_lost(piece)) {
    return false;
  }
  AssembledCall& call = call_for(piece);
  extend(call, std::move(piece));
  return true;
}

void ToolCallAssembler::add_call(const Json& json) {
  add_call(read_piece(json));
}

void ToolCallAssembler::add_call(std::string_view id,
                                 std::string_view name,
                                 std::string arguments) {
  add_call(Piece{.id = id, .name = name, .arguments = std::move(arguments)});
}

void ToolCallAssembler::add_call(Piece piece) {
  if (!piece.id.empty() || !piece.name.empty() || !piece.arguments.empty()) {
    extend(calls_.emplace_back(), std::move(piece));
  }
}

void ToolCallAssembler::add_function_call(const Json& json) {
  Piece piece{.name = agent::text_at(json, "name"), .arguments = arguments_of(json, "arguments")};
  const bool is_beside_calls = !has_function_call_ && !calls_.empty();  // the same in older words
  if (is_beside_calls || (piece.name.empty() && piece.arguments.empty())) {
    return;
  }
  has_function_call_ = true;
  // There is only one, so every piece is of it.
  extend(calls_.empty() ? calls_.emplace_back() : calls_.back(), std::move(piece));
}

std::size_t ToolCallAssembler::blanks() const {
  std::size_t bytes = 0;
  for (const AssembledCall& call : calls_) {
    bytes += is_blank(call.arguments) ? call.arguments.size() : 0;
  }
  return bytes;
}

std::vector<AssembledCall> ToolCallAssembler::finish(std::string_view seed, bool is_cut) && {
  std::vector<AssembledCall> calls = std::move(calls_);
  agent::CallIds ids(seed);
  for (AssembledCall& call : calls) {
    call.id = ids.take(std::move(call.id), call.name, call.arguments);
    make_normal(call, is_cut);
  }
  return calls;
}

}  // namespace providers
