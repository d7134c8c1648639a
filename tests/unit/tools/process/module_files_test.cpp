#include "tools/process/module_files.h"

#include "tests/unit/tools/file_support.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

bool names(const Words& words,
           const std::filesystem::path& folder,
           const char* file,
           const agent::Environment& environment = {}) {
  const auto files = tools::module_files(words, folder, environment);
  return std::ranges::find(files, folder / file) != files.end();
}

}  // namespace

TEST_CASE("module files: of Python, by a name or a folder", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/guard.py", "");
  const auto& at = folder.path();
  const auto words =
      GENERATE(values<Words>({{"python3", "-m", "ci.guard"},
                              {"python3.11", "-um", "ci.guard", "x"},
                              {"/usr/bin/python3", "-mci.guard"},
                              {"python3", "-W", "error", "-Xdev", "-m", "ci.guard"},
                              {"pypy3", "--check-hash-based-pycs", "never", "-m", "ci.guard"}}));
  CAPTURE(words);
  for (const char* file : {"ci.py",
                           "ci/__init__.py",
                           "ci/guard.py",
                           "ci/guard.pyc",
                           "ci/guard/__main__.py",
                           "ci/guard.cpython-311-x86_64-linux-gnu.so"}) {
    CAPTURE(file);
    CHECK(names(words, at, file));
  }
  CHECK(names({"python3", "-I", "ci/"}, at, "ci/__main__.py"));
  for (const Words& nothing : {Words{"python3", "-I", "-m", "ci.guard"},
                               Words{"python3", "-Pm", "ci.guard"},
                               Words{"python3", "-c", "-m", "ci.guard"},
                               Words{"python3", "ci/guard.py", "-m", "ci.guard"},
                               Words{"ruby", "-m", "ci.guard"}}) {
    CHECK(tools::module_files(nothing, at, {}).empty());
  }
}

TEST_CASE("module files: of a virtual environment, and what Python loads first", "[tools]") {
  const tests::FileFolder folder;
  const std::string packages = ".venv/lib/python3.11/site-packages/";
  folder.write(".venv/bin/python", "");
  folder.write(packages + "guard.py", "");
  const auto& at = folder.path();
  const std::string module = packages + "guard.py";
  const std::string first = packages + "sitecustomize.py";
  CHECK_FALSE(names({".venv/bin/python", "-m", "guard"}, at, module.c_str()));
  folder.write(".venv/pyvenv.cfg", "");
  const agent::Environment path{{"PATH", "/nowhere:" + (at / ".venv/bin").string()}};
  CHECK(names({".venv/bin/python", "-m", "guard"}, at, module.c_str()));
  CHECK(names({".venv/bin/python", "-Im", "guard"}, at, module.c_str()));
  CHECK(names({"python", "-m", "guard"}, at, module.c_str(), path));
  CHECK(names({"python", "guard.py"}, at, first.c_str(), path));
  CHECK_FALSE(names({"python", "-m", "guard"}, at, module.c_str()));

  const agent::Environment variable{{"PYTHONPATH", "src"}};
  CHECK(names({"python3", "guard.py"}, at, "src/sitecustomize.py", variable));
  CHECK(names({"python3", "-P", "guard.py"}, at, "src/usercustomize.py", variable));
  CHECK_FALSE(names({"python3", "-I", "guard.py"}, at, "src/sitecustomize.py", variable));
}

TEST_CASE("module files: of Node, without its ending", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/look.js", "");
  folder.write("whole.js", "");
  const auto& at = folder.path();
  for (const char* file : {"ci/look", "ci/look.js", "ci/look/index.js", "ci/look/package.json"}) {
    CHECK(names({"node", "--no-warnings", "ci/look"}, at, file));
  }
  CHECK(names({"bun", "ci"}, at, "ci/index.ts"));
  CHECK(tools::module_files(Words{"node", "whole.js"}, at, {}).empty());
  CHECK(tools::module_files(Words{"node", "to-be-made.js"}, at, {}).empty());
}

TEST_CASE("module files: what a module of Python is told may be another one", "[tools]") {
  const tests::FileFolder folder;
  folder.write("ci/guard.py", "");
  folder.write("guard.py", "");
  folder.write("src/__init__.py", "");
  const auto& at = folder.path();
  const auto dotted = GENERATE(values<Words>({{"-m", "unittest", "ci.guard"},
                                              {"-m", "unittest", "-v", "ci.guard.Test.test_a"},
                                              {"-Im", "runpy", "ci.guard"},
                                              {"-m", "cProfile", "-m", "ci.guard"},
                                              {"-m", "cProfile", "-mci.guard"},
                                              {"-m", "trace", "-c", "--module=ci.guard"},
                                              {"-m", "pdb", "-c", "c", "-m", "ci.guard"},
                                              {"-m", "coverage", "run", "-m", "ci.guard"}}));
  CAPTURE(dotted);
  Words words{"python3"};
  words.insert(words.end(), dotted.begin(), dotted.end());
  CHECK(names(words, at, "ci/guard.py"));
  CHECK(names(words, at, "ci.py"));
  CHECK(names({"python3", "-m", "unittest", "guard"}, at, "guard.py"));
  CHECK(names({"python3", "-m", "cProfile", "-m", "guard"}, at, "guard.py"));
  CHECK(names({"python3", "-m", "unittest", "ci/guard.py"}, at, "ci/guard/__init__.py"));
  for (const Words& other : {Words{"python3", "-m", "mypy", "src"},
                             Words{"python3", "-m", "unittest", "discover", "-s", "src"},
                             Words{"python3", "-m", "tool", "guard.yaml", "guard.cfg", "guard.py"},
                             Words{"python3", "-m", "pytest", "guard"},
                             Words{"python3", "-m", "pip", "install", "a.b"}}) {
    CAPTURE(other);
    CHECK_FALSE(names(other, at, "src/__init__.py"));
    CHECK_FALSE(names(other, at, "guard.py"));
    CHECK_FALSE(names(other, at, "a/b.py"));
  }
}

