#include "cli/manual/man.h"

#include "agent/error.h"
#include "agent/outcome.h"
#include "cli/help.h"
#include "cli/manual/man_guardrails.h"
#include "cli/manual/man_hooks.h"
#include "cli/manual/man_keys.h"
#include "cli/manual/man_permissions.h"
#include "cli/manual/man_secrets.h"
#include "cli/manual/man_tools.h"
#include "cli/manual/man_web.h"
#include "cli/manual/man_work.h"
#include "cli/manual/mdoc.h"
#include "cli/options.h"
#include "config/keys.h"
#include "config/project_config.h"
#include "config/replay_script.h"
#include "config/test_case.h"
#include "config/user_config.h"
#include "providers/registry.h"
#include "tools/process/harmless_variables.h"
#include "tools/sandbox/layers.h"
#include "tools/sandbox/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cli {
namespace {

using namespace mdoc;

// ---- errand(1) ----

std::string argument(const Positional& positional) {
  const std::string dots = positional.repeated ? " ..." : "";
  if (!positional.choices.empty()) {
    return fmt::format(
        "{}Cm {}{}", positional.required ? "" : "Op ", fmt::join(positional.choices, " | "), dots);
  }
  return fmt::format("{}Ar {}{}", positional.required ? "" : "Op ", positional.name, dots);
}

std::string synopsis() {
  std::string text = ".Sh SYNOPSIS\n";
  for (const Command& command : commands()) {
    if (command.hidden) {
      continue;
    }
    text += fmt::format(".Nm\n.Cm {}\n", literal(command.name));
    text += command.options.empty() ? "" : ".Op Ar options\n";
    for (const Positional& positional : command.positionals) {
      text += fmt::format(".{}\n", argument(positional));
    }
  }
  return text + ".Nm\n.Fl -version | -help\n";
}

std::string flag(std::string_view name) {
  return "Fl " + literal(name.substr(1));
}

std::string option_item(const Option& option) {
  std::string item = ".It ";
  if (!option.short_name.empty()) {
    item += flag(option.short_name) + " , ";
  }
  item += flag(option.name);
  if (!option.value.empty()) {
    item += " Ar " + std::string(option.value);
  }
  std::string text = item + "\n" + prose(sentence(option.help));
  if (!option.details.empty()) {
    text += prose(option.details);
  }
  if (!option.environment.empty()) {
    text += fmt::format("The variable\n.Ev {}\nsets it where the option is not given.\n",
                        option.environment);
  }
  return text;
}

std::string command_section(const Command& command) {
  std::string text = fmt::format(".Ss errand {}\n", literal(command.name));
  text += prose(command.description);
  for (const Example& example : command.examples) {
    std::string says = sentence(example.says);
    says.back() = ':';
    text += ".Pp\n" + prose(says) + display(example.line);
  }
  if (command.positionals.empty() && command.options.empty()) {
    return text;
  }
  text += ".Bl -tag -width Ds\n";
  for (const Positional& positional : command.positionals) {
    text += fmt::format(".It Ar {}\n{}", positional.name, prose(sentence(positional.help)));
  }
  for (const Option& option : command.options) {
    text += option_item(option);
  }
  text += ".El\n";
  return text;
}

std::string environment_section() {
  std::string text = ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n";
  for (const Command& command : commands()) {
    for (const Option& option : command.options) {
      if (!option.environment.empty()) {
        text += fmt::format(".It Ev {}\nAs\n.{}\nof\n.Cm {} .\n{}",
                            option.environment,
                            flag(option.name),
                            literal(command.name),
                            option.kind == Kind::flag ? "1 switches it on, 0 off.\n" : "");
      }
    }
  }
  for (const Variable& variable : variables()) {
    text += fmt::format(".It Ev {}\n{}", variable.name, prose(variable.help));
  }
  return text + ".El\n";
}

std::string exit_section() {
  std::string text =
      ".Sh EXIT STATUS\n"
      "The numbers and names never change; see\n.Xr errand-exit-codes 7\nfor the whole contract.\n"
      ".Bl -tag -width 3n -compact\n";
  for (const agent::ExitRow& row : agent::exit_table()) {
    text +=
        fmt::format(".It {}\n{}", row.exit_code, prose(fmt::format("{}: {}", row.name, row.when)));
  }
  return text + ".El\n";
}

constexpr std::string_view k_script = R"sh(tries=3
until errand run review.yaml -o json --output-file out.json; do
  code=$?
  case $code in
    75) [ $((tries -= 1)) -gt 0 ] || exit 75
        sleep "$(jq '.error.retry_after_s // 60' out.json)" ;;
    1)  jq -r .text out.json; exit 1 ;;
    8[0-36]|124)
        jq -r .stop.detail out.json; exit 3 ;;
    9[0-6])
        exit 4 ;;
    *)  exit "$code" ;;
  esac
