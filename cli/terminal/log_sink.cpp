#include "cli/terminal/log_sink.h"

#include "cli/terminal/answer_sink.h"

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <filesystem>
#include <variant>

namespace cli {
namespace {

spdlog::level::level_enum level_of(const agent::EventBody& body) {
  if (const auto* end = std::get_if<agent::RunFinished>(&body)) {
    return end->result.error ? spdlog::level::err : spdlog::level::info;
  }
  if (std::holds_alternative<agent::Warning>(body) ||
      std::holds_alternative<agent::LimitWarning>(body) ||
      std::holds_alternative<agent::ModelRetrying>(body) ||
      std::holds_alternative<agent::ModelFallback>(body)) {
    return spdlog::level::warn;
  }
  return agent::is_journaled(body) ? spdlog::level::info : spdlog::level::debug;
}

}  // namespace

struct LogSink::Impl {
  spdlog::logger logger;
};

agent::Result<std::unique_ptr<LogSink>> LogSink::open(const std::string& file,
                                                      const agent::Redactor& redactor) {
  if (const auto folder = std::filesystem::absolute(file).parent_path();
      !std::filesystem::is_directory(folder)) {  // spdlog would make it
    return agent::fail(
        agent::Code::cli_cannot_create,
        "cannot open the log file `" + file + "`: there is no folder " + folder.string(),
        "name a file in a folder that exists and may be written");
  }
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(file);
    auto impl = std::make_unique<Impl>(Impl{.logger = spdlog::logger("errand", std::move(sink))});
    impl->logger.set_level(spdlog::level::debug);
    impl->logger.set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    impl->logger.flush_on(spdlog::level::info);
    impl->logger.set_error_handler([](const std::string&) {});  // an observer never fails a run
    return std::unique_ptr<LogSink>(new LogSink(std::move(impl), redactor));
  } catch (const spdlog::spdlog_ex& error) {
    return agent::fail(agent::Code::cli_cannot_create,
                       std::string("cannot open the log file: ") + error.what(),
                       "name a file in a folder that exists and may be written");
  }
}

LogSink::LogSink(std::unique_ptr<Impl> impl, const agent::Redactor& redactor)
    : impl_(std::move(impl)), redactor_(redactor) {}

LogSink::~LogSink() = default;

void LogSink::on(const agent::Event& event) {
  agent::Json fields = agent::to_json(event);
  for (const char* repeated : {"v", "ts", "type", "raw"}) {
    fields.erase(repeated);
  }
  impl_->logger.log(
      level_of(event.body), "{} {}", agent::type_name(event.body), redactor_.dump(fields));
}

}  // namespace cli
