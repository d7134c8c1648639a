#include "tools/permissions/interpreter_options.h"

#include "tools/permissions/program_options.h"
#include "tools/permissions/shell_script.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tools {
namespace {

using What = ToldProgram::What;

// Options that are no code. Longer ones as in the table of program_options.cpp.
struct KnownOptions {
  std::string_view names;             // of interpreters, separated by blanks
  std::string_view flags = {};        // letters
  std::string_view with_value = {};   // letters that take the rest of the word, or the next one
  std::string_view glued = {};        // letters that take the rest of the word, if any
  std::string_view with_name = {};    // as `with_value`; more than a name is code
  std::string_view with_module = {};  // longer ones: a module's name or path; anything else is code
  std::string_view words = {};        // a lone word without a dash stands in front of a script, too
  std::string_view ends = {};         // of all these: with them it reads no program from its input
  char module = '\0';                 // the letter that names one
  bool is_negated = false;            // `--no-x` for `--x`
  bool reads_always = false;          // its input, unless it is told not to
};

constexpr auto k_known = std::to_array<KnownOptions>({
    {.names = "python pypy graalpy jython",
     .flags = "bBdEhiIOPqRsSuvVx?",
     .with_value = "WX",
     .words = "--help --help-all --help-env --help-xoptions --version --check-hash-based-pycs=",
     .ends = "-h -? -V --help --help-all --help-env --help-xoptions --version",
     .module = 'm'},
    // Not those behind whose letters others may follow in the same word (-x, -D).
    {.names = "perl",
     .flags = "acfghlnpsStTUvVwWX0123456789",
     .with_value = "I",
     .glued = "iC",
     .with_name = "mM",
     .words = "--help --version -d:NYTProf",
     .ends = "-h -v -V --help --version"},
    {.names = "ruby",
     .flags = "acdhlnpsSUvwWy0123456789",
     .with_value = "CEIXr",
     .glued = "iFx",
     .words = "--copyright --debug --debug-frozen-string-literal --disable= --disable-all "
              "--disable-did_you_mean --disable-error_highlight "
              "--disable-frozen-string-literal --disable-gems --disable-jit --disable-rubyopt "
              "--disable-yjit --enable= --enable-frozen-string-literal --enable-jit --enable-yjit "
              "--encoding= --external-encoding= --help --internal-encoding= --jit --rjit "
              "--verbose --version --yjit -W:deprecated -W:experimental -W:no-deprecated "
              "-W:no-experimental -W:no-performance -W:performance",
     .ends = "-h -v --copyright --help --version"},
    {.names = "node nodejs tsx",
     .with_module = "--experimental-loader --import --loader --require -r",
     .words =
         "--abort-on-uncaught-exception --addons --allow-addons --allow-child-process "
         "--allow-fs-read= --allow-fs-write= --allow-natives-syntax --allow-wasi --allow-worker "
         "--check --conditions= --cpu-prof --cpu-prof-dir= --cpu-prof-interval= --cpu-prof-name= "
         "--debug-port= --deprecation --diagnostic-dir= --disable-proto= --disable-warning= "
         "--disallow-code-generation-from-strings --dns-result-order= --enable-fips "
         "--enable-source-maps --entry-url --env-file= --env-file-if-exists= "
         "--experimental-default-type= --experimental-detect-module "
         "--experimental-import-meta-resolve --experimental-json-modules --experimental-permission "
         "--experimental-require-module --experimental-specifier-resolution= "
         "--experimental-sqlite --experimental-strip-types --experimental-test-coverage "
         "--experimental-test-isolation= --experimental-test-module-mocks "
         "--experimental-top-level-await --experimental-transform-types --experimental-vm-modules "
         "--experimental-wasm-modules --experimental-websocket --experimental-worker --expose-gc "
         "--expose_gc --force-fips --frozen-intrinsics --global-search-paths --harmony "
         "--heap-prof --heap-prof-dir= --heap-prof-interval= --heap-prof-name= "
         "--heapsnapshot-near-heap-limit= --heapsnapshot-signal= --help --icu-data-dir= "
         "--input-type= --insecure-http-parser --inspect[= --inspect-brk[= --inspect-port= "
         "--inspect-publish-uid= --inspect-wait[= --interpreted-frames-native-stack --jitless "
         "--max-http-header-size= --max-old-space-size[= --max-semi-space-size[= "
         "--max_old_space_size[= --network-family-autoselection "
         "--network-family-autoselection-attempt-timeout= --node-snapshot "
         "--openssl-legacy-provider --pending-deprecation --perf-basic-prof --perf-prof "
         "--permission --preserve-symlinks --preserve-symlinks-main --prof "
         "--redirect-warnings= --report-compact --report-dir= --report-directory= "
         "--report-exclude-network --report-filename= --report-on-fatalerror --report-on-signal "
         "--report-signal= --report-uncaught-exception --run= --secure-heap= --secure-heap-min= "
         "--single-threaded --stack-size[= --stack-trace-limit[= --strip-types --test "
         "--test-concurrency= --test-coverage-branches= --test-coverage-exclude= "
         "--test-coverage-functions= --test-coverage-include= --test-coverage-lines= "
         "--test-force-exit --test-isolation= --test-name-pattern= --test-only "
         "--test-reporter-destination= --test-reporter=dot --test-reporter=junit "
         "--test-reporter=lcov --test-reporter=spec --test-reporter=tap --test-shard= "
         "--test-skip-pattern= --test-timeout= --test-update-snapshots --throw-deprecation "
         "--title= --tls-cipher-list= --tls-max-v1.2 --tls-max-v1.3 --tls-min-v1.0 "
         "--tls-min-v1.1 --tls-min-v1.2 --tls-min-v1.3 --trace-deprecation "
         "--trace-event-categories= --trace-exit --trace-gc --trace-sigint --trace-sync-io "
         "--trace-uncaught --trace-warnings --track-heap-objects --transform-types --tsconfig= "
         "--unhandled-rejections= --use-bundled-ca --use-openssl-ca --use-system-ca --v8-options "
         "--v8-pool-size= --verify-base-objects --version --warnings --watch --watch-path= "
         "--watch-preserve-output --zero-fill-buffers -C= -c -h -v",
     .ends = "--help --run --test --v8-options --version -h -v",
     .is_negated = true},
    {.names = "ts-node",
     .with_module = "--require -r",
     .words = "--cwd= --cwd-mode --esm --files --help --log-error --prefer-ts-exts --pretty "
              "--project= --scope --script-mode --skip-project --swc --transpile-only "
              "--transpileOnly --version -P= -T -h -v",
     .ends = "--help --version -h -v"},
    {.names = "bun",
     .words = "--bun --conditions= --cwd= --env-file= --help --hot --if-present --inspect[= "
              "--inspect-brk[= --inspect-wait[= --install= --no-clear-screen --no-install --port= "
              "--prefer-offline --revision --silent --smol --tsconfig-override= --version --watch "
              "-b -h -i -v run",
     .ends = "--help --revision --version -h -v"},
    {.names = "deno",
     .words =
         "--allow-all --allow-env[= --allow-ffi[= --allow-import[= --allow-net[= --allow-read[= "
         "--allow-run[= --allow-sys[= --allow-write[= --cached-only --cert= --check[= --config= "
         "--deny-env[= --deny-net[= --deny-read[= --deny-run[= --deny-write[= --env-file[= "
         "--env[= --help --import-map= --inspect[= --inspect-brk[= --inspect-wait[= --location= "
         "--lock[= --log-level= --no-check[= --no-config --no-lock --no-npm --no-prompt "
         "--no-remote --node-modules-dir[= --quiet --reload[= --seed= --unstable --version "
         "--watch[= -A -E[= -L= -N[= -R[= -S[= -V -W[= -c= -h -q -r[= run",
     .ends = "--help --version -V -h"},
    // `-d auto_prepend_file=/dev/stdin` may be code.
    {.names = "php",
     .flags = "CHefhilmnqsvw",
     .with_value = "cStz",
     .with_name = "d",
     .words = "--docroot= --help --info --ini --modules --no-header --no-php-ini --rc= --re= --rf= "
              "--ri= --rz= --server= --syntax-check --version",
     .ends = "-S -h -i -m -v --help --info --ini --modules --rc --re --rf --ri --rz --server "
             "--version"},
    {.names = "lua", .flags = "EWv", .with_value = "l", .ends = "-v"},
    {.names = "luajit", .flags = "Ev", .with_value = "lj", .glued = "O", .ends = "-v"},
    {.names = "tclsh", .words = "-encoding="},
    {.names = "expect", .flags = "bdfnNv", .ends = "-v"},
    {.names = "Rscript",
     .words = "--default-packages[= --no-echo --no-environ --no-init-file --no-restore --no-save "
              "--no-site-file --quiet --restore --save --slave --vanilla --verbose --version",
     .ends = "--version"},
    {.names = "R",
     .words = "--file= --help --no-echo --no-environ --no-init-file --no-readline --no-restore "
              "--no-save --no-site-file --quiet --save --silent --slave --vanilla --version -f= -q "
              "-s CMD",
     .ends = "--file --help --version -f CMD",
     .reads_always = true},
    {.names = "guile",
     .words = "--auto-compile --fresh-auto-compile --help --no-auto-compile --version -L= -q -s",
     .ends = "--help --version"},
    {.names = "osascript", .words = "-l= -s="},
    {.names = "julia",
     .flags = "hqv",
     .with_value = "CHJLpt",
     .words = "--banner= --check-bounds= --code-coverage[= --color= --compile= "
              "--compiled-modules= --cpu-target= --depwarn= --gcthreads= --heap-size-hint= --help "
              "--history-file= --inline= --load= --math-mode= --optimize[= --procs= --project[= "
              "--quiet --startup-file= --sysimage= --threads= --track-allocation[= --version "
              "--warn-overwrite= -O0 -O1 -O2 -O3 -g0 -g1 -g2",
     .ends = "-h -v --help --version"},
    {.names = "octave octave-cli",
     .flags = "HWfhqv",
     .with_value = "p",
     .words = "--help --no-gui --no-history --no-init-file --no-window-system --norc --path= "
              "--quiet --silent --traditional --version",
     .ends = "-h -v --help --version"},
    {.names = "elixir",
     .words = "--cookie= --hidden --name= --no-halt --short-version --sname= --version -S -pa= "
              "-pz= -r= -v",
     .ends = "--short-version --version -v"},
    {.names = "erl", .reads_always = true},
    {.names = "groovy",
     .glued = "D",
     .words = "--classpath= --encoding= --help --version -classpath= -cp= -h -v",
     .ends = "--help --version -h -v"},
    {.names = "scala",
     .glued = "DJ",
     .words = "--class-path= --classpath= --help --version -classpath= -cp= -help -nc -version",
     .ends = "--help --version -help -version"},
    {.names = "clojure clj",
     .glued = "AM",
     .words = "--help --main= --version -P -Sforce -Srepro -h -m= -version",
     .ends = "--help --main --version -P -h -m -version"},
    {.names = "sbcl",
     .words = "--control-stack-size= --core= --disable-debugger --dynamic-space-size= --help "
              "--no-sysinit --no-userinit --noinform --non-interactive --script= --version",
     .ends = "--help --script --version",
     .reads_always = true},
    {.names = "racket", .flags = "qv", .with_value = "W", .ends = "-v"},
    {.names = "pwsh powershell",
     .words = "--help --version -ExecutionPolicy= -File -InputFormat= -Login -MTA -NoLogo "
              "-NoProfile -NonInteractive -OutputFormat= -STA -WorkingDirectory= -ep= -ex= "
              "-executionpolicy= -f -file -nologo -noninteractive -nop -noprofile -wd=",
     .ends = "--help --version"},
    {.names = "ipython",
     .words = "--no-banner --quick --simple-prompt --version",
     .ends = "--version"},
    {.names = "nu",
     .words = "--config= --env-config= --help --login --no-config-file --no-std-lib --stdin "
              "--version -h -l -n -v",
     .ends = "--help --version -h -v"},
    {.names = "xonsh", .words = "--no-rc --version", .ends = "--version"},
    {.names = "elvish", .words = "-compileonly -norc -version", .ends = "-version"},
});

bool is_named(std::string_view list, std::string_view word) {
  return kind_in(list, word, false) == OptionKind::flag;
}

const KnownOptions& known_of(const Interpreter& interpreter) {
  static constexpr KnownOptions k_none{.names = {}};
  const auto* const found = std::ranges::find_if(
      k_known, [&](const KnownOptions& row) { return is_named(row.names, interpreter.name); });
  return found == k_known.end() ? k_none : *found;
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_:,=.-").contains(c);
  });
}