done
jq -r .text out.json
)sh";

std::string examples_section() {
  return ".Sh EXAMPLES\nA script that knows how the run ended:\n" + display(k_script) +
         ".Pp\nThe sections of the commands have more.\n";
}

std::string errand_page() {
  std::string text = head("ERRAND", 1, "errand", "run an AI agent and tell how the run ended");
  text += synopsis();
  text +=
      ".Sh DESCRIPTION\n"
      ".Nm\n"
      "runs an AI agent that a file describes, in a loop of model calls and tool calls.\n"
      "Standard output carries the answer and nothing else;\n"
      "everything else goes to standard error.\n"
      "The exit status says how the run ended, on every ending.\n"
      "The result has tokens and costs; where a provider does not say how many tokens it used,\n"
      "they are estimated, and\n"
      ".Ic usage_estimated\n"
      "is true.\n"
      ".Pp\n"
      "Standard input is read only where neither the command line nor the agent has a\n"
      "prompt, or where\n"
      ".Sq \\-\n"
      "asks for it, and never from a terminal.\n"
      "An option wins over its variable, the variable over the agent file.\n"
      "The argument\n"
      ".Sq \\-\\-\n"
      "ends the options.\n"
      ".Pp\n"
      "Every command has the option\n"
      ".Fl h , Fl -help .\n"
      ".Sh COMMANDS\n";
  for (const Command& command : commands()) {
    if (!command.hidden) {
      text += command_section(command);
    }
  }
  text += environment_section();
  text +=
      ".Sh FILES\n"
      ".Bl -tag -width Ds\n"
      ".It Pa agent.yaml , agent.yml , errand.yaml , agent.md\n"
      "The agent of a folder, where the command line names none.\n"
      ".It Pa $XDG_CONFIG_HOME/errand/config.yaml\n"
      "What holds for every agent; see\n"
      ".Xr errand-agent 5 .\n"
      ".It Pa $XDG_DATA_HOME/errand/prices.txt\n"
      "Imported prices.\n"
      ".It Pa $XDG_STATE_HOME/errand/journal.db\n"
      "The journal: every event of every run, unless\n"
      ".Fl -no-session\n"
      "or the agent file switches it off.\n"
      ".El\n";
  text += exit_section();
  text += examples_section();
  text +=
      ".Sh SEE ALSO\n"
      ".Xr errand-agent 5 ,\n"
      ".Xr errand-test 5 ,\n"
      ".Xr errand-exit-codes 7 ,\n"
      ".Xr errand-hooks 7\n";
  return text;
}

// ---- errand-agent(5) ----

constexpr std::string_view k_agent_example = R"(version: 1
name: reviewer
model: anthropic/claude-sonnet-4-5
instructions: You are a careful reviewer.
prompt: Review {{ target }}.
parameters:
  target: {type: string, required: true}
context: [AGENTS.md?]
tools:
  - read_file
  - shell: {timeout: 2m}
  - name: run_tests
    description: Run the unit tests.
    command: [make, test]
limits: {max_turns: 40, max_total_tokens: 500k, timeout: 20m}
)";

constexpr std::string_view k_markdown_example = R"(---
version: 1
name: explainer
model: auto
tools: [read_file, grep]
---
You explain code to newcomers.
)";

std::string key_item(const config::Key& key) {
  std::string text = fmt::format(".It Ic {}\n{}", in_quotes(key.path), prose(key.help));
  std::string facts = fmt::format("Type: {}", config::to_string(key.type));
  if (!key.choices.empty()) {
    facts += fmt::format(
        "{}{}", key.type == config::Type::choice ? ": " : ", or ", fmt::join(key.words(), ", "));
  }
  facts += key.required ? "; required" : "";
  text += prose(facts + ".");
  if (!key.default_value.empty()) {
    text += fmt::format("Default:\n.Ql {} .\n", in_quotes(key.default_value));
  }
  if (!key.example.empty()) {
    const std::string_view name = key.path.substr(key.path.rfind('.') + 1);
    text += name.ends_with("[]") || name == "*"
                ? fmt::format("Example:\n.Ql {}\n", in_quotes(key.example))
                : fmt::format("Example:\n.Ql {}\n",
                              in_quotes(fmt::format("{}: {}", name, key.example)));
  }
  return text;
}

