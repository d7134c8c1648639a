#include "tools/permissions/known_programs.h"

#include <algorithm>
#include <array>

namespace tools {
namespace {

constexpr auto k_wrappers = std::to_array<Wrapper>({
    {"env", "uC"},
    {"sudo", "ugpChrtTUDR"},
    {"doas", "uC"},
    {"su", "gGsw"},
    {"runuser", "ugGsw"},
    {"pkexec", ""},
    {"timeout", "ks", 1, true},
    {"nice", "n", 0, true},
    {"nohup", "", 0, true},
    {"time", "fo", 0, true},
    {"command", "", 0, true},
    {"builtin", "", 0, true},
    {"exec", "a", 0, true},
    {"setsid", "", 0, true},
    {"stdbuf", "ioe", 0, true},
    {"ionice", "cnpPu", 0, true},
    {"chrt", "TPD", 1},
    {"taskset", "", 1},
    {"xargs", "aEILnPsd"},
    {"parallel", "jaNIS"},
    {"watch", "nq"},
    {"strace", "aeEIoOpPsSuUX"},
    {"ltrace", "aeEIlnopsuxX"},
    {"valgrind", ""},
    {"perf", "eo", 1},
    {"busybox", ""},
    {"toybox", ""},
    {"chroot", "", 1},
    {"flock", "wE", 1},
    {"unshare", "GSR"},
    {"nsenter", "tGS"},
    {"setpriv", ""},
    {"capsh", ""},
    {"systemd-run", "pEuH"},
    {"script", "cIOBTmo"},
    {"ssh", "bcDEeFIiJLlmOopQRSWw", 1},
    {"fakeroot", "lisb"},
    {"catchsegv", ""},
    {"unbuffer", ""},
    {"dbus-run-session", ""},
    {"start-stop-daemon", "xpungsRNIPkdrv"},
    {"setarch", "", 1},
    {"linux32", ""},
    {"linux64", ""},
});

constexpr auto k_shells = std::to_array<std::string_view>({"sh",
                                                           "bash",
                                                           "dash",
                                                           "ash",
                                                           "zsh",
                                                           "ksh",
                                                           "mksh",
                                                           "yash",
                                                           "posh",
                                                           "lksh",
                                                           "rksh",
                                                           "sash",
                                                           "hush",
                                                           "osh",
                                                           "ysh",
                                                           "rbash",
                                                           "fish",
                                                           "csh",
                                                           "tcsh"});

constexpr std::string_view k_of_node =
    "--eval --print --require --import --loader --experimental-loader";
constexpr auto k_interpreters = std::to_array<Interpreter>({
    {"python", "c", "", "i"},
    {"pypy", "c", "", "i"},
    {"graalpy", "c", "", "i"},
    {"jython", "c", "", "i"},
    {"perl", "eE", ""},
    {"ruby", "e", ""},
    {"node", "epr", k_of_node, "i"},
    {"nodejs", "epr", k_of_node, "i"},
    {"bun", "ep", "--eval --print exec"},
    {"deno", "", "eval repl"},
    {"php", "rBRE", "--run"},
    {"lua", "e", "", "i"},
    {"luajit", "e", "", "i"},
    {"tclsh", "", ""},
    {"expect", "c", ""},
    {"Rscript", "e", ""},
    {"guile", "c", ""},
    {"osascript", "e", ""},
    {"ts-node", "ep", k_of_node},
    {"tsx", "ep", k_of_node},
    {"ipython", "c", ""},
    {"R", "e", ""},
    {"julia", "eE", "--eval --print"},
    {"octave", "", "--eval"},
    {"octave-cli", "", "--eval"},
    {"elixir", "e", "--eval"},
    {"erl", "", "-eval -s -run"},
    {"groovy", "e", ""},
    {"scala", "e", ""},
    {"clojure", "e", "--eval"},
    {"clj", "e", "--eval"},
    {"sbcl", "", "--eval --load"},
    {"racket", "e", "--eval"},
    {"pwsh", "c", "-Command -c -EncodedCommand -e"},
    {"powershell", "c", "-Command -c -EncodedCommand -e"},
    {"xonsh", "c", ""},
    {"elvish", "c", ""},
    {"swipl", "gt", ""},
    {"gforth", "e", "--evaluate"},
    {"nu", "c", "--commands"},
});
constexpr auto k_code_modules = std::to_array<std::string_view>(
    {"IPython",       "asyncio", "bdb",    "bpython",      "cProfile",    "code",
     "debugpy",       "doctest", "fire",   "idlelib",      "ipykernel",   "kernprof",
     "line_profiler", "mako",    "memray", "pdb",          "plac_runner", "profile",
     "ptpython",      "pudb",    "py_spy", "pyinstrument", "pyperf",      "runpy",
     "scalene",       "timeit",  "trace",  "viztracer",    "xonsh"});

constexpr auto k_runners = std::to_array<Runner>({
    {"uv",
     "run",
     "--active --all-extras --all-groups --dev --directory= --env-file= --exact --extra= --frozen "
     "--group= --index-url= --isolated --locked --no-cache --no-config --no-default-groups "
     "--no-dev --no-editable --no-env-file --no-extra= --no-group= --no-managed-python "
     "--no-progress --no-project --no-sync --offline --only-dev --only-group= --package= "
     "--project= --python= --quiet --refresh --script --upgrade --verbose --with= --with-editable= "
     "--with-requirements= -U -n -p= -q -s -v"},
    {"uvx", "", "--from= --isolated --no-cache --offline --python= --quiet --with= -p= -q"},
    {"bunx", "", "--bun --package= --silent -p="},
    {"npx", "", "--no --package= --prefix= --quiet --silent --workspace= --yes -p= -q -w= -y"},
    {"pipx", "run", "--no-cache --python= --quiet --spec= -q"},
    {"poetry",
     "run",
     "--directory= --no-ansi --no-cache --no-interaction --no-plugins --project= --quiet --verbose "
     "-C= -P= -n -q -v"},
    {"pipenv", "run", "--python= --quiet --verbose -q -v"},
    {"conda mamba micromamba",
     "run",
     "--cwd= --live-stream --name= --no-capture-output --prefix= --verbose -n= -p= -v"},
    {"pdm", "run", "--global --project= --quiet --site-packages --verbose -g -p= -q -s -v"},
    {"hatch", "run", "--env= --no-color --project= --quiet --verbose -e= -p= -q -v"},
    {"rye", "run", "--pyproject= --quiet --verbose -q -v"},
    {"pixi",
     "run",
     "--environment= --frozen --locked --manifest-path= --no-install --quiet --verbose -e= -q -v"},
    {"pyenv rbenv nodenv plenv goenv asdf", "exec"},
    {"mise rtx", "exec x", "--cd= --jobs= --quiet --verbose --yes -C= -j= -q -v -y", "", true},
    {"direnv", "exec", "", "", false, 1},
    {"bundle bundler", "exec", "--gemfile= --keep-file-descriptors --quiet --verbose"},
    {"npm",
     "exec x",
     "--offline --package= --prefix= --quiet --silent --workspace= --yes -p= -q -s -w= -y"},
    {"pnpm yarn",
     "exec node",
     "--cwd= --dir= --filter= --recursive --silent --workspace-root -C= -F= -r -s -w"},
    {"coverage",
     "run",
     "--append --branch --concurrency= --context= --data-file= --debug= --include= --omit= "
     "--parallel-mode --pylib --rcfile= --save-signal= --source= --timid -L -a -p",
     "python"},
    {"rails", "runner r", "--environment= --skip-executor -e= -w", "ruby"},
});

constexpr auto k_code_variables = std::to_array<CodeVariable>({
    {.name = "BASH_ENV"},
    {.name = "BUN_OPTIONS", .options_of = "bun"},
    {.name = "ELIXIR_ERL_OPTIONS"},
    {.name = "ENV", .may_be_name = true},
    {.name = "ERL_AFLAGS"},
    {.name = "ERL_FLAGS"},
    {.name = "ERL_ZFLAGS"},
    {.name = "HARNESS_PERL"},
    {.name = "HARNESS_PERL_SWITCHES", .options_of = "perl"},
    {.name = "LUA_INIT"},
    {.name = "NODE_OPTIONS", .options_of = "node"},
    {.name = "PERL5DB"},
    {.name = "PERL5OPT", .options_of = "perl"},
    {.name = "PYTHONBREAKPOINT", .harmless = "0"},
    {.name = "PYTHONINSPECT"},
    {.name = "PYTHONSTARTUP"},
    {.name = "RUBYOPT", .options_of = "ruby"},
});

constexpr auto k_code_options = std::to_array<CodeOption>({
    {"alias", "*"},
    {"at", "*"},
    {"batch", "*"},
    {"crontab", "*"},
    {"dc", "*"},
    {"django-admin", "dbshell shell shell_plus"},
    {"ed", "*"},
    {"emacs", "--eval -eval --batch -f --load -l"},
    {"enable", "*"},
    {"entr", "*"},
    {"ex", "*"},
    {"fd", "-x -X --exec= --exec-batch=", true},
    {"fdfind", "-x -X --exec= --exec-batch=", true},
    {"gdb", "*"},
    {"ghc", "-e --interactive"},
    {"ghci", "*"},
    {"git", "-c --config-env --config-env= --exec-path= --upload-pack= --receive-pack="},
    {"gnuplot", "*"},
    {"hash", "-p"},
    {"iex", "*"},
    {"irb", "*"},
    {"jshell", "*"},
    {"kotlin", "-e -expression"},
    {"login", "*"},
    {"make", "SHELL= MAKEFLAGS= -E --eval --eval="},
    {"m4", "*"},
    {"manage.py", "dbshell shell shell_plus"},
    {"mariadb", "*"},
    {"man", "-P --pager --pager= -H", true},
    {"mix", "-e -r --eval --eval= eval"},
    {"mysql", "*"},
    {"newgrp", "*"},
    {"nix-shell", "*"},
    {"nvim", "*"},
    {"ocaml", "-e"},
    {"pry", "*"},
    {"rake", "-e -E -p --execute= --execute-print= --execute-continue=", true},
    {"rsync", "-e --rsh --rsh= --rsync-path=", true},
    {"rvim", "*"},
    {"screen", "*"},
    {"sg", "*"},
    {"socat", "*"},
    {"sort", "--compress-program=", true},
    {"split", "--filter=", true},
    {"sqlite3", "*"},
    {"swift", "-e repl"},
    {"psql", "*"},
    {"rg", "--pre= --hostname-bin=", true},
    {"tar",
     "--to-command --to-command= --checkpoint-action --checkpoint-action= -I "
     "--use-compress-program --use-compress-program= --rsh-command= -F --info-script=",
     true},
    {"tmux", "*"},
    {"vi", "*"},
    {"view", "*"},
    {"vim", "*"},
    {"vimdiff", "*"},
    {"zip", "-TT --unzip-command"},
});

constexpr auto k_data_readers = std::to_array<std::string_view>(
    {"base32", "base64", "bzip2", "column", "git", "gunzip", "gzip",
     "iconv",  "less",   "more",  "patch",  "pr",  "sort",   "tar",
     "tee",    "uniq",   "xz",    "xzcat",  "yes", "zcat",   "zstd"});

template <typename Row, std::size_t count>
const Row* find_row(const std::array<Row, count>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

// "3.11", "3-dbg", "3.13t"; no `python3-config`.
bool is_build(std::string_view rest) {
  constexpr std::size_t k_most_letters = 2;
  if (rest.empty() || rest.front() < '0' || rest.front() > '9' || rest.ends_with("-config")) {
    return false;
  }
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789."), rest.size()));
  const std::string_view letters = rest.substr(0, rest.find('-'));
  return letters.size() <= k_most_letters &&
         std::ranges::all_of(letters, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

std::string_view without_version(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789.");
  return last == std::string_view::npos ? name : name.substr(0, last + 1);
}

const Wrapper* find_wrapper(std::string_view program) {
  return find_row(k_wrappers, program);
}

const Interpreter* find_interpreter(std::string_view program) {
  constexpr auto k_languages = std::to_array<std::string_view>({"python", "ruby"});
  const std::string_view name = without_version(program);
  if (const Interpreter* row = find_row(k_interpreters, name)) {
    return row;
  }
  const auto build = std::ranges::find_if(k_interpreters, [&](const Interpreter& row) {
    return program.starts_with(row.name) && is_build(program.substr(row.name.size()));
  });
  const auto language =
      std::ranges::find_if(k_languages, [&](auto one) { return name.ends_with(one); });
  return build != k_interpreters.end()   ? &*build
         : language != k_languages.end() ? find_row(k_interpreters, *language)
                                         : nullptr;
}

bool is_code_module(std::string_view package) {
  return std::ranges::find(k_code_modules, package) != k_code_modules.end();
}

const Runner* find_runner(std::string_view program) {
  const auto found = std::ranges::find_if(
      k_runners, [&](const Runner& row) { return is_in(row.names, without_version(program)); });
  return found == k_runners.end() ? nullptr : &*found;
}

const CodeVariable* find_code_variable(std::string_view name) {
  const std::string_view plain = name.starts_with("LUA_INIT_") ? "LUA_INIT" : name;
  return find_row(k_code_variables, plain);
}

const CodeOption* find_code_option(std::string_view program) {
  return find_row(k_code_options, program);
}

bool reads_data(std::string_view program) {
  return std::ranges::find(k_data_readers, program) != k_data_readers.end();
}

bool is_shell(std::string_view program) {
  constexpr auto k_endings = std::to_array<std::string_view>(
      {"-static", ".static", ".real", ".orig", ".distrib", ".exe"});  // `bash-static`
  for (const std::string_view ending : k_endings) {
    program.remove_suffix(program.ends_with(ending) ? ending.size() : 0);
  }
  program.remove_prefix(program.starts_with("static-") ? std::size("static-") - 1 : 0);
  return std::ranges::find(k_shells, without_version(program)) != k_shells.end();
}

bool is_in(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view one = list.substr(0, end);
    if (one == "*" || one == word || (one.ends_with('=') && word.starts_with(one))) {
      return true;
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace tools