// And no address that holds the code itself.
bool is_module(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_plain_name({&c, 1}) ? c != ':' && c != ',' : c == '/' || c == '@';
  });
}

class OptionsReader {
 public:
  OptionsReader(const Interpreter& interpreter, std::span<const std::string> words)
      : code_(interpreter), known_(known_of(interpreter)), words_(words) {}

  ToldProgram read() {
    while (told_.at < words_.size() && is_in_front(words_[told_.at])) {
      const std::string_view word = words_[told_.at++];
      if (word == "--") {
        break;
      }
      if (const auto what = read_option(word)) {
        told_.what = *what;
        return std::move(told_);
      }
    }
    if (!is_ended_ && (told_.at >= words_.size() || known_.reads_always)) {
      told_.what = What::input;
    } else if (told_.at >= words_.size()) {
      told_.what = What::nothing;
    }
    return std::move(told_);
  }

 private:
  bool is_in_front(std::string_view word) const {
    return (word.size() > 1 && word.front() == '-') || is_named(code_.words, word) ||
           is_named(known_.words, word);
  }

  // Nothing: the option is known, and no code.
  std::optional<What> read_option(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    std::optional<What> what;
    if (const OptionKind kind = kind_of(word, name, has_value); kind != OptionKind::unknown) {
      note_end(name);
      what = has_value                        ? take(word.substr(equals + 1))
             : kind == OptionKind::with_value ? take_next()
                                              : std::nullopt;
    } else if (is_named(known_.with_module, name)) {
      what = has_value ? take(word.substr(equals + 1)) : take_next();
      what = what || is_module(told_.values.back()) ? what : What::code;
    } else if (is_named(code_.words, name)) {
      return What::code;
    } else {
      what = word.starts_with("--") ? What::unknown : read_letters(word);
    }
    // Some read a blank as the end of an option, and what is behind it as the next.
    const bool is_whole =
        !has_unknown(word) && word.find_first_of(" \t\r\n") == std::string_view::npos;
    return what || is_whole ? what : What::unknown;
  }

