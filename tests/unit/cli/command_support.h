// A command as the program runs it, with its streams as strings and a folder of its own.
#pragma once
#include "agent/outcome.h"
#include "cli/commands/commands.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "errand-cli-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
  }

  std::filesystem::path path;
};

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
  std::string message;  // of the error, where it is one
  std::string help;
};

inline Ran run_command(const std::vector<std::string>& arguments,
                       const std::filesystem::path& cwd = std::filesystem::current_path(),
                       const agent::Environment& environment = {}) {
  const auto failed = [](const agent::Error& error, Ran ran) {
    ran.code = agent::exit_code(error);
    ran.message = error.message;
    ran.help = error.help;
    return ran;
  };
  const auto parsed = cli::parse(arguments, environment);
  if (!parsed) {
    return failed(parsed.error(), {});
  }
  std::ostringstream out;
  std::ostringstream err;
  agent::Cancellation cancellation;
  agent::Redactor redactor(environment);
  cli::Context context{.environment = environment,
                       .cwd = cwd,
                       .out = out,
                       .err = err,
                       .cancellation = cancellation,
                       .redactor = redactor};
  const auto code = parsed->command->run(*parsed, context);
  Ran ran{.code = code ? *code : 0, .out = out.str(), .err = err.str(), .message = {}, .help = {}};
  return code ? ran : failed(code.error(), std::move(ran));
}
