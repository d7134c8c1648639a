# bash completion of errand; made by `errand completions bash`.

_errand_words() {
  local word
  for word in $1; do
    [[ $word = "$current"* ]] && COMPREPLY+=("$word")
  done
}

_errand_files() {
  local file
  compopt -o filenames 2>/dev/null
  while IFS= read -r file; do
    COMPREPLY+=("$file")
  done < <(compgen -f -- "$current")
}

_errand_directories() {
  local directory
  compopt -o filenames 2>/dev/null
  while IFS= read -r directory; do
    COMPREPLY+=("$directory")
  done < <(compgen -d -- "$current")
}

_errand_agents() {
  local file
  compopt -o filenames 2>/dev/null
  while IFS= read -r file; do
    if [[ -d $file || $file = *.yaml || $file = *.yml || $file = *.md ]]; then
      COMPREPLY+=("$file")
    fi
  done < <(compgen -f -- "$current")
}

# What stands before the cursor: the option that waits for its value, if there is one, and how many
# arguments that are no options.
_errand_scan() {
  local index word
  option='' position=0 dashes=no matched=yes
  for ((index = first; index < ${#words[@]}; ++index)); do
    word=${words[index]}
    if [[ -n $option ]]; then
      option=''
    elif [[ $dashes = no && $word = -- ]]; then
      dashes=yes
    elif [[ $dashes = no && $word = -?* ]]; then
      [[ $valued = *"|$word|"* ]] && option=$word
    else
      position=$((position + 1))
    fi
  done
}

_errand() {
  local current index command first option valued options position dashes matched
  local -a words=()
  COMPREPLY=()
  # bash makes words of their own of the = in --option=value
  for ((index = 1; index < COMP_CWORD; ++index)); do
    [[ ${COMP_WORDS[index]} = = ]] || words+=("${COMP_WORDS[index]}")
  done
  current=${COMP_WORDS[COMP_CWORD]}
  [[ $current = = ]] && current=''
  command=${words[0]-}
  first=1
  if [[ ${#words[@]} -eq 0 ]]; then
    _errand_words 'run resume fork batch check test init tools mcp policy models prices runs exit-codes doctor schema completions help --help --version'
    return
  fi
  if [[ $command = tools ]]; then
    if [[ ${#words[@]} -lt 2 ]]; then
      _errand_words 'list call'
      return
    fi
    command="tools ${words[1]}"
    first=2
  fi
  if [[ $command = mcp ]]; then
    if [[ ${#words[@]} -lt 2 ]]; then
      _errand_words 'list tools test call serve login logout lock'
      return
    fi
    command="mcp ${words[1]}"
    first=2
  fi
  if [[ $command = policy ]]; then
    if [[ ${#words[@]} -lt 2 ]]; then
      _errand_words 'check'
      return
    fi
    command="policy ${words[1]}"
    first=2
  fi
  if [[ $command = prices ]]; then
    if [[ ${#words[@]} -lt 2 ]]; then
      _errand_words 'show import'
      return
    fi
    command="prices ${words[1]}"
    first=2
  fi
  if [[ $command = runs ]]; then
    if [[ ${#words[@]} -lt 2 ]]; then
      _errand_words 'list show context pending export import rm prune doctor'
      return
    fi
    command="runs ${words[1]}"
    first=2
  fi
  case $command in
    'run')
      options='--prompt -p --prompt-file -f --param -P --use --use-arg --model -m --cwd -C --key-host --sandbox --timeout --max-turns --max-cost --output -o --output-file --allow --deny --yes --fail-on-denied --record --replay --session --from --only --no-session --quiet -q --verbose -v --log-file --color --help -h'
      valued='|-p|--prompt|-f|--prompt-file|-P|--param|--use|--use-arg|-m|--model|-C|--cwd|--key-host|--sandbox|--timeout|--max-turns|--max-cost|-o|--output|--output-file|--allow|--deny|--record|--replay|--session|--from|--only|--log-file|--color|'
      _errand_scan
      case $option in
        -p|--prompt) : ;;
        -f|--prompt-file) _errand_files ;;
        -P|--param) : ;;
        --use) : ;;
        --use-arg) : ;;
        -m|--model) : ;;
        -C|--cwd) _errand_directories ;;
        --key-host) : ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        --timeout) : ;;
        --max-turns) : ;;
        --max-cost) : ;;
        -o|--output) _errand_words 'text json jsonl' ;;
        --output-file) _errand_files ;;
        --allow) : ;;
        --deny) : ;;
        --record) _errand_files ;;
        --replay) _errand_files ;;
        --session) : ;;
        --from) : ;;
        --only) : ;;
        --log-file) _errand_files ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        *) : ;;
      esac
      ;;
    'resume')
      options='--last --agent --store --approve --reason --keep-grants --prompt-file -f --param -P --model -m --cwd -C --key-host --sandbox --timeout --max-turns --max-cost --output -o --output-file --allow --deny --yes --fail-on-denied --quiet -q --verbose -v --log-file --color --help -h'
      valued='|--agent|--store|--approve|--reason|-f|--prompt-file|-P|--param|-m|--model|-C|--cwd|--key-host|--sandbox|--timeout|--max-turns|--max-cost|-o|--output|--output-file|--allow|--deny|--log-file|--color|'
      _errand_scan
      case $option in
        --agent) _errand_agents ;;
        --store) _errand_files ;;
        --approve) : ;;
        --reason) : ;;
        -f|--prompt-file) _errand_files ;;
        -P|--param) : ;;
        -m|--model) : ;;
        -C|--cwd) _errand_directories ;;
        --key-host) : ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        --timeout) : ;;
        --max-turns) : ;;
        --max-cost) : ;;
        -o|--output) _errand_words 'text json jsonl' ;;
        --output-file) _errand_files ;;
        --allow) : ;;
        --deny) : ;;
        --log-file) _errand_files ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) : ;;
      esac
      ;;
    'fork')
      options='--at --last --session --agent --store --prompt-file -f --param -P --model -m --cwd -C --key-host --sandbox --timeout --max-turns --max-cost --output -o --output-file --allow --deny --yes --fail-on-denied --quiet -q --verbose -v --log-file --color --help -h'
      valued='|--at|--session|--agent|--store|-f|--prompt-file|-P|--param|-m|--model|-C|--cwd|--key-host|--sandbox|--timeout|--max-turns|--max-cost|-o|--output|--output-file|--allow|--deny|--log-file|--color|'
      _errand_scan
      case $option in
        --at) : ;;
        --session) : ;;
        --agent) _errand_agents ;;
        --store) _errand_files ;;
        -f|--prompt-file) _errand_files ;;
        -P|--param) : ;;
        -m|--model) : ;;
        -C|--cwd) _errand_directories ;;
        --key-host) : ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        --timeout) : ;;
        --max-turns) : ;;
        --max-cost) : ;;
        -o|--output) _errand_words 'text json jsonl' ;;
        --output-file) _errand_files ;;
        --allow) : ;;
        --deny) : ;;
        --log-file) _errand_files ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) : ;;
      esac
      ;;
    'batch')
      options='--input-format --parallel -j --ordered --failed --session --total-timeout --max-total-cost --max-failures --param -P --model -m --cwd -C --key-host --sandbox --timeout --max-turns --max-cost --allow --deny --yes --fail-on-denied --no-session --quiet -q --verbose -v --color --help -h'
      valued='|--input-format|-j|--parallel|--failed|--session|--total-timeout|--max-total-cost|--max-failures|-P|--param|-m|--model|-C|--cwd|--key-host|--sandbox|--timeout|--max-turns|--max-cost|--allow|--deny|--color|'
      _errand_scan
      case $option in
        --input-format) _errand_words 'lines jsonl csv' ;;
        -j|--parallel) : ;;
        --failed) _errand_files ;;
        --session) : ;;
        --total-timeout) : ;;
        --max-total-cost) : ;;
        --max-failures) : ;;
        -P|--param) : ;;
        -m|--model) : ;;
        -C|--cwd) _errand_directories ;;
        --key-host) : ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        --timeout) : ;;
        --max-turns) : ;;
        --max-cost) : ;;
        --allow) : ;;
        --deny) : ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) _errand_files ;;
        *) ;;
      esac
      ;;
    'check')
      options='--output -o --graph --key-host --color --help -h'
      valued='|-o|--output|--graph|--key-host|--color|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --graph) _errand_words 'text mermaid' ;;
        --key-host) : ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) _errand_agents ;;
      esac
      ;;
    'test')
      options='--jobs -j --live --repeat --baseline --tolerance --write-baseline --key-host --output -o --junit --quiet -q --color --help -h'
      valued='|-j|--jobs|--repeat|--baseline|--tolerance|--write-baseline|--key-host|-o|--output|--junit|--color|'
      _errand_scan
      case $option in
        -j|--jobs) : ;;
        --repeat) : ;;
        --baseline) _errand_files ;;
        --tolerance) : ;;
        --write-baseline) _errand_files ;;
        --key-host) : ;;
        -o|--output) _errand_words 'text json' ;;
        --junit) _errand_files ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) _errand_files ;;
      esac
      ;;
    'init')
      options='--force --help -h'
      valued=''
      _errand_scan
      case $option in
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        *) ;;
      esac
      ;;
    'tools list')
      options='--output -o --help -h'
      valued='|-o|--output|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        *) ;;
      esac
      ;;
    'tools call')
      options='--agent --sandbox --help -h'
      valued='|--agent|--sandbox|'
      _errand_scan
      case $option in
        --agent) _errand_agents ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_words 'apply_patch ask_user edit_file git_commit git_switch glob grep list_directory read_file read_result shell task_failed todo web_fetch write_file' ;;
        1) : ;;
        *) ;;
      esac
      ;;
    'mcp list')
      options='--output -o --key-host --help -h'
      valued='|-o|--output|--key-host|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --key-host) : ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        *) ;;
      esac
      ;;
    'mcp tools')
      options='--output -o --key-host --help -h'
      valued='|-o|--output|--key-host|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --key-host) : ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) : ;;
        *) ;;
      esac
      ;;
    'mcp test')
      options='--output -o --key-host --help -h'
      valued='|-o|--output|--key-host|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --key-host) : ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) : ;;
        *) ;;
      esac
      ;;
    'mcp call')
      options='--output -o --key-host --help -h'
      valued='|-o|--output|--key-host|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --key-host) : ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) : ;;
        2) : ;;
        *) ;;
      esac
      ;;
    'mcp serve')
      options='--parallel -j --tools --http --token-env --param -P --model -m --cwd -C --key-host --sandbox --timeout --max-turns --max-cost --allow --deny --yes --fail-on-denied --no-session --quiet -q --verbose -v --color --help -h'
      valued='|-j|--parallel|--tools|--http|--token-env|-P|--param|-m|--model|-C|--cwd|--key-host|--sandbox|--timeout|--max-turns|--max-cost|--allow|--deny|--color|'
      _errand_scan
      case $option in
        -j|--parallel) : ;;
        --tools) _errand_agents ;;
        --http) : ;;
        --token-env) : ;;
        -P|--param) : ;;
        -m|--model) : ;;
        -C|--cwd) _errand_directories ;;
        --key-host) : ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        --timeout) : ;;
        --max-turns) : ;;
        --max-cost) : ;;
        --allow) : ;;
        --deny) : ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) _errand_agents ;;
      esac
      ;;
    'mcp login')
      options='--port --key-host --help -h'
      valued='|--port|--key-host|'
      _errand_scan
      case $option in
        --port) : ;;
        --key-host) : ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) : ;;
        *) ;;
      esac
      ;;
    'mcp logout')
      options='--help -h'
      valued=''
      _errand_scan
      case $option in
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) : ;;
        *) ;;
      esac
      ;;
    'mcp lock')
      options='--check --key-host --help -h'
      valued='|--key-host|'
      _errand_scan
      case $option in
        --key-host) : ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        *) ;;
      esac
      ;;
    'policy check')
      options='--allow --deny --sandbox --output -o --help -h'
      valued='|--allow|--deny|--sandbox|-o|--output|'
      _errand_scan
      case $option in
        --allow) : ;;
        --deny) : ;;
        --sandbox) _errand_words 'read_only workspace_write off' ;;
        -o|--output) _errand_words 'text json' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_agents ;;
        1) _errand_words 'apply_patch ask_user edit_file git_commit git_switch glob grep list_directory read_file read_result shell task_failed todo web_fetch write_file' ;;
        2) : ;;
        *) ;;
      esac
      ;;
    'models')
      options='--remote --output -o --color --help -h'
      valued='|-o|--output|--color|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) : ;;
      esac
      ;;
    'prices show')
      options='--output -o --help -h'
      valued='|-o|--output|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) ;;
      esac
      ;;
    'prices import')
      options='--date --to --help -h'
      valued='|--date|--to|'
      _errand_scan
      case $option in
        --date) : ;;
        --to) _errand_files ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_files ;;
        *) ;;
      esac
      ;;
    'runs list')
      options='--all -a --agent --status --since --name --batch --limit -n --store --output -o --color --help -h'
      valued='|--agent|--status|--since|--name|--batch|-n|--limit|--store|-o|--output|--color|'
      _errand_scan
      case $option in
        --agent) : ;;
        --status) _errand_words 'ok failed stopped error cancelled running interrupted parked' ;;
        --since) : ;;
        --name) : ;;
        --batch) : ;;
        -n|--limit) : ;;
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) ;;
      esac
      ;;
    'runs show')
      options='--last --turn --store --output -o --color --help -h'
      valued='|--turn|--store|-o|--output|--color|'
      _errand_scan
      case $option in
        --turn) : ;;
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) ;;
      esac
      ;;
    'runs context')
      options='--last --at --store --output -o --color --help -h'
      valued='|--at|--store|-o|--output|--color|'
      _errand_scan
      case $option in
        --at) : ;;
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) ;;
      esac
      ;;
    'runs pending')
      options='--last --all -a --store --output -o --color --help -h'
      valued='|--store|-o|--output|--color|'
      _errand_scan
      case $option in
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) ;;
      esac
      ;;
    'runs export')
      options='--last --format --raw --test --output-file --store --help -h'
      valued='|--format|--output-file|--store|'
      _errand_scan
      case $option in
        --format) _errand_words 'jsonl markdown' ;;
        --output-file) _errand_files ;;
        --store) _errand_files ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) : ;;
        *) ;;
      esac
      ;;
    'runs import')
      options='--store --help -h'
      valued='|--store|'
      _errand_scan
      case $option in
        --store) _errand_files ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_files ;;
        *) ;;
      esac
      ;;
    'runs rm')
      options='--last --store --output -o --color --help -h'
      valued='|--store|-o|--output|--color|'
      _errand_scan
      case $option in
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) : ;;
      esac
      ;;
    'runs prune')
      options='--older-than --dry-run --store --output -o --color --help -h'
      valued='|--older-than|--store|-o|--output|--color|'
      _errand_scan
      case $option in
        --older-than) : ;;
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) ;;
      esac
      ;;
    'runs doctor')
      options='--fix --store --output -o --help -h'
      valued='|--store|-o|--output|'
      _errand_scan
      case $option in
        --store) _errand_files ;;
        -o|--output) _errand_words 'text json' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) ;;
      esac
      ;;
    'exit-codes')
      options='--output -o --help -h'
      valued='|-o|--output|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_words '0 ok 1 task_failed 2 usage 65 invalid_request 66 no_input 69 helper_unavailable 70 internal 71 os_error 73 cant_create 74 storage 75 provider_unavailable 76 protocol 77 auth 78 config 80 max_turns 81 token_budget 82 cost_budget 83 tool_call_limit 84 context_overflow 85 truncated 86 loop_detected 87 handoff_limit 90 hook_terminated 91 guardrail_denied 92 approval_required 93 sandbox 94 user_declined 95 model_refused 96 kill_switch 97 signal_timeout 98 lease_lost 102 model_not_found 103 quota_exhausted 104 unsupported 110 tool_fatal 111 output_invalid 112 no_result 113 checks_failed 114 subagent_failed 119 replay_miss 124 timeout 129 sighup 130 sigint 141 sigpipe 143 sigterm provider.network provider.tls provider.rate_limited provider.timeout provider.unavailable provider.model_loading provider.stream_broken provider.circuit_open provider.busy provider.bad_response provider.auth provider.invalid_request provider.model_not_found provider.quota provider.unsupported provider.refused provider.other context.overflow context.compaction_failed context.compaction_provider output.truncated output.invalid output.empty run.max_turns run.token_budget run.cost_budget run.tool_call_limit run.timeout run.loop_detected run.task_failed run.declined run.checks_failed run.cancelled tool.not_found tool.invalid_parameters tool.type_mismatch tool.model_retry tool.failed tool.policy_blocked tool.confirmation_required tool.cancelled tool.rate_limited tool.server_error tool.network tool.timeout tool.result_unusable tool.interrupted hook.terminated hook.failed guardrail.denied guardrail.killed sandbox.violation sandbox.setup sandbox.exec_failed sandbox.invalid_state sandbox.not_found sandbox.connect sandbox.agent_timeout sandbox.rpc sandbox.rpc_timeout sandbox.protocol sandbox.backend mcp.connection mcp.initialization mcp.auth mcp.tool_call mcp.transport mcp.other a2a.remote team.invalid team.handoff_limit team.member_failed registry.duplicate registry.missing config.invalid durable.activity_failed durable.cancelled durable.signal_timeout durable.continue_as_new durable.lease_lost durable.other storage.not_found storage.corrupt storage.io storage.other memory.failed knowledge.failed embedding.auth embedding.rate_limited embedding.invalid_request embedding.network embedding.other daemon.failed trigger.failed channel.failed cli.usage cli.no_input cli.cannot_create os.failed replay.miss internal' ;;
        *) ;;
      esac
      ;;
    'doctor')
      options='--online --output -o --color --help -h'
      valued='|-o|--output|--color|'
      _errand_scan
      case $option in
        -o|--output) _errand_words 'text json' ;;
        --color) _errand_words 'auto always never' ;;
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) ;;
      esac
      ;;
    'schema')
      options='--help -h'
      valued=''
      _errand_scan
      case $option in
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_words 'agent result events' ;;
        *) ;;
      esac
      ;;
    'completions')
      options='--help -h'
      valued=''
      _errand_scan
      case $option in
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        0) _errand_words 'bash zsh fish' ;;
        *) ;;
      esac
      ;;
    'help')
      options='--help -h'
      valued=''
      _errand_scan
      case $option in
        *) matched=no ;;
      esac
      [[ $matched = yes ]] && return
      [[ $current = -* && $dashes = no ]] && { _errand_words "$options"; return; }
      case $position in
        *) _errand_words 'run resume fork batch check test init tools mcp policy models prices runs exit-codes doctor schema completions help errand script environment agent keys yaml builtin-tools permissions guardrails checks sub-agents handoffs flows context sandbox web secrets settings providers hooks recordings' ;;
      esac
      ;;
    *) ;;
  esac
}

complete -F _errand errand
