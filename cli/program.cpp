#include "cli/program.h"

#include "agent/cancellation.h"
#include "agent/descriptor.h"
#include "agent/id.h"
#include "agent/outcome.h"
#include "agent/secrets/redact.h"
#include "agent/text.h"
#include "cli/commands/commands.h"
#include "cli/early_end.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/resources.h"
#include "cli/signals.h"
#include "cli/terminal/answer_sink.h"
#include "cli/terminal/render_error.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <streambuf>
#include <system_error>
#include <unistd.h>

namespace cli {
namespace {

bool wants_color(int descriptor, std::string_view choice, const agent::Environment& environment) {
  if (choice == "always" || choice == "never") {
    return choice == "always";
  }
  const auto value = [&](std::string_view name) { return agent::value_of(environment, name); };
  return value("NO_COLOR").empty() && !value("TERM").empty() && value("TERM") != "dumb" &&
         ::isatty(descriptor) == 1;
}

// What follows `--output` on a command line that need not be right otherwise.
Format format_asked_for(std::span<const std::string> arguments,
                        const agent::Environment& environment) {
  std::string_view format;
  if (const auto variable = environment.find("ERRAND_OUTPUT"); variable != environment.end()) {
    format = variable->second;
  }
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string_view word = arguments[at];
    if ((word == "-o" || word == "--output") && at + 1 < arguments.size()) {
      format = arguments[at + 1];
    } else if (word.starts_with("--output=")) {
      format = word.substr(word.find('=') + 1);
    } else if (word.starts_with("-o") && !word.starts_with("--")) {
      format = word.substr(2);
    }
  }
  return format == "json" ? Format::json : format == "jsonl" ? Format::jsonl : Format::text;
}

// A stream that waits for its reader as long as the work's patience lasts.
class DescriptorBuffer final : public std::streambuf {
 public:
  DescriptorBuffer(int descriptor, agent::WritePatience& patience)
      : descriptor_(descriptor), patience_(patience) {}

 private:
  int_type overflow(int_type character) override {
    const char byte = traits_type::to_char_type(character);
    return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::string_view bytes(text, static_cast<std::size_t>(count));
    return agent::write_all(descriptor_, bytes, &patience_) == 0 ? count : 0;
  }

  int descriptor_;
  agent::WritePatience& patience_;
};

class Program {
 public:
  Program(std::span<const std::string> arguments, const agent::Environment& environment)
      : arguments_(arguments), environment_(environment), redactor_(environment) {}

  int run() {
    try {
      return perform();
    } catch (const std::exception& exception) {
      return fail(agent::error_of(exception));
    }
  }

 private:
  int perform() {
    auto parsed = parse(arguments_, environment_);
    if (!parsed || parsed->command == nullptr || !parsed->command->is_work) {
      unblock_signals();
    }
    if (!parsed) {
      return fail(std::move(parsed).error());
    }
    if (parsed->command != nullptr && parsed->command->is_work && !parsed->help) {
      if (const auto enough = check_resources(); !enough) {
        return say_on_own_stack([&] { return fail(enough.error()); });
      }
    }
    std::error_code ignored;
    Context context{
        .environment = environment_,
        .cwd = std::filesystem::current_path(ignored),
        .out = out_,
        .err = err_,
        .cancellation = cancellation_,
        .redactor = redactor_,
        .color_out = color(STDOUT_FILENO, *parsed),
        .color_err = color_err_ = color(STDERR_FILENO, *parsed),
    };
    if (parsed->help || parsed->command == nullptr) {
      out_ << (parsed->command != nullptr ? help(*parsed->command)
               : parsed->group.empty()    ? help()
                                          : group_help(parsed->group));
      return finish(0);
    }
    auto code = parsed->command->run(*parsed, context);
    has_styles_ = context.has_styles;
    return code ? finish(*code) : fail(std::move(code).error());
  }

  bool color(int descriptor, const Parsed& parsed) const {
    return wants_color(descriptor, parsed.value("--color").value_or("auto"), environment_);
  }

  bool is_run() const {
    const auto command = arguments_.empty() ? std::string_view() : arguments_.front();
    return command == "run" || command == "resume" || command == "fork";
  }

  int fail(const agent::Error& error) {
    if (!is_run()) {
      err_ << render(error, color_err_, redactor_) << std::endl;
      return finish(agent::exit_code(error));
    }
    const auto output = standard_output();
    AnswerSink answer(
        {.format = format_asked_for(arguments_, environment_)}, *output, redactor_, cancellation_);
    return end_early({.errors = {error},
                      .run_id = agent::new_run_id(),
                      .signal = cancellation_.signal_number(),
                      .color = color_err_},
                     answer,
                     redactor_,
                     err_);
  }

  // What a command printed is its product: where it cannot be written, that is the ending.
  int finish(int code) {
    // Whoever waits for a reader here is ended by them. Where a run has said how it ended, they
    // come too late: its exit code stays what its result says.
    if (!out_.view().empty()) {
      unblock_signals();
    }
    const auto output = standard_output();
    output->write(product());
    const auto ending = ending_of(*output, code);
    if (!ending) {
      err_ << render(ending.error(), color_err_, redactor_) << std::endl;
      return agent::exit_code(ending.error());
    }
    return *ending;
  }

  // Others' words in it cannot steer a terminal; JSON nowhere.
  std::string product() const {
    if (format_asked_for(arguments_, environment_) != Format::text) {
      return agent::printable_json(std::string(out_.view()));
    }
    return ::isatty(STDOUT_FILENO) == 1 && !has_styles_ ? agent::printable(out_.view())
                                                        : std::string(out_.view());
  }

  std::unique_ptr<Output> standard_output() {
    return Output::to_descriptor(STDOUT_FILENO, "standard output", &cancellation_.patience());
  }

  std::span<const std::string> arguments_;
  const agent::Environment& environment_;
  agent::Redactor redactor_;
  std::ostringstream out_;
  agent::Cancellation cancellation_;
  DescriptorBuffer err_buffer_{STDERR_FILENO, cancellation_.patience()};
  std::ostream err_{&err_buffer_};
  bool color_err_ = false;
  bool has_styles_ = false;
};

}  // namespace

int run_program(std::span<const std::string> arguments, const agent::Environment& environment) {
  return Program(arguments, environment).run();
}

}  // namespace cli
