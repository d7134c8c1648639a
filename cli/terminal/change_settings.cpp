#include "cli/terminal/change_settings.h"

#include "agent/absence.h"
#include "cli/output.h"
#include "config/yaml/source.h"

#include <system_error>

namespace cli {
namespace {

constexpr std::size_t k_largest_config = 1'048'576;

}  // namespace

agent::Result<void> change_settings(
    const std::filesystem::path& file,
    const std::function<agent::Result<std::string>(const std::string& text)>& change) {
  std::string text;
  std::error_code error;
  if (!agent::is_absent(file)) {
    TRY_ASSIGN(text, config::read_text_file(file, k_largest_config));
  }
  TRY_ASSIGN(const std::string changed, change(text));
  std::filesystem::create_directories(file.parent_path(), error);
  const auto real = std::filesystem::canonical(file, error);  // a link stays one
  TRY_ASSIGN(const auto output, Output::to_file((error ? file : real).string()));
  output->write(changed);
  output->commit();
  if (output->failure() != nullptr) {
    return agent::fail(*output->failure());
  }
  return {};
}

}  // namespace cli
