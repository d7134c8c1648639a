#include "tools/mcp/last_words.h"

#include <catch2/catch.hpp>

#include <string>

using tools::mcp::last_words_in;

TEST_CASE("last words: places in programs are left out, and marks", "[mcp]") {
  CHECK(last_words_in("node:internal/fs/utils:356\n    throw err;\n    ^\n\nError: no such file\n"
                      "    at Object.openSync (node:fs:573:18)\n"
                      "    at Module._compile (/srv/a b/main.mjs:4:2)\n"
                      "    at async Promise.all (index 0)\n"
                      "    at Array.map (<anonymous>)\n"
                      "    at node:internal/main/run_main_module:28:49 {\n"
                      "  errno: -2,\n  code: 'ENOENT'\n}\n\nNode.js v20.1.0\n") ==
        "node:internal/fs/utils:356 | throw err; | Error: no such file | at async Promise.all "
        "(index 0) | errno: -2, | code: 'ENOENT' | Node.js v20.1.0");
  CHECK(last_words_in("Traceback (most recent call last):\n"
                      "  File \"/srv/s.py\", line 9, in <module>\n    main()\n    ~~~~^^\n"
                      "  File \"/usr/lib/python3/x.py\", line 1344, in do_open\n"
                      "    raise URLError(err)\n"
                      "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n") ==
        "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>");
  CHECK(last_words_in("java.io.IOException: no key\n\tat com.x.Main.run(Main.java:12)\n") ==
        "java.io.IOException: no key");
  CHECK(last_words_in("   at Srv.Main() in /srv/Main.cs:line 12\n").empty());
}

TEST_CASE("last words: what only looks like a place stays", "[mcp]") {
  const std::string text =
      "Config errors:\n  File \"a.toml\", line 3: bad key\n    at /etc/srv/c.toml:4:2\n"
      "    at host (db:5432)\n    at most 5 (default: 1)\n"
      "    at your shell: export URL=x (see README:12)\n";
  CHECK(last_words_in(text) ==
        "Config errors: | File \"a.toml\", line 3: bad key | at /etc/srv/c.toml:4:2 | at host "
        "(db:5432) | at most 5 (default: 1) | at your shell: export URL=x (see README:12)");
}

TEST_CASE("last words: of much, the end", "[mcp]") {
  std::string lines;
  for (int line = 1; line <= 20; ++line) {
    lines += "line " + std::to_string(line) + "\n";
  }
  CHECK(last_words_in(lines) ==
        "line 13 | line 14 | line 15 | line 16 | line 17 | line 18 | line 19 | line 20");
  CHECK(last_words_in(std::string(490, 'x') + "\nthe cause\n") == "the cause");
  CHECK(last_words_in(std::string(488, 'x') + "\nthe cause\n") ==
        std::string(488, 'x') + " | the cause");
  CHECK(last_words_in(std::string(2'000, 'x')).size() <= 503);
  CHECK(last_words_in(" \n^\n}\n").empty());
  CHECK(last_words_in("").empty());
}