std::string key_list(std::span<const config::Key> table) {
  std::string text;
  for (const config::Key& key : table) {
    if (key.status == config::Status::available) {
      text += key_item(key);
    }
  }
  return text.empty() ? text : ".Bl -tag -width Ds\n" + text + ".El\n";
}

std::string later_keys() {
  std::string text;
  for (const config::Key& key : config::keys()) {
    if (key.status == config::Status::later) {
      text += fmt::format(".It Ic {}\n{}", in_quotes(key.path), prose(key.help));
    }
  }
  return text.empty() ? text
                      : ".Sh KEYS OF LATER VERSIONS\n"
                        "These are refused as not yet supported, never ignored.\n"
                        ".Bl -tag -width Ds\n" +
                            text + ".El\n";
}

// What is taken of YAML, of numbers and of JSON Schema. tests/yaml/run.py has the table of the
// first.
std::string language_section() {
  return ".Sh YAML, NUMBERS AND SCHEMAS\n" +
         prose(
             "Refused, although it is YAML: directives, tags, merge keys, a second document, a key "
             "twice, keys that are empty or are lists or maps, a key and its colon on two lines, "
             "and in brackets a text without quotes that begins with a question mark. "
             "A file has at most 20,000 values and 4 MiB of text, aliases counted as often as they "
             "are used, and nests at most 64 levels deep; JSON nests at most 200.") +
         ".Pp\n" +
         prose(
             "Numbers pass as they are written: 18446744073709551617, 1e400, 1.50 and -0 in the "
             "arguments of a call, in an answer with a schema or in a replay script reach tools, "
             "hooks, events and results digit by digit. "
             "How YAML alone writes a number becomes JSON: +.5 is 0.5, 0x10 is 16. "
             "JSON has no .inf and no .nan: as arguments in a script they are refused, and so are "
             "hexadecimal and octal numbers over 63 bits.") +
         ".Pp\n" +
         prose(
             "A JSON Schema is one of draft 7; of later drafts prefixItems, dependentRequired, "
             "dependentSchemas, minContains, maxContains, $defs and $anchor are known, too. "
             "Refused are references to another document, also to the draft's own schema, since "
             "nothing is fetched; unevaluatedProperties, unevaluatedItems, $dynamicRef and "
             "$recursiveRef; exclusiveMinimum and exclusiveMaximum as draft 4 has them, which "
             "are no numbers; patterns that RE2 does not know, with look-around or "
             "back-references; and a multipleOf of more than 18 digits. "
             "A format demands nothing. "
             "Numbers are compared as decimal fractions, without rounding.");
}

std::string provider_section() {
  std::string text =
      ".Sh PROVIDERS\n"
      "What may stand before the first slash of\n"
      ".Ic model.name :\n"
      ".Bl -tag -width Ds\n";
  for (const providers::Preset& preset : providers::presets()) {
    text += fmt::format(".It Cm {}\n{}", literal(preset.name), prose(preset.description));
    if (!preset.base_url.empty()) {
      text += fmt::format(".br\nAddress:\n{}\n", literal(preset.base_url));
    }
    if (!preset.base_url_variable.empty()) {
      text += preset.base_url.empty() ? ".br\nAddress: that of\n" : "or\n";
      text += fmt::format(".Ev {}\n", preset.base_url_variable);
    }
    if (!preset.other_origins.empty()) {
      text += fmt::format(".br\nIts own are also:\n{}\n", literal(preset.other_origins));
    }
    if (!preset.key_variable.empty()) {
      text += fmt::format(".br\nKey:\n.Ev {}\n", preset.key_variable);
    }
  }
  return text +
         ".El\n.Pp\n"
         "What one says of tokens is held against the bytes that went and came.\n"
         "A part that is missing, text, negative, more than 20 million in one answer, or less than "
         "a\n"
         "token for a thousand bytes, is estimated from the bytes, at four a token; so is what "
         "came of\n"
         "an answer that broke off.\n"
         "The estimate counts for limits and costs, and is told once a run; the event\n"
         ".Ic model.responded\n"
         "has it as\n"
         ".Ic estimated\n"
         "beside\n"
         ".Ic usage ,\n"
         "which is as it was reported.\n"
         "The usage of a replay script is what the script says.\n";
}

std::string user_section() {
  return ".Sh SETTINGS OF THE USER\n"
         "What holds for every agent stands in\n"
         ".Pa $XDG_CONFIG_HOME/errand/config.yaml :\n" +
         key_list(config::user_keys());
}

