// Who puts a question of the model to a person, as a port: tools know no terminal.
#pragma once
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tools {

struct Question {
  std::string text;                  // as the model wrote it
  std::vector<std::string> options;  // empty: any answer will do
};

class Questioner {
 public:
  virtual ~Questioner() = default;
  // What the person says: one of the options, their own words, or nothing (empty). Waits for it;
  // nullopt where nobody answers: soon after `stop`, or because they have left.
  virtual std::optional<std::string> ask(const Question& question, std::stop_token stop) = 0;
};

}  // namespace tools
