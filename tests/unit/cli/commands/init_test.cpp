#include "tests/unit/cli/command_support.h"

TEST_CASE("init: what it writes passes the check", "[cli]") {
  const Folder folder;
  const std::string name = GENERATE("agent.yaml", "Code Review.yml", "reviewer.md", "42.yaml");
  const Ran ran = run_command({"init", name}, folder.path);
  CHECK(ran.code == 0);
  CHECK(ran.out.empty());
  CHECK(ran.err.find(name) != std::string::npos);
  const Ran checked = run_command({"check", name}, folder.path, {{"OPENAI_API_KEY", "0123456789"}});
  INFO(checked.err);
  CHECK(checked.code == 0);
  CHECK(checked.out == name + ": ok\n");
  CHECK(checked.err.empty());
}

TEST_CASE("init: an existing file is left alone, but for --force", "[cli]") {
  const Folder folder;
  folder.write("agent.yaml", "mine");
  const Ran refused = run_command({"init"}, folder.path);
  CHECK(refused.code == 73);
  CHECK(refused.help.find("--force") != std::string::npos);
  CHECK(read_file(folder.path / "agent.yaml") == "mine");
  CHECK(run_command({"init", "--force"}, folder.path).code == 0);
  CHECK(read_file(folder.path / "agent.yaml").find("version: 1") != std::string::npos);
}

TEST_CASE("init: a place that cannot be written, and a name that is none", "[cli]") {
  const Folder folder;
  CHECK(run_command({"init", "no/such/folder.yaml"}, folder.path).code == 73);
  CHECK(run_command({"init", "agent.txt"}, folder.path).code == 2);
}
