#include "providers/wire/tool_call_assembler.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

namespace providers {
namespace {

using agent::Json;

bool is_object_text(std::string_view text) {
  const auto json = agent::parse_json(text);
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

struct Piece {
  std::string_view id;
  std::string_view name;
  std::string arguments;
  std::optional<long long> index;
  bool is_custom = false;
  std::string_view input;
  const Json* extra_content = nullptr;
};

Piece read_piece(const Json& json) {
  Piece piece{.id = agent::text_at(json, "id"),
              .extra_content = agent::find(json, "extra_content")};
  if (const Json* index = agent::find(json, "index"); index && index->is_number_integer()) {
    piece.index = index->get<long long>();
  }
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

void extend(AssembledCall& call, const Piece& piece) {
  if (call.id.empty()) {
    call.id = piece.id;
  }
  if (call.name.empty()) {
    call.name = piece.name;
  }
  if (!call.index) {
    call.index = piece.index;
  }
  call.arguments += piece.arguments;
  call.is_custom = call.is_custom || piece.is_custom;
  call.input += piece.input;
  if (piece.extra_content != nullptr) {
    call.extra_content = agent::dump(*piece.extra_content);
  }
}

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = seed;
  for (const char c : text) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return value;
}

std::string normal_arguments(const AssembledCall& call, bool is_cut) {
  const auto first = call.arguments.find_first_not_of(" \t\r\n");
  const bool is_nothing = first == std::string::npos || call.arguments == "null";
  // Of a cut answer, and of free text, nothing must not become a call that can run.
  if (is_nothing) {
    return is_cut || call.is_custom ? "" : "{}";
  }
  return call.arguments;
}

}  // namespace

std::string made_call_id(std::string_view seed, std::size_t position, std::uint64_t salt) {
  constexpr std::string_view k_letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint64_t value = hash(std::to_string(position), hash(seed, 0xcbf29ce484222325 + salt));
  std::string id;
  for (int i = 0; i < 9; ++i) {
    id += k_letters[value % k_letters.size()];
    value /= k_letters.size();
  }
  return id;
}

// Where two calls share an id or an index, a piece starts another call if it has another name, or a
// name at all while the arguments before it are complete.
AssembledCall& ToolCallAssembler::call_for(std::string_view id,
                                           std::optional<long long> index,
                                           std::string_view name,
                                           std::string_view arguments) {
  const auto starts_another = [&](const AssembledCall& call) {
    return !name.empty() && !call.name.empty() &&
           (name != call.name ||
            ((id.empty() || !arguments.empty()) && is_object_text(call.arguments)));
  };
  const auto last = [&](auto matches) {
    const auto found = std::find_if(calls_.rbegin(), calls_.rend(), matches);
    return found == calls_.rend() ? nullptr : &*found;
  };
  AssembledCall* call = nullptr;
  if (!id.empty()) {
    call = last([&](const AssembledCall& known) { return known.id == id; });
    const bool is_elsewhere = call != nullptr && index && call->index && *index != *call->index;
    if (is_elsewhere && !name.empty()) {
      call = nullptr;
    } else if (call == nullptr && index) {
      call = last([&](const AssembledCall& known) { return known.index == index; });
      call = call != nullptr && call->id.empty() ? call : nullptr;
    }
  } else if (index) {
    call = last([&](const AssembledCall& known) { return known.index == index; });
    if (call == nullptr && name.empty() && !calls_.empty()) {
      call = &calls_.back();
    }
  } else if (name.empty() && !calls_.empty()) {
    call = &calls_.back();
  }
  return call != nullptr && !starts_another(*call) ? *call : calls_.emplace_back();
}

void ToolCallAssembler::add_piece(const Json& json) {
  const Piece piece = read_piece(json);
  if (piece.id.empty() && piece.name.empty() && piece.arguments.empty() && piece.input.empty()) {
    return;
  }
  extend(call_for(piece.id, piece.index, piece.name, piece.arguments), piece);
}

void ToolCallAssembler::add_call(const Json& json) {
  const Piece piece = read_piece(json);
  if (!piece.id.empty() || !piece.name.empty() || !piece.arguments.empty()) {
    extend(calls_.emplace_back(), piece);
  }
}

void ToolCallAssembler::add_function_call(const Json& json) {
  Piece piece{.name = agent::text_at(json, "name"), .arguments = arguments_of(json, "arguments")};
  if (piece.name.empty() && piece.arguments.empty()) {
    return;
  }
  // There is only one, so every piece is of it.
  extend(calls_.empty() ? calls_.emplace_back() : calls_.back(), piece);
}

std::vector<AssembledCall> ToolCallAssembler::finish(std::string_view seed, bool is_cut) const {
  std::vector<AssembledCall> calls = calls_;
  std::set<std::string, std::less<>> ids;
  for (std::size_t position = 0; position < calls.size(); ++position) {
    AssembledCall& call = calls[position];
    const std::string own_seed = std::string(seed) + '\n' + call.name + '\n' + call.arguments;
    for (std::uint64_t salt = 0; call.id.empty() || ids.contains(call.id); ++salt) {
      call.id = made_call_id(own_seed, position, salt);
    }
    ids.insert(call.id);
    call.arguments = normal_arguments(call, is_cut);
  }
  return calls;
}

}  // namespace providers