std::string told_section() {
  return ".Sh WHAT PROGRAMS ARE TOLD\n"
         "Of errand's environment the programs of tools get the variables in the list below, and\n"
         "what the tool's\n"
         ".Ic env\n"
         "adds; tokens and keys of the shell stay outside.\n"
         "So does a variable of the list that has an address with a user name or password in it.\n"
         "Where they are not set,\n"
         ".Ev CI , NO_COLOR , TERM , PAGER\n"
         "and the like are set so that nothing asks or pages.\n"
         ".Pp\n"
         ".Ev TMPDIR\n"
         "is a folder of the run's own.\n"
         ".Ev XDG_CACHE_HOME , CCACHE_DIR , GOCACHE , PIP_CACHE_DIR\n"
         "and\n"
         ".Ev npm_config_cache\n"
         "are folders in it, but for those whose usual place\n"
         ".Ic sandbox.write\n"
         "opens.\n"
         "In the sandbox,\n"
         ".Ev ASAN_OPTIONS\n"
         "and\n"
         ".Ev LSAN_OPTIONS\n"
         "begin with\n"
         ".Ql detect_leaks=0 ,\n"
         "and\n"
         ".Ev FAKEROOTDONTTRYCHOWN\n"
         "is set.\n"
         ".Pp\n" +
         prose(fmt::format("{}.", fmt::join(tools::harmless_variable_names(), ", ")));
}