TEST_CASE("module files: where variables say", "[tools]") {
  const tests::FileFolder folder;
  folder.write("src/guard.py", "");
  folder.write("lib/look.js", "");
  folder.write("pre.js", "");
  const auto& at = folder.path();
  const agent::Environment python{{"PYTHONPATH", "src:lib.zip::" + (at / "more").string()}};
  for (const char* option : {"-m", "-Pm", "-um"}) {
    for (const char* file : {"src/guard.py", "src/guard.pyc", "lib.zip", "more/guard.py"}) {
      CAPTURE(option, file);
      CHECK(names({"python3", option, "guard"}, at, file, python));
    }
  }
  CHECK_FALSE(names({"python3", "-Pm", "guard"}, at, "guard.py", python));
  CHECK_FALSE(names({"python3", "-m", "guard"}, at, "more", python));
  CHECK_FALSE(names({"python3", "-Em", "guard"}, at, "src/guard.py", python));
  CHECK_FALSE(names({"python3", "-Im", "guard"}, at, "src/guard.py", python));
  const agent::Environment node{{"NODE_PATH", "lib"},
                                {"NODE_OPTIONS", "--max-old-space-size=9 --require \"./pre.js\""}};
  CHECK(names({"node", "deploy.js"}, at, "pre.js", node));
  CHECK_FALSE(names({"node", "deploy.js"}, at, "9.js", node));
  CHECK(names({"node", "-r", "look", "deploy.js"}, at, "lib/look.js", node));
}

TEST_CASE("module files: of Node, what a package says and what is loaded first", "[tools]") {
  const tests::FileFolder folder;
  folder.write("deploy/package.json", R"({"main": "lib/m"})");
  folder.write("package.json", R"({"main": "./top.js"})");
  folder.write(
      "node_modules/@a/b/package.json",
      R"({"exports": {".": {"import": "./c.mjs"}, "./d": "./e.js", "./f/*.js": ["./g/*/*.js"]}})");
  folder.write("node_modules/pre/register.js", "");
  folder.write("pre.js", "");
  const auto& at = folder.path();
  for (const char* word : {"deploy", "deploy/", "./deploy"}) {
    for (const char* file : {"deploy.js",
                             "deploy/index.js",
                             "deploy/package.json",
                             "deploy/lib/m",
                             "deploy/lib/m.js",
                             "deploy/lib/m/index.js"}) {
      CAPTURE(word, file);
      CHECK(names({"node", word}, at, file));
    }
  }
  CHECK(names({"node", "."}, at, "top.js"));
  const auto options = GENERATE(values<Words>({{"-r", "./pre"},
                                               {"--require=./pre"},
                                               {"--import=./pre.js"},
                                               {"--loader", "./pre"},
                                               {"--experimental-loader=pre"}}));
  CAPTURE(options);
  Words words{"node"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("deploy.js");
  CHECK(names(words, at, "pre.js"));
  CHECK(names({"node", "-r", "pre/register", "a.js"}, at, "node_modules/pre/register"));
  const tests::FileFolder above;
  above.write("node_modules/pre.js", "");
  above.write("below/a.js", "");
  const auto files =
      tools::module_files(Words{"node", "-r", "pre", "a.js"}, above.path() / "below", {});
  for (const char* file : {"node_modules/pre.js", "below/node_modules/pre.js"}) {
    CHECK(std::ranges::find(files, above.path() / file) != files.end());
  }
  CHECK_FALSE(names({"node", "-r", "other", "a.js"}, at, "node_modules/other/index.js"));
  CHECK(names({"node", "--import", "pre/register", "a.js"}, at, "node_modules/pre/register.js"));
  CHECK(names({"node", "--import=@a/b", "a.js"}, at, "node_modules/@a/b/c.mjs"));
  CHECK(names({"node", "--import=@a/b/f/h.js", "a.js"}, at, "node_modules/@a/b/g/h/h.js"));
  CHECK_FALSE(names({"node", "--import=@a/b", "a.js"}, at, "node_modules/@a/b/e.js"));
  CHECK(names({"node", "--import=@a/b/d", "a.js"}, at, "node_modules/@a/b/e.js"));
  CHECK_FALSE(names({"node", "--import", "node:test", "a.js"}, at, "node_modules/node:test"));
}
