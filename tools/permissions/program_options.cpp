#include "tools/permissions/program_options.h"

#include "tools/permissions/shell_programs.h"
#include "tools/permissions/shell_script.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace tools {
namespace {

// What the words that are no options are to a program.
enum class Operands : std::uint8_t {
  any,         // data
  none,        // not to be covered
  one,         // data, one of them; a second would be written
  remote,      // the first names something far away; a path there may run programs
  subcommand,  // the first has a row of its own
  program,     // the first is a program, the rest are its words
  source,      // the first is a file to be run, the rest are its words; without one, it reads it
  sed,         // the first is a script
  awk,         // likewise
};

// Letters, and longer options between blanks: "--reverse --key= -name=". One that ends in `=` takes
// a value, in the same word or the next one; in `[=`, in the same word if at all.
struct ProgramOptions {
  std::string_view name;        // "git log": of a subcommand
  std::string_view flags;       // harmless letters
  std::string_view with_value;  // harmless letters that take a value
  std::string_view words;       // harmless longer options
  // Not harmless: first letters, then longer options; those that take a value, and the others. To
  // be named where it matters which of the words behind them is which.
  std::string_view needs_value;
  std::string_view acts_alone;
  // Behind these stands a program with its words, up to a `;`.
  std::string_view runs;
  Operands operands = Operands::any;
  std::size_t skips = 0;             // operands in front of a program
  std::string_view never_in = {};    // characters that no covered operand or value holds
  bool has_single_dash = false;      // `-name` is one option, not four letters
  bool begins_with_letters = false;  // `tar xf`
  bool runs_operands = false;        // its words are more than data
};

constexpr std::string_view k_diff_words =
    "--stat[= --shortstat --numstat --name-only --name-status --summary --patch --no-patch --raw "
    "--color[= --no-color --word-diff[= --word-diff-regex= --color-words[= --cached --staged "
    "--no-index --merge-base --no-renames --find-renames[= --find-copies[= --find-copies-harder "
    "--minimal "
    "--patience --histogram --diff-algorithm= --unified= --inter-hunk-context= --ignore-all-space "
    "--ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol "
    "--function-context --exit-code --quiet --check --diff-filter= --no-prefix --src-prefix= "
    "--dst-prefix= --full-index --abbrev[= --binary --relative[= --no-relative --text "
    "--submodule[= --no-ext-diff --no-textconv --dirstat[= --compact-summary --pickaxe-regex "
    "--pickaxe-all --patch-with-stat --no-indent-heuristic --indent-heuristic "
    "--ita-invisible-in-index";
constexpr std::string_view k_log_words =
    "--oneline --graph --decorate[= --no-decorate --all --branches[= --tags[= --remotes[= --follow "
    "--reverse --max-count= --skip= --since= --until= --after= --before= --author= --committer= "
    "--grep= --invert-grep --all-match --regexp-ignore-case --perl-regexp --extended-regexp "
    "--fixed-strings --merges --no-merges --first-parent --format= --pretty[= --date= "
    "--abbrev-commit "
    "--no-abbrev-commit --topo-order --date-order --author-date-order --cherry-pick --cherry "
    "--cherry-mark "
    "--left-right --left-only --right-only --ancestry-path --simplify-by-decoration --full-history "
    "--walk-reflogs --notes[= --no-notes --source --parents --children --boundary "
    "--no-walk[= --log-size --relative-date --encoding= --show-pulls --clear-decorations "
    "--decorate-refs= --decorate-refs-exclude= --exclude= --not --count "
    "--stat[= --shortstat --numstat --name-only --name-status --summary --patch --no-patch --raw "
    "--color[= --no-color --word-diff[= --find-renames[= --find-copies[= --no-renames --minimal "
    "--unified= --ignore-all-space --ignore-space-change --ignore-blank-lines --function-context "
    "--diff-filter= --full-index --abbrev[= --binary --no-ext-diff --no-textconv --patience "
    "--histogram --pickaxe-regex --pickaxe-all --diff-merges= --cc --full-diff";

constexpr auto k_programs = std::to_array<ProgramOptions>({
    // ---- files in, text out ----
    {.name = "sort",
     .flags = "bdfgiMhnRrVcCmsuz",
     .with_value = "ktS",
     .words = "--ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
              "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort "
              "--reverse --version-sort --check[= --key= --merge --stable --field-separator= "
              "--unique --zero-terminated --parallel= --buffer-size= --sort= --debug",
     .needs_value = "To --output --compress-program --temporary-directory --files0-from"},
    {.name = "uniq",
     .flags = "cdDiuz",
     .with_value = "fsw",
     .words = "--count --repeated --all-repeated[= --skip-fields= --group[= --ignore-case "
              "--skip-chars= --unique --zero-terminated --check-chars=",
     .operands = Operands::one},
    {.name = "shuf", .flags = "erz", .with_value = "in", .words = "--echo --repeat --head-count="},
    {.name = "tree", .flags = "adfilDhpsugFrtcnCAJ0123456789", .with_value = "LPI"},
    {.name = "split", .operands = Operands::none},
    {.name = "csplit", .operands = Operands::none},
    {.name = "xxd", .flags = "abceEipu", .with_value = "cglos", .operands = Operands::one},
    {.name = "iconv",
     .flags = "cls",
     .with_value = "ft",
     .words = "--from-code= --to-code= --list"},
    {.name = "yq", .flags = "PrCMNnj0", .words = "--prettyPrint --unwrapScalar --null-input"},
    {.name = "xmllint",
     .words = "--noout --format --xpath= --valid --schema= --recover --version",
     .has_single_dash = true},
    {.name = "sed",
     .flags = "nErsuz",
     .with_value = "el",
     .words =
         "--quiet --silent --regexp-extended --expression= --separate --unbuffered --null-data "
         "--posix --debug --sandbox --line-length=",
     .needs_value = "f --file",
     .acts_alone = "i --in-place",
     .operands = Operands::sed},
    {.name = "awk", .with_value = "Fv", .needs_value = "Eilf", .operands = Operands::awk},
    {.name = "gawk", .with_value = "Fv", .needs_value = "Eilf", .operands = Operands::awk},
    {.name = "mawk", .with_value = "Fv", .needs_value = "fW", .operands = Operands::awk},
    {.name = "nawk", .with_value = "Fv", .needs_value = "f", .operands = Operands::awk},
    {.name = "original-awk", .with_value = "Fv", .needs_value = "f", .operands = Operands::awk},
    {.name = "less", .flags = "NSRFXiIMEe", .never_in = "+"},
    {.name = "more", .operands = Operands::none},
    {.name = "man", .flags = "kfw", .words = "--apropos --whatis --where --path"},
    {.name = "rg",
     .flags = "ivnlLcwxoFUSsHNIuauhpqP0",
     .with_value = "ABCegtTmMjrdE",
     .words = "--files --files-with-matches --files-without-match --count --count-matches "
              "--ignore-case --smart-case --case-sensitive --line-number --no-line-number "
              "--fixed-strings --word-regexp --invert-match --only-matching --hidden --no-ignore "
              "--no-heading --heading --glob= --iglob= --type= --type-not= --max-count= --context= "
              "--after-context= --before-context= --color= --json --stats --sort= --max-depth= "
              "--multiline --pcre2 --regexp= --replace= --null --vimgrep --with-filename "
              "--no-filename --quiet --text --type-list --follow"},
    {.name = "fd",
     .flags = "HIisgapFL0u1",
     .with_value = "dteEc",
     .words =
         "--hidden --no-ignore --type= --extension= --max-depth= --min-depth= --exclude= --glob "
         "--full-path --absolute-path --fixed-strings --color= --print0",
     .runs = "-x -X --exec --exec-batch"},
    {.name = "fdfind",
     .flags = "HIisgapFL0u1",
     .with_value = "dteEc",
     .words =
         "--hidden --no-ignore --type= --extension= --max-depth= --min-depth= --exclude= --glob "
         "--full-path --absolute-path --fixed-strings --color= --print0",
     .runs = "-x -X --exec --exec-batch"},
    {.name = "find",
     .flags = "",
     .words =
         "-H -L -P -amin= -and -a -anewer= -atime= -cmin= -cnewer= -ctime= -daystart -depth "
         "-d -empty -executable -false -follow -fstype= -gid= -group= -ilname= -iname= -inum= "
         "-ipath= -iregex= -iwholename= -links= -lname= -ls -maxdepth= -mindepth= -mmin= "
         "-mount -mtime= -name= -newer= -newermt= -newerct= -newerat= -nogroup -noleaf -nouser "
         "-not -or -o -path= -perm= -print -print0 -printf= -prune -quit -readable -regex= "
         "-regextype= -samefile= -size= -true -type= -uid= -used= -user= -wholename= -writable "
         "-xdev -xtype= -warn -nowarn",
     .runs = "-exec -execdir -ok -okdir",
     .has_single_dash = true},
    {.name = "test",
     .words = "-a -o -b -c -d -e -f -g -h -k -L -n -p -r -s -S -t -u -w -x -z -G -N -O -ef -nt -ot "
              "-eq -ne -lt -le -gt -ge",
     .has_single_dash = true},
    {.name = "[",
     .words = "-a -o -b -c -d -e -f -g -h -k -L -n -p -r -s -S -t -u -w -x -z -G -N -O -ef -nt -ot "
              "-eq -ne -lt -le -gt -ge",
     .has_single_dash = true},
    {.name = "printf"},
    {.name = "date",
     .flags = "uRI",
     .with_value = "dr",
     .words = "--date= --utc --iso-8601[= --rfc-3339= --reference= --universal"},
    {.name = "file",
     .flags = "bhikLNnprsv0",
     .words = "--brief --mime --mime-type --mime-encoding --dereference"},

    // ---- archives and transfers ----
    {.name = "tar",
     .flags = "tvzjJkpaO",
     .with_value = "f",
     .words =
         "--list --verbose --file= --gzip --bzip2 --xz --to-stdout --exclude= --strip-components= "
         "--wildcards --no-wildcards --force-local --full-time",
     .needs_value = "CIFbgHKLNTVX",
     .never_in = ":",
     .begins_with_letters = true},
    {.name = "zip", .flags = "rq0123456789jyv", .words = "--recurse-paths --quiet"},
    {.name = "unzip", .flags = "lqvtpZz"},
    {.name = "curl",
     .flags = "sSfLIvgiN46#",
     .with_value = "HAem",
     .words = "--silent --show-error --fail --fail-with-body --location --head --verbose --include "
              "--header= --user-agent= --referer= --max-time= --connect-timeout= --retry= "
              "--retry-delay= --compressed --ipv4 --ipv6 --http1.1 --http2 --no-progress-meter "
              "--globoff --no-buffer --version --help",
     .never_in = "@"},
    {.name = "wget",
     .flags = "qvSN46",
     .with_value = "tTwU",
     .words =
         "--quiet --verbose --no-verbose --server-response --spider --tries= --timeout= --wait= "
         "--user-agent= --timestamping --version --help"},
    {.name = "rsync",
     .flags = "avrtpogDzhnPcuWxHAXlLi",
     .words =
         "--archive --verbose --recursive --dry-run --progress --stats --exclude= --include= "
         "--human-readable --checksum --update --itemize-changes --list-only --compress --partial",
     .never_in = ":"},
    {.name = "ssh", .flags = "46aCnqTtvx", .with_value = "pl", .runs_operands = true},
    {.name = "scp", .flags = "pqrvC346", .with_value = "Pl"},
    {.name = "sftp", .flags = "46aCpqrv", .with_value = "Pl"},
    {.name = "go",
     .words = "-v -race -run= -count= -short -timeout= -cover -json -bench= -benchmem -tags= -n -x "
              "-parallel= -failfast -list= -u -m -a -trimpath",
     .has_single_dash = true},
    {.name = "hg"},
    {.name = "svn"},
    {.name = "nc", .operands = Operands::none},
    {.name = "ncat", .operands = Operands::none},
    {.name = "socat", .operands = Operands::none},
    {.name = "openssl", .operands = Operands::none},

    // ---- programs that run what they are given ----
    {.name = "env",
     .flags = "i0v",
     .words = "--ignore-environment --null --debug",
     .needs_value = "uC --unset --chdir",
     .operands = Operands::program,
     .never_in = "="},
    {.name = "nice",
     .flags = "0123456789",
     .with_value = "n",
     .words = "--adjustment=",
     .operands = Operands::program},
    {.name = "nohup", .operands = Operands::program},
    {.name = "time", .flags = "pv", .needs_value = "of", .operands = Operands::program},
    {.name = "timeout",
     .with_value = "ks",
     .words = "--kill-after= --signal= --preserve-status --foreground --verbose",
     .operands = Operands::program,
     .skips = 1},
    {.name = "command", .operands = Operands::program},
    {.name = "stdbuf", .with_value = "ioe", .operands = Operands::program},
    {.name = "ionice",
     .flags = "t",
     .with_value = "cn",
     .needs_value = "pPu",
     .operands = Operands::program},
    {.name = "setsid", .flags = "cfw", .operands = Operands::program},
    {.name = "sudo", .flags = "n", .needs_value = "ugpChrtTUDR", .operands = Operands::program},
    {.name = "doas", .flags = "n", .needs_value = "uC", .operands = Operands::program},
    {.name = "su", .operands = Operands::none},
    {.name = "runuser", .operands = Operands::none},
    {.name = "pkexec", .operands = Operands::program},
    {.name = "chroot", .operands = Operands::none},
    {.name = "unshare", .operands = Operands::none},
    {.name = "nsenter", .operands = Operands::none},
    {.name = "setpriv", .operands = Operands::none},
    {.name = "capsh", .operands = Operands::none},
    {.name = "systemd-run", .operands = Operands::none},
    {.name = "flock",
     .flags = "nsxu",
     .with_value = "wE",
     .words = "--nonblock --timeout=",
     .operands = Operands::none},
    {.name = "taskset", .flags = "c", .operands = Operands::program, .skips = 1},
    {.name = "watch", .flags = "tdeg", .with_value = "n", .operands = Operands::none},
    {.name = "strace",
     .flags = "fqtTyv",
     .with_value = "es",
     .needs_value = "aEIOpPSuUX",
     .operands = Operands::program},
    {.name = "ltrace", .operands = Operands::none},
    {.name = "valgrind",
     .flags = "qv",
     .words = "--quiet --leak-check= --error-exitcode= --track-origins= --show-leak-kinds= "
              "--num-callers=",
     .operands = Operands::none},
    {.name = "perf", .operands = Operands::none},
    {.name = "gdb", .operands = Operands::none},
    {.name = "busybox", .operands = Operands::none},
    {.name = "toybox", .operands = Operands::none},
    {.name = "xargs",
     .flags = "0rt",
     .with_value = "nLPds",
     .needs_value = "aEI",
     .operands = Operands::program},
    {.name = "parallel",
     .flags = "k",
     .with_value = "jn",
     .words = "--jobs= --keep-order --bar --halt=",
     .operands = Operands::none},
    {.name = "entr", .operands = Operands::none},
    {.name = "script", .operands = Operands::none},
    {.name = "npx", .flags = "y", .words = "--yes", .operands = Operands::none},
    {.name = "fakeroot", .operands = Operands::none},
    {.name = "start-stop-daemon", .operands = Operands::none},
    {.name = "make",
     .flags = "BijkLnqrRsSw0123456789",
     .words = "--jobs[= --keep-going --silent --quiet --dry-run --just-print --always-make "
              "--no-print-directory --print-directory --question --touch --debug[= --trace "
              "--output-sync[= --ignore-errors --version",
     .needs_value = "CfIlo --directory --file --makefile --include-dir --eval",
     .never_in = "=",
     .runs_operands = true},
    {.name = "at", .operands = Operands::none},
    {.name = "batch", .operands = Operands::none},
    {.name = "crontab", .operands = Operands::none},
    {.name = "vi", .operands = Operands::none},
    {.name = "vim", .operands = Operands::none},
    {.name = "view", .operands = Operands::none},
    {.name = "ed", .operands = Operands::none},
    {.name = "ex", .operands = Operands::none},
    {.name = "emacs", .operands = Operands::none},
    {.name = "nano", .operands = Operands::none},
    {.name = "nvim", .operands = Operands::none},
    {.name = "vimdiff", .operands = Operands::none},
    {.name = "tmux", .operands = Operands::none},
    {.name = "screen", .operands = Operands::none},
    {.name = "bun", .operands = Operands::none},
    {.name = "deno", .operands = Operands::none},
    {.name = "sqlite3", .operands = Operands::none},
    {.name = "psql", .operands = Operands::none},
    {.name = "mysql", .operands = Operands::none},
    {.name = "dc", .operands = Operands::none},
    {.name = "m4", .operands = Operands::none},
    {.name = "gnuplot", .operands = Operands::none},
    {.name = "tcpdump", .operands = Operands::none},
    {.name = "nmap", .operands = Operands::none},

    // ---- interpreters: a file to run ----
    {.name = "sh", .flags = "efnuvx", .needs_value = "oO", .operands = Operands::source},
    {.name = "bash",
     .flags = "efnuvx",
     .words = "--version --norc --noprofile --posix",
     .needs_value = "oO --rcfile --init-file",
     .operands = Operands::source},
    {.name = "dash", .flags = "efnuvx", .needs_value = "oO", .operands = Operands::source},
    {.name = "ash", .operands = Operands::source},
    {.name = "zsh", .operands = Operands::source},
    {.name = "ksh", .operands = Operands::source},
    {.name = "mksh", .operands = Operands::source},
    {.name = "yash", .operands = Operands::source},
    {.name = "posh", .operands = Operands::source},
    {.name = "rbash", .operands = Operands::source},
    {.name = "fish", .operands = Operands::source},
    {.name = "csh", .operands = Operands::source},
    {.name = "tcsh", .operands = Operands::source},
    {.name = "python",
     .flags = "BEIOPSbdqsuv",
     .words = "--version",
     .needs_value = "cm",
     .operands = Operands::source},
    {.name = "pypy",
     .flags = "BEIOSbdqsuv",
     .words = "--version",
     .needs_value = "cm",
     .operands = Operands::source},
    {.name = "perl", .flags = "cwWtT", .words = "--version", .operands = Operands::source},
    {.name = "ruby", .flags = "cwW", .words = "--version", .operands = Operands::source},
    {.name = "node",
     .flags = "c",
     .words = "--version --check --trace-warnings --no-warnings --enable-source-maps",
     .operands = Operands::source},
    {.name = "nodejs", .flags = "c", .words = "--check", .operands = Operands::source},
    {.name = "php", .flags = "l", .words = "--version", .operands = Operands::source},
    {.name = "lua", .flags = "W", .operands = Operands::source},
    {.name = "luajit", .operands = Operands::source},
    {.name = "tclsh", .operands = Operands::source},
    {.name = "expect", .operands = Operands::source},
    {.name = "Rscript", .words = "--vanilla", .operands = Operands::source},
    {.name = "guile", .operands = Operands::source},
    {.name = "osascript", .operands = Operands::source},
    {.name = "pwsh", .operands = Operands::source},
    {.name = "ts-node", .operands = Operands::source},
    {.name = "tsx", .operands = Operands::source},

    // ---- git ----
    {.name = "git",
     .flags = "P",
     .words = "--no-pager --no-optional-locks --literal-pathspecs --no-replace-objects --version",
     .needs_value = "Cc --git-dir --work-tree --namespace --exec-path --config-env --super-prefix",
     .operands = Operands::subcommand},
    {.name = "git add",
     .flags = "AunvfN",
     .words = "--all --update --dry-run --verbose --intent-to-add --force --no-all --ignore-errors "
              "--renormalize"},
    {.name = "git blame",
     .flags = "wlsctefnpbCM",
     .with_value = "L",
     .words = "--porcelain --line-porcelain --date= --show-email --show-name --show-number --root "
              "--since="},
    {.name = "git branch",
     .flags = "arvlqi",
     .words =
         "--all --remotes --list --verbose --show-current --contains= --no-contains= --merged[= "
         "--no-merged[= --sort= --format= --points-at= --color[= --no-color --column[= --quiet"},
    {.name = "git cat-file", .flags = "tsep"},
    {.name = "git check-ignore", .flags = "qvnz", .words = "--quiet --verbose --no-index"},
    {.name = "git checkout",
     .flags = "ql",
     .with_value = "bB",
     .words = "--quiet --detach --ours --theirs --track[= --no-track --progress --no-progress"},
    {.name = "git cherry-pick",
     .flags = "nx",
     .with_value = "m",
     .words = "--continue --abort --skip --quit --no-commit --mainline= --allow-empty"},
    {.name = "git clean", .flags = "n", .words = "--dry-run"},
    {.name = "git commit",
     .flags = "aqvs",
     .with_value = "m",
     .words = "--all --message= --amend --no-edit --quiet --allow-empty --allow-empty-message "
              "--signoff --verbose --dry-run --fixup= --squash= --date= --only --status "
              "--no-status --short --no-signoff"},
    {.name = "git describe",
     .words = "--all --tags --always --dirty[= --long --abbrev= --match= --exact-match --contains "
              "--first-parent"},
    {.name = "git diff",
     .flags = "upswbaRzMCDB0123456789W",
     .with_value = "USG",
     .words = k_diff_words},
    {.name = "git diff-tree", .flags = "rpstmczRM", .words = k_diff_words},
    {.name = "git fetch",
     .flags = "aptnvqf46",
     .with_value = "j",
     .words = "--all --prune --tags --no-tags --dry-run --verbose --quiet --depth= --unshallow "
              "--force --prune-tags --jobs= --progress",
     .operands = Operands::remote},
    {.name = "git for-each-ref",
     .words = "--count= --sort= --format= --points-at= --merged[= --no-merged[= --contains[= "
              "--no-contains[= --ignore-case"},
    {.name = "git grep",
     .flags = "iIwvhHEGFPnlLzcpWaoq",
     .with_value = "eABCm",
     .words = "--cached --untracked --no-index --ignore-case --word-regexp --invert-match "
              "--extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number "
              "--files-with-matches --count --color[= --no-color --heading --break --show-function "
              "--function-context --context= --and --or --not --all-match --quiet --max-depth= "
              "--name-only --only-matching --column"},
    {.name = "git log",
     .flags = "upswbaRzgiEFPmcMC0123456789",
     .with_value = "nSGLU",
     .words = k_log_words},
    {.name = "git ls-files",
     .flags = "cdmoisutvzk",
     .with_value = "xX",
     .words = "--cached --deleted --modified --others --ignored --stage --unmerged --killed "
              "--exclude-standard --exclude= --full-name --error-unmatch --abbrev[= --eol "
              "--directory --deduplicate"},
    {.name = "git ls-tree",
     .flags = "drtlz",
     .words = "--name-only --name-status --long --full-name --full-tree --abbrev[= --object-only"},
    {.name = "git merge",
     .flags = "nqv",
     .with_value = "m",
     .words = "--no-commit --commit --ff --no-ff --ff-only --squash --abort --continue --quit "
              "--stat --no-stat --log[= --no-log --quiet --verbose --no-edit --signoff "
              "--allow-unrelated-histories"},
    {.name = "git merge-base",
     .flags = "a",
     .words = "--all --octopus --is-ancestor --fork-point --independent"},
    {.name = "git mv", .flags = "knv", .words = "--dry-run --verbose"},
    {.name = "git pull",
     .flags = "qvn",
     .words = "--quiet --verbose --ff-only --no-ff --ff --rebase --no-rebase --tags --all --prune "
              "--no-commit --no-edit --autostash --no-autostash --stat --dry-run",
     .operands = Operands::remote},
    {.name = "git push",
     .flags = "nquv",
     .words = "--dry-run --quiet --verbose --set-upstream --tags --follow-tags --porcelain "
              "--progress --atomic --all",
     .acts_alone = "fd --force --force-with-lease --delete --mirror --prune",
     .operands = Operands::remote},
    {.name = "git rebase",
     .flags = "qv",
     .words = "--continue --abort --skip --quit --onto= --autostash --no-autostash --quiet "
              "--verbose --stat --no-stat --update-refs --keep-empty"},
    {.name = "git reflog",
     .flags = "n0123456789",
     .words = "--oneline --all --date= --format= --pretty[= --max-count=",
     .operands = Operands::none},  // `expire`, `delete`
    {.name = "git remote", .flags = "v", .words = "--verbose", .operands = Operands::none},
    {.name = "git reset", .flags = "qN", .words = "--soft --mixed --quiet --no-refresh"},
    {.name = "git restore",
     .flags = "SWq",
     .with_value = "s",
     .words = "--staged --worktree --source= --quiet --ours --theirs --progress"},
    {.name = "git rev-list", .flags = "n0123456789", .words = k_log_words},
    {.name = "git rev-parse",
     .words = "--abbrev-ref[= --verify --short[= --quiet --show-toplevel --git-dir "
              "--is-inside-work-tree --is-bare-repository --show-prefix --show-cdup --symbolic "
              "--symbolic-full-name --all --branches[= --tags[= --absolute-git-dir "
              "--git-common-dir --show-object-format[="},
    {.name = "git revert",
     .flags = "ns",
     .with_value = "m",
     .words = "--continue --abort --skip --quit --no-commit --no-edit --mainline= --signoff"},
    {.name = "git rm",
     .flags = "nrq",
     .words = "--cached --dry-run --quiet --ignore-unmatch",
     .runs_operands = true},
    {.name = "git shortlog", .flags = "nsec", .words = k_log_words},
    {.name = "git show",
     .flags = "upswbaRzmcMC0123456789",
     .with_value = "nSGU",
     .words = k_log_words},
    {.name = "git show-ref",
     .flags = "dhqs",
     .words = "--head --tags --heads --verify --quiet --hash[= --abbrev[= --dereference"},
    {.name = "git stash",
     .flags = "akpqu",
     .with_value = "m",
     .words = "--all --keep-index --patch --quiet --include-untracked --message= --staged --index "
              "--stat --oneline"},
    {.name = "git status",
     .flags = "sbvz",
     .with_value = "u",
     .words = "--short --branch --long --verbose --porcelain[= --untracked-files[= --ignored[= "
              "--show-stash --ahead-behind --no-ahead-behind --renames --no-renames --column[= "
              "--no-column --find-renames[="},
    {.name = "git switch",
     .flags = "qd",
     .with_value = "cC",
     .words = "--create= --force-create= --detach --quiet --track[= --no-track --guess --no-guess "
              "--orphan="},
    {.name = "git tag",
     .flags = "aln",
     .with_value = "m",
     .words = "--list --annotate --message= --sort= --contains[= --no-contains[= --merged[= "
              "--no-merged[= --points-at= --format= --column[= --color[="},
});

// Programs that do nothing but show or arrange data, whatever their options. Not those that give a
// file another name: it may be a program.
constexpr auto k_plain_programs = std::to_array<std::string_view>(
    {":",    "basename", "cd",      "type",      "cat",     "cmp",   "comm",     "cut",
     "df",   "diff",     "dirname", "du",        "echo",    "egrep", "false",    "fgrep",
     "fmt",  "fold",     "grep",    "head",      "hexdump", "id",    "jq",       "join",
     "ls",   "md5sum",   "nl",      "od",        "paste",   "pwd",   "readlink", "realpath",
     "rev",  "seq",      "sha1sum", "sha256sum", "sleep",   "stat",  "strings",  "tac",
     "tail", "tr",       "true",    "wc",        "whereis", "which", "whoami"});

const ProgramOptions* find_options(std::string_view name) {
  const auto found = std::ranges::find(k_programs, name, &ProgramOptions::name);
  return found == k_programs.end() ? nullptr : &*found;
}

// "python" of "/usr/bin/python3.11"; the name itself where that has a row ("m4").
const ProgramOptions* find_program(std::string_view program) {
  const std::string_view name = base_name(program);
  const ProgramOptions* row = find_options(name);
  const std::size_t last = name.find_last_not_of("0123456789.");
  return row != nullptr || last == std::string_view::npos ? row
                                                          : find_options(name.substr(0, last + 1));
}

// Between two marks; a set in brackets holds none.
std::string between(char mark) {
  const std::string m = RE2::QuoteMeta(std::string_view(&mark, 1));
  return R"((?:[^\\\n\[\x01\x02)" + m + R"(]|\\[^\n\x01\x02]|\[\^?\]?[^\]\\\n\x01\x02)" + m +
         "]*\\])*";
}

// Lines, texts, jumps and replacements, and no more: not `w`, `e`, `r`, nor the flags of `s` that
// do the same.
bool is_harmless_sed(std::string_view script) {
  static const RE2 pattern([] {
    const std::string address = R"((?:\d+(?:~\d+)?|\$|/)" + between('/') + "/I?)";
    std::string command =
        "[pdDPgGhHxnNlzFqQ=]|[qQ] ?\\d+|[btT](?: ?[A-Za-z0-9_]+)?"
        "|:[A-Za-z0-9_]+|[aic] *\\\\?\n?[^\\\\\n\\x01\\x02]*";
    for (const char mark : std::string_view("/|,#:@!%")) {
      const std::string m = RE2::QuoteMeta(std::string_view(&mark, 1));
      const std::string part = between(mark) + m;
      const std::string text = R"((?:[^\\\n\x01\x02)" + m + R"(]|\\[^\x01\x02])*)" + m;
      command += "|s" + m + part + text + "[gpiImM0-9]*|y" + m + text + text;
    }
    const std::string place =
        "(?:" + address + "(?: *, *" + R"((?:[+~]\d+|)" + address + "))?)? *!? *";
    const std::string comment = R"(#[^\n\x01\x02]*(?:\n|$))";
    return R"((?:[ \t\n;}]|)" + comment + "|" + place + R"(\{|)" + place + "(?:" + command +
           R"()[ \t]*(?:[;\n}]|$|)" + comment + "))*";
  }());
  return RE2::FullMatch(script, pattern);
}

// What `--format` and `--pretty` of git show, and no more: a signature would be looked at by a
// program that the repository names.
bool is_harmless_format(std::string_view format) {
  static const RE2 pattern(
      R"((?:[^%\x01\x02]|%[-+ ]?[%aCcDdefbBhHnNpPsStTmwx<>|]|%\(\*?(?:HEAD|align|author[a-z]*|body|)"
      R"(color|committer[a-z]*|contents|creator[a-z]*|decorate|describe|else|end|if|numparent|)"
      R"(object[a-z]*|parent|push|refname|subject|symref|tag|tagger[a-z]*|then|trailers|tree|type|)"
      R"(upstream|worktreepath)(?::[a-zA-Z0-9_=,.:+%-]*)?\))*)");
  return RE2::FullMatch(format, pattern) && !format.contains("signature");
}

// Nothing that opens, pipes or calls by name.
bool is_harmless_awk(std::string_view script) {
  static const RE2 pattern(R"((?:[^|<>@\x01\x02\\]|\\[nrt"/.\\])*)");
  return RE2::FullMatch(script, pattern) && !script.contains("system") &&
         !script.contains("getline");
}