std::string sandbox_section() {
  std::string text =
      ".Sh THE SANDBOX\n"
      "Programs that tools start are confined by the kernel, and the file tools obey the same\n"
      "rules.\n"
      "By default they may read the system and what is open in home folders, write in the\n"
      "working folder and in the folder that\n"
      ".Ev TMPDIR\n"
      "names, and open no socket.\n"
      "Closed are the home folders\n"
      ".Po what\n"
      ".Ev HOME\n"
      "and the user's own entry of the password file name,\n"
      ".Pa /root , /home ,\n"
      "and those of all users from 1000 on\n"
      ".Pc ,\n"
      "errand's own folders, and the secret places below.\n"
      "Open in them are the working folder, the agent file's folder, the folders of\n"
      ".Ev PATH ,\n"
      "that of an active virtual environment\n"
      ".Po\n"
      ".Ev VIRTUAL_ENV , CONDA_PREFIX :\n"
      "where\n"
      ".Ev PATH\n"
      "has its\n"
      ".Pa bin\n"
      ".Pc ,\n"
      "what\n"
      ".Ic sandbox.read\n"
      "and\n"
      ".Ic sandbox.write\n"
      "name, and the table of open places below.\n"
      "The agent file opens these itself, a secret place that it names too, and nobody is asked:\n"
      "read one that is somebody else's before you run it.\n"
      "A folder that is a home as a whole, holds one, or is errand's own opens nothing: of the\n"
      "agent file then the file alone.\n"
      "The deepest of the names that cover a path decides, so that a secret place stays closed in\n"
      "what is open, and a file that comes later or takes another's place is as closed as that.\n"
      "Names and sizes of files are no secrets.\n"
      "A folder that is a home as a whole, holds one, is errand's own or has a secret place in "
      "it,\n"
      "as\n"
      ".Pa ~/.config ,\n"
      "cannot be named in\n"
      ".Ic sandbox.write ,\n"
      "since programs could make nothing new there: name the folders in it.\n"
      "In\n"
      ".Ic sandbox.read\n"
      "it may stand; there its secret places stay closed.\n"
      "Where a program fails and its output says that a place or the network was refused to it, a\n"
      "line in brackets names the key that would open that, if there is one.\n"
      ".Pp\n"
      "What an agent file gives a model to read obeys the same rules:\n"
      ".Ic context ,\n"
      "a picture that its own prompt names, a schema.\n"
      "No link in their paths may lead out of the agent file's folder, or, for each\n"
      ".Pa ..\n"
      "in front, out of the one above it.\n"
      "What is closed, or elsewhere, is exit code 78, unless\n"
      ".Ic sandbox.read\n"
      "or\n"
      ".Ic sandbox.write\n"
      "names it.\n"
      "With\n"
      ".Ql sandbox: off\n"
      "only the rule on links holds.\n"
      "The command line is the user's own word: the file of\n"
      ".Fl -prompt-file ,\n"
      "a picture in the prompt that stands there, and one whose whole path is the value of a\n"
      ".Fl -param\n"
      "may be anywhere.\n"
      "A prompt out of a file or a pipe names no pictures.\n"
      ".Pp\n"
      "Where private mounts can be made, a closed home looks empty, and programs have terminals "
      "of\n"
      "their own; elsewhere its files are refused, and\n"
      ".Pa /dev/pts\n"
      "is closed.\n"
      "Of\n"
      ".Pa /dev\n"
      "the harmless files are open: null, zero, full, random, urandom, tty.\n"
      ".Pp\n"
      "What git and errand obey in the working folder cannot be changed:\n"
      ".Pa .git ,\n"
      "its modules and worktrees,\n"
      ".Pa .errand ,\n"
      "the agent files that\n"
      ".Nm errand run\n"
      "would take at its top, test cases\n"
      ".Pq Pa *.test.yaml ,\n"
      "what the test cases at its top name as\n"
      ".Ic agent , replay\n"
      "and\n"
      ".Ic recording ,\n"
      "the agent file of the run and the programs and scripts that it names.\n"
      "File tools refuse to write them\n"
      ".Pq Pa .git , .errand No and test cases at any depth .\n"
      "They neither write in a folder that git takes for a repository of its own, whatever it is "
      "called,\n"
      "nor make one of a folder\n"
      ".Pq Pa HEAD No beside Pa objects No and Pa refs , No or Pa commondir ;\n"
      ".Ic git_switch\n"
      "refuses a branch that does.\n"
      "Not kept are agent files further below, what test cases there name, and the scripts of an "
      "agent\n"
      "that only a test case names: read what a run changed before\n"
      ".Nm errand test\n"
      "obeys it.\n"
      "With private mounts, programs find\n"
      ".Pa .git , .errand\n"
      "and the run's own files read-only.\n"
      "What is changed all the same after each call is put back as it was when the call began, "
      "and\n"
      "what is made anew gets another name; what was found there is kept as\n"
      ".Pa NAME.untrusted ,\n"
      "and the call's result, which is an error then, says so.\n"
      "A file among them that has a second name (a hard link) is compared in the same way.\n"
      "At the run's end\n"
      ".Pa .git , .errand ,\n"
      "test cases and bare repositories that stand anywhere below, where none stood before a tool "
      "first\n"
      "wrote, are renamed in the same way, with a warning, also where a folder was only moved;\n"
      "so is what programs of\n"
      ".Ic run_end\n"
      "hooks have made.\n"
      "A test case below the top that has changed is named in a warning, and stays.\n"
      "Where not all could be looked through (a million files, 500 folders in one another, a "
      "folder that\n"
      "cannot be opened), a warning says so.\n"
      "Where something cannot be put back, the run ends with exit code 93.\n"
      "Without private mounts, changes of objects, refs and the index are said and stay.\n"
      "Settings of repositories that were there before and that git does not know as modules or\n"
      "worktrees of this one are kept from file tools alone.\n"
      "Files of the project that git's settings name\n"
      ".Pq Ic core.hooksPath No as Pa .husky , Ic include.path , No filters, Ic core.fsmonitor\n"
      "are the project's, as a\n"
      ".Pa Makefile\n"
      "is: tools may change them, and git obeys them when you call it.\n"
      "A run whose repository names such files in its own settings warns of it.\n"
      ".Ic sandbox.write\n"
      "names exceptions, as\n"
      ".Ql [.git]\n"
      "or\n"
      ".Ql [new.test.yaml] .\n"
      "errand's own folders (made where they are missing), and the session store, recording and "
      "log "
      "of the run,\n"
      "where they are inside\n"
      "the working folder, are read-only; without private mounts the run is refused with exit code "
      "73.\n"
      "What goes to\n"
      ".Fl \\-output\\-file\n"
      "has no name before it is whole, or is kept from programs in the same way.\n"
      "With private mounts, the folders on the way to it stay where they are; a run that finds "
      "another folder\n"
      "of its name in the end ends with exit code 74 and says where the answer is.\n"
      ".Pp\n"
      "A program cannot signal, trace or look into processes outside its own call, mount,\n"
      "make namespaces, use the keyring, or leave a set-user-id program behind (as root: a "
      "set-group-id\n"
      "program or one with capabilities neither), and nothing of it\n"
      "outlives the call; but without private mounts, shared memory, semaphores and message queues "
      "of\n"
      "System V stay until somebody removes them.\n"
      "Calls that run side by side are compared together: what is said of one may be the other's "
      "doing.\n"
      "File tools see of\n"
      ".Pa /proc\n"
      "what is the system's, and no process.\n"
      "Programs see all processes of the machine there, with their command lines: nothing in one "
      "is a "
      "secret to them.\n"
      "As root, a program may take another user's number, as any of root may; what is closed stays "
      "closed.\n"
      "It sets its own processors, priority and policy (and those of what it starts with\n"
      ".Ic taskset , nice , ionice\n"
      "or\n"
      ".Ic chrt ) ,\n"
      "but of no other process, not even of a thread by its number.\n"
      "How much it writes is not limited: it may fill the disk.\n"
      ".Pp\n"
      "With\n"
      ".Ic sandbox.allow_hosts\n"
      "a program has a network of its own with nothing in it but errand's proxy, which its\n"
      "environment names\n"
      ".Pq Ev http_proxy , https_proxy , all_proxy\n"
      "and which connects to those hosts alone; a program that knows no proxies reaches none.\n"
      "A host that is named in full may be private, one that a pattern covers may not.\n"
      "What was refused stands at the end of the call's result.\n"
      "The proxy goes by names: what an allowed server passes on to others it does not see.\n"
      "Where errand's own environment names a proxy, connections go through that one, which looks\n"
      "names up by itself, so that addresses are not checked.\n"
      "Under\n"
      ".Ic default: auto\n"
      "programs that can reach anything need a yes.\n"
      ".Pp\n"
      "Where the working folder is /, a home folder, holds one, or is errand's own, tools that "
      "could\n"
      "write are refused with\n"
      "exit code 93.\n"
      ".Pp\n"
      "What this is made of differs from machine to machine.\n"
      "The event\n"
      ".Ql run.started\n"
      "and\n"
      ".Fl vv\n"
      "name the layers that are in force; one that is missing is a warning, or exit code 93 where\n"
      ".Ic sandbox.required\n"
      "has it:\n"
      ".Bl -tag -width Ds\n";
  for (const tools::sandbox::LayerRow& row : tools::sandbox::k_layers) {
    text +=
        fmt::format(".It Cm {}\n{}", row.name, prose(fmt::format("Without it, {}.", row.without)));
  }
  text +=
      ".El\n.Pp\n"
      "The layer\n.Cm control_group\n"
      "is wanted where\n.Ic sandbox.memory\nor\n.Ic sandbox.processes\nis set.\n"
      "It needs cgroup v2: errand's own group, or the one around it, has to hand down the\n"
      "controllers memory and pids, and the user has to have the right to make groups there.\n"
      "Under systemd root has it, and others in what the user's own manager starts:\n"
      ".Ql systemd-run --user --scope errand run agent.yaml .\n"
      "A limit on the memory or the processes of errand's own group holds for that of a call, "
      "too.\n"
      "A call that needs more memory is ended as a whole, by SIGKILL.\n";
  return text + ".Pp\nThe open places of the user's home are:\n" +
         prose(fmt::format("{}.", fmt::join(tools::sandbox::open_place_names(), ", "))) +
         ".Pp\nThe secret places are:\n" +
         prose(fmt::format("{}.", fmt::join(tools::sandbox::secret_place_names(), ", "))) +
         ".Pp\nThose of the system are closed where the user could read them.\n";
}

