// Who puts a question of the model, or of a server, to a person, as a port: tools know no terminal.
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tools {

struct Question {
  std::string text;                       // as whoever asks wrote it
  std::vector<std::string> options = {};  // empty: any answer will do
  std::string who = "The agent";          // asks
  std::string enter = "none";             // what saying nothing means; empty: it is no answer
  bool may_leave = false;                 // the end of the input means that, not nothing
};

class Questioner {
 public:
  // Questions that belong together: while it is there, nobody else asks that person.
  class Conversation {
   public:
    virtual ~Conversation() = default;
    // What the person says: one of the options, their own words, or nothing (empty). Waits for it;
    // nullopt where nobody answers: soon after `stop`, or because they have left.
    virtual std::optional<std::string> ask(const Question& question, std::stop_token stop) = 0;
  };

  virtual ~Questioner() = default;
  // Waits for the end of another one, or for `stop`: then nobody answers. Borrows the questioner.
  virtual std::unique_ptr<Conversation> begin(std::stop_token stop) = 0;
};

}  // namespace tools
