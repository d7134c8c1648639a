// Tool calls out of the pieces that chat servers stream, as wrongly as they do: without index,
// with the same index for all, without id, with the id or the name in every piece.
#pragma once
#include "agent/json.h"
#include "agent/message.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace providers {

// Follows JSON text as it comes: it can be whole only where every bracket and string is closed.
struct OpenBrackets {
  int depth = 0;
  bool in_string = false;
  bool is_escaped = false;

  void take(std::string_view text);
  bool are_closed() const { return depth == 0 && !in_string; }
};

struct AssembledCall {
  std::string id;
  std::string name;
  std::string arguments;
  OpenBrackets open = {};  // of the arguments
  std::optional<long long> index;
  bool has_own_index = false;  // that no call before it has
  bool is_custom = false;      // a kind of tool that is not offered here: `arguments` stay empty,
  std::string input;           // because what came is this free text
  std::string extra_content;   // JSON to be sent back with the call; empty: none
};

class ToolCallAssembler {
 public:
  // One element of a delta's `tool_calls`, and the index that it says. False: it is of no call that
  // has begun, or of two.
  [[nodiscard]] bool add_piece(const agent::Json& piece, std::optional<long long> index);
  // One element of a whole message's `tool_calls`: always a call of its own.
  void add_call(const agent::Json& call);
  // Likewise, of what other protocols have of it.
  void add_call(std::string_view id, std::string_view name, std::string arguments);
  // The old `function_call` object.
  void add_function_call(const agent::Json& call);

  bool empty() const { return calls_.empty(); }
  // Bytes and calls that were added: a piece that adds nothing leaves it as it was.
  std::size_t size() const { return size_; }
  // Bytes of arguments that are blanks alone, which finish() leaves out.
  std::size_t blanks() const;
  // The calls, each with an id of its own (agent/call_ids.h), so that what is sent back of the
  // answer can have the same ones. Arguments that came as nothing are "{}", but
  // where the answer `is_cut` they stay empty.
  std::vector<AssembledCall> finish(std::string_view seed, bool is_cut) &&;

 private:
  struct Piece;
  static Piece read_piece(const agent::Json& json);
  AssembledCall* with_index(const Piece& piece);
  AssembledCall* with_id(const Piece& piece);
  bool may_be_of_last(const Piece& piece) const;
  bool is_lost(const Piece& piece);
  static bool renames(const AssembledCall& call, const Piece& piece);
  AssembledCall* known_call(const Piece& piece);
  AssembledCall& call_for(const Piece& piece);
  bool repeats_a_call(const Piece& piece) const;
  void add_call(Piece piece);
  void extend(AssembledCall& call, Piece piece);

  std::vector<AssembledCall> calls_;
  std::unordered_map<std::string, std::size_t> last_by_id_;  // the last call that has it
  std::unordered_map<long long, std::size_t> last_by_index_;
  std::unordered_set<std::string> torn_ids_;  // of several calls, one of which was not whole
  std::size_t size_ = 0;
  bool has_function_call_ = false;  // the last call is that
};

}  // namespace providers