  OptionKind kind_of(std::string_view word, std::string_view name, bool has_value) const {
    constexpr std::string_view k_no = "--no-";
    if (is_named(known_.words, word)) {
      return OptionKind::flag;
    }
    const OptionKind kind = kind_in(known_.words, name, has_value);
    const bool is_no = kind == OptionKind::unknown && known_.is_negated && word.starts_with(k_no);
    return is_no ? kind_in(known_.words, "--" + std::string(word.substr(k_no.size())), false)
                 : kind;
  }

  void note_end(std::string_view option) { is_ended_ = is_ended_ || is_named(known_.ends, option); }

  std::optional<What> take(std::string_view value) {
    told_.values.push_back(value);
    return std::nullopt;
  }
  // A word that is not whole yet may be more than one.
  std::optional<What> take_next() {
    if (told_.at >= words_.size() || has_unknown(words_[told_.at])) {
      return What::unknown;
    }
    return take(words_[told_.at++]);
  }

  std::optional<What> read_letters(std::string_view word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const char letter = word[at];
      const std::string_view rest = word.substr(at + 1);
      note_end(std::string{'-', letter});
      told_.reads_more = told_.reads_more || code_.asks.contains(letter);
      if (code_.letters.contains(letter)) {
        return What::code;
      }
      if (letter == known_.module && letter != '\0') {
        return read_module(rest);
      }
      if (known_.with_name.contains(letter)) {
        return read_name(rest);
      }
      if (known_.with_value.contains(letter)) {
        return rest.empty() ? take_next() : take(rest);
      }
      if (known_.glued.contains(letter)) {
        return std::nullopt;
      }
      if (!known_.flags.contains(letter) && !code_.asks.contains(letter)) {
        return What::unknown;
      }
    }
    return std::nullopt;
  }

  std::optional<What> read_module(std::string_view name) {
    if (name.empty() && take_next() != std::nullopt) {
      return What::unknown;
    }
    told_.module = name.empty() ? told_.values.back() : name;
    return What::module;
  }

  std::optional<What> read_name(std::string_view name) {
    if (name.empty() && take_next() != std::nullopt) {
      return What::unknown;
    }
    return is_plain_name(name.empty() ? told_.values.back() : name) ? std::nullopt
                                                                    : std::optional(What::code);
  }

  const Interpreter& code_;
  const KnownOptions& known_;
  std::span<const std::string> words_;
  ToldProgram told_;
  bool is_ended_ = false;  // it reads no program from its input
};

}  // namespace

ToldProgram told_program(const Interpreter& interpreter, std::span<const std::string> words) {
  return OptionsReader(interpreter, words).read();
}

}  // namespace tools