// Nor one that is sorted by.
bool is_harmless_key(std::string_view key) {
  static const RE2 pattern(R"([-*]?[a-zA-Z:]+)");
  return RE2::FullMatch(key, pattern) && !key.contains("signature");
}

bool is_remote_name(std::string_view word) {
  return std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

bool is_in_list(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) {
      return true;
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Of "fd --force".
bool has_letter(std::string_view list, char letter) {
  return !list.starts_with('-') && list.substr(0, list.find(' ')).contains(letter);
}

class CoverageReader {
 public:
  explicit CoverageReader(std::span<const std::string> words) : words_(words) {
    coverage_.words.assign(words.size(), true);
  }

  Coverage read() {
    row_ = find_program(words_.front());
    const bool looks_up =
        words_.size() > 1 && words_[0] == "command" && (words_[1] == "-v" || words_[1] == "-V");
    const bool asks_version = row_ != nullptr && words_.size() == 2 && words_[1] == "--version" &&
                              is_in_list(row_->words, words_[1]);
    coverage_.is_listed = row_ != nullptr;
    if (row_ == nullptr || looks_up || asks_version) {
      coverage_.is_data = looks_up || asks_version || is_plain_program(words_.front());
      return std::move(coverage_);
    }
    read_words();
    if (row_ == nullptr) {
      return std::move(coverage_);
    }
    const Operands kind = row_->operands;
    const bool reads_code = kind == Operands::source && operands_ == 0 && !has_code_;
    coverage_.runs_its_input = coverage_.runs_its_input || reads_code;
    coverage_.is_data = !is_nested_ && kind != Operands::source && kind != Operands::program &&
                        kind != Operands::none && !row_->runs_operands &&
                        std::ranges::all_of(coverage_.words, std::identity());
    return std::move(coverage_);
  }

 private:
  enum class Harm : std::uint8_t { unknown, alone, with_value };

  void cover(bool may) { coverage_.words[at_] = may; }
  void refuse_rest() {
    std::fill(
        coverage_.words.begin() + static_cast<std::ptrdiff_t>(at_), coverage_.words.end(), false);
    is_over_ = true;
  }

  void read_words() {
    for (at_ = 1; at_ < words_.size() && !is_over_; ++at_) {
      const std::string_view word = words_[at_];
      if (row_->begins_with_letters && at_ == 1 && !word.starts_with('-')) {
        read_bundle(word);
      } else if (word.size() < 2 || word.front() != '-') {
        read_operand(word);
      } else if (only_operands_) {
        cover(false);  // some programs read options behind `--`, too
      } else if (word == "--") {
        read_end_of_options();
      } else if (word.starts_with("--") || row_->has_single_dash) {
        read_long_option(word);
      } else {
        read_letters(word.substr(1));
      }
    }
  }

  // Behind which an interpreter may read its program from its input.
  void read_end_of_options() {
    only_operands_ = true;
    if (row_->operands == Operands::source) {
      refuse_option(Harm::unknown, false);
    }
  }

  void note_unknown(Harm harm) {
    const bool is_own = !is_nested_ && (row_->operands != Operands::none || operands_ == 0);
    coverage_.has_unknown = coverage_.has_unknown || (is_own && harm == Harm::unknown);
  }

  // An option that is not harmless. Where the order of the words matters, an unknown one may make
  // anything of what follows.
  void refuse_option(Harm harm, bool is_value_apart) {
    const std::string_view word = words_[at_];
    has_code_ = has_code_ || (row_->operands == Operands::sed && harm == Harm::with_value);
    cover(false);
    if (harm == Harm::with_value && is_value_apart && at_ + 1 < words_.size()) {
      ++at_;
      cover(row_->operands != Operands::source);
    }
    if (row_->operands == Operands::source) {
      is_source_known_ = false;
      // Python's `-c CODE` and `-m MODULE` end its options.
      is_over_ = harm == Harm::with_value && (word.ends_with('c') || word.ends_with('m'));
      has_code_ = is_over_;
    } else if (has_order() && row_->operands != Operands::one && harm == Harm::unknown) {
      refuse_rest();
    }
  }
  Harm harm_of(auto&& is_in) const {
    return is_in(row_->needs_value)  ? Harm::with_value
           : is_in(row_->acts_alone) ? Harm::alone
                                     : Harm::unknown;
  }

  bool has_order() const {
    return row_->operands != Operands::any && row_->operands != Operands::none;
  }
  // What a wildcard stands for may hold anything.
  bool is_value(std::string_view value) const {
    return row_->never_in.empty() ||
           (value.find_first_of(row_->never_in) == std::string_view::npos &&
            !value.contains(k_unknown_name));
  }
  bool is_value_of(std::string_view option, std::string_view value) const {
    const bool is_of_git = row_->name.starts_with("git ");
    return is_value(value) &&
           (!is_of_git || (option != "--format" && option != "--pretty") ||
            is_harmless_format(value)) &&
           (!is_of_git || option != "--sort" || is_harmless_key(value));
  }
  // In the next word. One that looks like an option may be one after all.
  void read_value(std::string_view option = {}) {
    if (at_ + 1 < words_.size()) {
      const std::string_view value = words_[++at_];
      const bool is_number = value.size() > 1 && value[1] >= '0' && value[1] <= '9';
      const bool is_one = !has_order() || !value.contains(k_unknown_name);
      cover((!value.starts_with('-') || value == "-" || is_number) && is_one &&
            is_value_of(option, value));
    }
  }

  void read_long_option(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    const std::string_view value = has_value ? word.substr(equals + 1) : std::string_view();
    const OptionKind kind = kind_in(row_->words, name, has_value);
    if (kind == OptionKind::unknown && is_in_list(row_->runs, name)) {
      note_unknown(Harm::unknown);
      read_run(value);
    } else if (kind == OptionKind::unknown) {
      const Harm harm = harm_of([&](std::string_view list) { return is_in_list(list, name); });
      note_unknown(harm);
      refuse_option(has_value && harm == Harm::unknown ? Harm::alone : harm, !has_value);
    } else if (row_->operands == Operands::sed && name == "--expression") {
      read_script(has_value ? value : next());
    } else if (has_value) {
      cover(is_value_of(name, value));
    } else if (kind == OptionKind::with_value) {
      read_value(name);
    }
  }

  // Of the words of what it runs a `*` covers what it covers elsewhere. `program` may stand in the
  // same word as the option.
  void read_run(std::string_view program) {
    cover(false);
    const std::size_t begin = at_ + 1;
    while (at_ + 1 < words_.size() && words_[at_ + 1] != ";" &&
           !(words_[at_ + 1] == "+" && words_[at_] == "{}")) {
      ++at_;
    }
    std::vector<std::string> run(words_.begin() + static_cast<std::ptrdiff_t>(begin),
                                 words_.begin() + static_cast<std::ptrdiff_t>(at_ + 1));
    const std::size_t apart = program.empty() ? 0 : 1;
    if (apart > 0) {
      run.emplace(run.begin(), program);
    }
    if (run.empty()) {
      return;
    }
    const ProgramOptions* const row = find_program(run.front());
    const bool is_deep = row != nullptr && !row->runs.empty();
    const Coverage inner =
        is_deep ? Coverage{.words = std::vector<bool>(run.size(), false)} : coverage_of(run);
    for (std::size_t i = 1; i < run.size(); ++i) {
      coverage_.words[begin + i - apart] = inner.words[i];
    }
    if (apart == 0) {
      coverage_.words[begin] = false;  // the program's name
    }
    coverage_.runs_its_input = coverage_.runs_its_input || inner.runs_its_input;
  }

  std::string_view next() {
    return at_ + 1 < words_.size() ? std::string_view(words_[++at_]) : std::string_view();
  }

  // `tvf`, whose values are the words behind it, each in its turn.
  void read_bundle(std::string_view letters) {
    cover(std::ranges::all_of(letters, [&](char letter) {
      return row_->flags.contains(letter) || row_->with_value.contains(letter);
    }));
    for (const char letter : letters) {
      if (row_->with_value.contains(letter)) {
        read_value();
      }
    }
  }

  void read_letters(std::string_view letters) {
    const std::size_t at = letters.find_first_not_of(row_->flags);
    if (at == std::string_view::npos) {
      return;
    }
    const char letter = letters[at];
    const std::string_view rest = letters.substr(at + 1);
    if (is_in_list(row_->runs, std::string{'-', letter})) {
      note_unknown(Harm::unknown);
      read_run(rest);
    } else if (!row_->with_value.contains(letter)) {
      const Harm harm = harm_of([&](std::string_view list) { return has_letter(list, letter); });
      note_unknown(harm);
      refuse_option(harm, rest.empty());
    } else if (row_->operands == Operands::sed && letter == 'e') {
      read_script(rest.empty() ? next() : rest);
    } else if (rest.empty()) {
      read_value();
    } else {
      cover(is_value(rest));
    }
  }

  void read_script(std::string_view script) {
    has_code_ = true;
    const bool is_harmless =
        row_->operands == Operands::sed ? is_harmless_sed(script) : is_harmless_awk(script);
    cover(is_harmless);
    coverage_.has_unknown = coverage_.has_unknown || !(is_harmless || is_nested_);
  }

  void read_operand(std::string_view word) {
    const bool is_first = operands_ == 0;
    operands_ += word.contains(k_unknown_name) ? 2 : 1;
    cover(is_value(word));
    switch (row_->operands) {
      case Operands::any:
        break;
      case Operands::none:
        cover(false);
        break;
      case Operands::one:
        cover(operands_ == 1);
        break;
      case Operands::remote:
        cover(!is_first || is_remote_name(word));
        break;
      case Operands::subcommand:
        read_subcommand(word);
        break;
      case Operands::program:
        read_program(word);
        break;
      case Operands::source:
        read_source(word);
        break;
      case Operands::sed:
      case Operands::awk:
        if (!has_code_) {
          read_script(word);
        }
        break;
    }
  }

  void read_subcommand(std::string_view word) {
    row_ = find_options(std::string(row_->name) + ' ' + std::string(word));
    operands_ = 0;
    only_operands_ = false;
    if (row_ == nullptr) {
      static constexpr ProgramOptions k_nothing{.operands = Operands::none};
      row_ = &k_nothing;
      refuse_rest();
    }
  }

  // It must stand in the rule, and so must what is set for it. Of its own words a `*` covers what
  // it covers elsewhere.
  void read_program(std::string_view word) {
    if (word.contains('=')) {
      cover(false);
      --operands_;
      return;
    }
    if (operands_ <= row_->skips) {
      return;
    }
    cover(false);
    const bool is_fed = row_->name == "xargs";
    row_ = find_program(word);
    // What xargs adds stands in no rule.
    coverage_.runs_its_input = coverage_.runs_its_input || (is_fed && row_ != nullptr);
    is_over_ = row_ == nullptr;
    is_nested_ = true;
    only_operands_ = false;
    operands_ = 0;
  }

  void read_source(std::string_view word) {
    if (word == "-" || word.starts_with('+') || word.starts_with("/dev/") ||
        word.starts_with("/proc/")) {
      cover(false);
      --operands_;
      return;
    }
    cover(is_source_known_);      // behind an option that nobody knows it may be code
    is_over_ = is_source_known_;  // the rest are its words
    is_source_known_ = true;
  }

  std::span<const std::string> words_;
  Coverage coverage_;
  const ProgramOptions* row_ = nullptr;
  std::size_t at_ = 0;
  std::size_t operands_ = 0;
  bool is_over_ = false;        // the rest needs no look
  bool only_operands_ = false;  // behind `--`
  bool is_nested_ = false;      // the row is that of a program which another one runs
  bool is_source_known_ = true;
  bool has_code_ = false;  // in an option, or behind one
};

}  // namespace

OptionKind kind_in(std::string_view list, std::string_view name, bool has_value) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view one = list.substr(0, end);
    const std::string_view rest = one.starts_with(name) ? one.substr(name.size()) : "no";
    if (rest == "=") {
      return OptionKind::with_value;
    }
    if (rest == "[=" || (rest.empty() && !has_value)) {
      return OptionKind::flag;
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return OptionKind::unknown;
}

bool is_plain_program(std::string_view program) {
  return std::ranges::find(k_plain_programs, base_name(program)) != k_plain_programs.end();
}

std::span<const std::string_view> plain_programs() {
  return k_plain_programs;
}

Coverage coverage_of(std::span<const std::string> words) {
  return CoverageReader(words).read();
}

}  // namespace tools