std::string project_section() {
  return ".Sh SETTINGS OF A PROJECT\n"
         "What holds for every agent that works in a project stands in\n"
         ".Pa .errand/config.yaml\n"
         "of its folder, or of one above the working folder:\n" +
         key_list(config::project_keys());
}

std::string agent_page() {
  std::string text = head("ERRAND-AGENT", 5, "errand-agent", "the agent file of errand");
  text +=
      ".Sh DESCRIPTION\n"
      "An agent file is YAML 1.2, or Markdown with the same keys as front matter and\n"
      "the instructions as its text.\n"
      "It is strict: an unknown key, a key twice, a wrong type or an unset variable\n"
      "is an error with line and column.\n"
      "Keys that begin with\n"
      ".Ql x\\-\n"
      "are free.\n"
      ".Pp\n"
      "A duration carries a unit: 500ms, 90s, 10m, 1h30m.\n"
      "A count may end in k or M: 500k.\n"
      "Any text may name an environment variable as\n"
      ".Ql ${env:NAME}\n"
      "or\n"
      ".Ql ${env:NAME:\\-default} .\n"
      "Secrets stand in the environment, never in the file.\n"
      "In\n"
      ".Ic instructions\n"
      "and\n"
      ".Ic prompt ,\n"
      ".Ql {{ name }}\n"
      "stands for a parameter.\n"
      "Relative paths start at the folder of the file.\n"
      ".Pp\n"
      ".Dl errand check FILE\n"
      ".Pp\n"
      "finds every mistake, and\n"
      ".Pp\n"
      ".Dl errand schema agent\n"
      ".Pp\n"
      "prints the JSON Schema, for editors.\n"
      ".Sh KEYS\n"
      "In the names,\n"
      ".Ql []\n"
      "is an item of a list, and\n"
      ".Ql *\n"
      "a name of your own.\n";
  text += key_list(config::keys());
  text += later_keys();
  text += language_section();
  text += tools_section();
  text += permissions_section();
  text += guardrails_section();
  text += sandbox_section() + work_section() + told_section();
  text += web_section();
  text += secrets_section();
  text += keys_section();
  text += user_section() + project_section();
  text += provider_section();
  text += ".Sh EXAMPLES\nA reviewer with a parameter and a command as a tool:\n";
  text += display(k_agent_example);
  text += "The same as Markdown, much smaller:\n";
  text += display(k_markdown_example);
  return text +
         ".Sh SEE ALSO\n.Xr errand 1 ,\n.Xr errand-test 5 ,\n.Xr errand-exit-codes 7 ,\n.Xr "
         "errand-hooks "
         "7\n";
}

