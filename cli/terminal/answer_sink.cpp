#include "cli/terminal/answer_sink.h"

#include "agent/text.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <variant>

namespace cli {

AnswerSink::AnswerSink(Options options,
                       Output& output,
                       const agent::Redactor& redactor,
                       agent::Cancellation& cancellation)
    : options_(std::move(options)),
      output_(output),
      redactor_(redactor),
      cancellation_(cancellation),
      stream_redactor_(std::in_place, redactor) {
  if (options_.columns) {
    markdown_.emplace(options_.columns, &redactor_);
  }
}

void AnswerSink::on(const agent::Event& event) {
  if (options_.format == Format::jsonl) {
    write(agent::printable_json(
              redactor_.dump(agent::dump(event), [&] { return to_json(event); })) += '\n');
  } else if (is_of_member(event)) {
    return;
  } else if (const auto* end = std::get_if<agent::RunFinished>(&event.body)) {
    if (options_.format == Format::json) {
      write(agent::printable_json(redactor_.dump(agent::dump(end->result),
                                                 [&] { return to_json(end->result); })) += '\n');
    } else {
      answer(end->result);
    }
  } else if (options_.streams) {
    if (const auto* delta = std::get_if<agent::ModelDelta>(&event.body)) {
      if (delta->kind == agent::ModelDelta::Kind::text) {
        stream(stream_redactor_->feed(delta->text));
      }
    } else if (std::holds_alternative<agent::ModelReset>(event.body)) {
      break_off();
      streamed_ = false;
    } else if (std::holds_alternative<agent::ModelResponded>(event.body)) {
      stream(stream_redactor_->finish());
      break_line();
    } else if (std::holds_alternative<agent::TurnStarted>(event.body)) {
      streamed_ = false;
    } else if (const auto* member = std::get_if<agent::MemberStarted>(&event.body)) {
      streamed_ = streamed_ && member->kind != "handoff";  // whose answer it is says more
    }
  }
  if (std::holds_alternative<agent::RunFinished>(event.body) && !is_of_member(event)) {
    // A run without an answer leaves a file of text as it was.
    if (has_written_ || options_.format != Format::text) {
      output_.commit();
    }
  }
}

const agent::Error* AnswerSink::failure() const {
  return output_.reader_is_gone() ? nullptr : output_.failure();
}

bool AnswerSink::is_cut_off() const {
  return output_.reader_is_gone() || output_.is_given_up();
}

void AnswerSink::write(std::string_view text) {
  has_written_ = true;
  output_.write(text);
  if (output_.reader_is_gone() && cancellation_.signal_number() == 0) {
    cancellation_.signal(SIGPIPE);
  }
}

void AnswerSink::stream(std::string_view text) {
  if (!text.empty()) {
    streamed_ = true;
    write_streamed(markdown_ ? markdown_->feed(agent::printable(text)) : agent::printable(text));
  }
}

void AnswerSink::write_streamed(std::string_view text) {
  if (text.empty()) {
    return;
  }
  mid_line_ = true;  // before there is room: what draws beside it stays away until this is out
  if (make_room_) {
    make_room_();
  }
  write(text);
  mid_line_ = text.back() != '\n';
}

// All of an answer that goes no further.
void AnswerSink::break_off() {
  stream(stream_redactor_->break_off());
  break_line();
}

void AnswerSink::break_line() {
  if (markdown_) {
    write_streamed(markdown_->finish());
  }
  if (mid_line_) {
    write("\n");
    mid_line_ = false;
  }
}

// Written once, and only where the run has a final answer.
void AnswerSink::answer(const agent::RunResult& result) {
  break_off();
  const agent::Status status = agent::status_of(result.exit_code);
  const bool is_final = status == agent::Status::ok || result.exit_code == 1;
  if (!is_final || result.text.empty() || streamed_) {
    return;
  }
  const std::string text = redactor_.apply(result.text);
  if (options_.is_for_terminal) {
    stream(text);
    break_line();
    return;
  }
  write(text);
  if (text.back() != '\n') {
    write("\n");
  }
}

}  // namespace cli