// ---- errand-test(5) ----

constexpr std::string_view k_case_example = R"(version: 1
agent: agent.yaml
replay: greeting.replay.yaml
prompt: Greet the person in name.txt.
workspace: people
expect:
  text: {contains: Ada, matches: "^Hello"}
  tools: [read_file]
)";

constexpr std::string_view k_replay_example = R"(version: 1
replies:
  - tool_calls: [{read_file: {path: name.txt}}]
  - {error: rate_limited, retry_after: 1s}
  - {text: "Hello, Ada.", expect: Ada}
)";

constexpr std::string_view k_record_example = R"(errand run --record greeting.cassette agent.yaml
errand run --replay greeting.cassette agent.yaml
)";

std::string test_page() {
  std::string text =
      head("ERRAND-TEST", 5, "errand-test", "test cases, replay scripts and recordings of errand");
  text +=
      ".Sh DESCRIPTION\n"
      "An agent is tested without a key and without a network: in the place of the model\n"
      "answers a script that somebody wrote, or the recording of a run.\n"
      "The agent's tools run for real.\n"
      "A test case says what is run and what must come of it;\n"
      ".Pp\n"
      ".Dl errand test PATH\n"
      ".Pp\n"
      "runs case files, and those that it finds in folders by their ending\n"
      ".Pa .test.yaml .\n"
      "Each run is a process of its own, in the case file's folder or in a copy of its\n"
      ".Ic workspace .\n"
      "What is copied is a folder behind no link in which all is open to tools that run in the\n"
      "folder of the case or where errand runs: no home or parent of one, no secret place and\n"
      "no folder of the system.\n"
      "Else the case is one with a mistake.\n"
      "Variables like\n"
      ".Ev ERRAND_MODEL\n"
      "do not count there.\n"
      ".Pp\n"
      "The exit code is 0 where all cases have passed and 1 where one has failed.\n"
      "A case file with a mistake is an error of its own beside the others, which run; the\n"
      "exit code is then 78.\n"
      "A case also fails where a run that came to its answer did not ask for all replies of\n"
      "its script, but for those that are repeated for ever.\n"
      ".Pp\n"
      "The files are as strict as agent files, and keys that begin with\n"
      ".Ql x\\-\n"
      "are free.\n"
      ".Sh KEYS OF TEST CASES\n";
  text += key_list(config::test_case_keys());
  text +=
      ".Sh KEYS OF REPLAY SCRIPTS\n"
      "A script is also a model of its own, for any agent:\n"
      ".Ql model: replay/FILE .\n"
      "Replies are played one after the other, whatever is asked.\n"
      "A script that a test case or\n"
      ".Fl -model\n"
      "names answers alone: the agent's\n"
      ".Ic fallback\n"
      "is left out, so that no server is asked.\n";
  text += key_list(config::replay_keys());
  text +=
      ".Sh RECORDINGS\n"
      "A recording holds the HTTP exchanges of one run, as indented JSON objects, one after\n"
      "the other: the run, then each request with the pieces of its answer or the error\n"
      "that came instead.\n"
      "Credentials are not written, and known secrets are\n"
      ".Ql [redacted] ;\n"
      "an answer with one in it is kept in one piece, and a request with one in it is found\n"
      "again only where a replay knows the secret, too.\n"
      "Bedrock's streams are binary and are kept as they came: a secret that the model says is\n"
      "in them.\n"
      ".Pp\n"
      "A replay answers a request that has the recorded method, URL and body (as JSON), each\n"
      "recorded answer once, and never asks a server.\n"
      "All else is exit code 119, with the differences to the nearest recording: the prompt,\n"
      "the instructions, the tools, the model and its address are part of what is compared.\n"
      "So are the tools' results, which go back to the model: what a tool says has to be\n"
      "the same, the time and the working folder included where it tells them.\n"
      "No exchange of\n"
      ".Ic web_fetch\n"
      "is recorded: it goes out again, and a page that has changed is another request.\n"
      ".Pp\n"
      "The run id, the clock and the waits come from the recording, so that the events are the\n"
      "same byte for byte as long as the tools behave the same.\n"
      "How a tool's live output is cut into\n"
      ".Ic tool.output\n"
      "events is up to pipes, and may differ.\n"
      "A deadline stays a real one.\n"
      "A replay keeps no session.\n"
      "Where the recorded run was stopped during a request, by a signal or its deadline,\n"
      "the replay ends there with 119.\n"
      ".Sh EXAMPLES\n"
      "A test case:\n";
  text += display(k_case_example);
  text += "Its script:\n";
  text += display(k_replay_example);
  text += "A recording, and its replay:\n";
  text += display(k_record_example);
  return text + ".Sh SEE ALSO\n.Xr errand 1 ,\n.Xr errand-agent 5 ,\n.Xr errand-exit-codes 7\n";
}

// ---- errand-exit-codes(7) ----

std::string exit_item(const agent::ExitRow& row) {
  const auto known = [](std::string_view word) { return word != "-"; };
  std::string text =
      fmt::format(".It {} {}\n{}", row.exit_code, row.name, prose(sentence(row.when)));
  if (known(row.retry)) {
    text += fmt::format("Run it again: {}.\n", row.retry);
  }
  if (known(row.resumable)) {
    text += fmt::format("Resumable: {}.\n", row.resumable);
  }
  return text;
}

std::string code_item(const agent::CodeRow& row) {
  std::string policy = row.exit_code == 0 ? std::string("No exit code of its own")
                       : row.only_if_fatal
                           ? fmt::format("Exit code {} where it ends the run", row.exit_code)
                           : fmt::format("Exit code {}", row.exit_code);
  policy += fmt::format(
      "; domain {}; retry {}", agent::to_string(row.domain), agent::to_string(row.retry));
  policy += row.retry_note.empty() ? "" : fmt::format(" ({})", row.retry_note);
  policy += row.since.empty() ? "; not built yet." : fmt::format("; since {}.", row.since);
  return fmt::format(".It {}\n{}{}", row.name, prose(row.advice), prose(policy));
}

std::string exit_codes_page() {
  std::string text = head("ERRAND-EXIT-CODES", 7, "errand-exit-codes", "how a run of errand ends");
  text += fmt::format(
      ".Sh DESCRIPTION\n"
      "Every run ends with one exit code, and with one result object that says the same\n"
      ".Pq Fl o Cm json .\n"
      "Numbers and names never change; this is version {} of the contract.\n"
      "A script can read them by decade:\n"
      "8x is a limit that somebody set, 9x a no of somebody, 10x something to mend,\n"
      "75 a trouble that passes.\n"
      "A signal ends the process as it would end any other:\n"
      "a shell shows 128 and its number.\n"
      "After a signal or at its deadline, a run waits two seconds in all for those who do not\n"
      "read what it writes.\n"
      "A second signal ends at once what still runs, and the process within two seconds; a third\n"
      "one ends it there and then.\n"
      "From the second one on, it waits half a second in all for those who read.\n"
      "One that comes when the result is out changes nothing.\n"
      ".Pp\n"
      "The same tables as JSON:\n"
      ".Pp\n"
      ".Dl errand exit\\-codes \\-o json\n",
      agent::k_exit_code_contract);
  text += ".Sh EXIT CODES\n.Bl -tag -width Ds\n";
  for (const agent::ExitRow& row : agent::exit_table()) {
    text += exit_item(row);
  }
  text +=
      ".El\n"
      ".Sh ERROR CODES\n"
      "The\n"
      ".Ic error.code\n"
      "of the result object says more than the exit code.\n"
      "Retry says who may try again:\n"
      "the program itself (automatic), the model, the caller, or nobody (never).\n"
      ".Bl -tag -width Ds\n";
  for (const agent::CodeRow& row : agent::error_table()) {
    text += code_item(row);
  }
  text += ".El\n.Sh EXAMPLES\nWhat the last ending means:\n";
  text += display("errand exit-codes $?");
  return text + ".Sh SEE ALSO\n.Xr errand 1 ,\n.Xr errand-agent 5\n";
}

constexpr auto k_pages = std::to_array<ManPage>({
    {"errand.1", errand_page},
    {"errand-agent.5", agent_page},
    {"errand-test.5", test_page},
    {"errand-exit-codes.7", exit_codes_page},
    {"errand-hooks.7", hooks_page},
});

}  // namespace

std::span<const ManPage> man_pages() {
  return k_pages;
}

}  // namespace cli
