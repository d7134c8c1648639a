#include "cli/manual/man_hooks.h"

#include "agent/hook_point.h"
#include "cli/manual/mdoc.h"
#include "tools/hooks/hook_dialect.h"
#include "tools/process/harmless_variables.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace cli {
namespace {

constexpr std::string_view k_example = R"(hooks:
  pre_tool_use:
    - {matcher: shell, command: ./policy.sh, timeout: 10s}
  stop:
    - {command: "make -s test >&2 || exit 2", kind: guard}
)";

constexpr std::string_view k_policy = R"sh(#!/bin/sh
# Keeps one command away. The reason goes to the model.
case "$(cat)" in
*'"command":"terraform destroy'*)
  echo 'Ask a person to do that.' >&2
  exit 2 ;;
esac
)sh";

constexpr std::string_view k_answers = R"mdoc(.Sh ANSWERS
An exit status of 0 is fine, 2 is a no, with the reason on stderr.
Any other one, an answer that cannot be read, a script that has changed since the run
began, and one that takes longer than its
.Ic timeout
is a hook that broke.
Where the exit status is 0 or 2, stdout may hold one JSON object and nothing beside it but white
space.
Plain text decides nothing; in the dialects
.Li claude
and
.Li docker_agent
that of
.Ic run_start ,
in the latter also that of
.Ic post_tool_use ,
is context.
What is neither is an answer that cannot be read: bytes before the object or behind it, as a byte
order mark or a line of a log, a second object, a key that appears twice, JSON that is not an object,
a member that is not listed here (but for
.Ic suppressOutput , hookEventName
and
.Ic terminalSequence ,
which mean nothing here), more than 1 MiB.
An observer's answer decides nothing, and only has to be JSON where it begins with
.Ql { .
.Pp
All members may be left out, and be written in either way:
.Ic stopReason
or
.Ic stop_reason .
.Bl -tag -width Ds
.It Ic continue , stopReason
With
.Li false
the run ends with exit code 90, and that reason.
.It Ic decision , reason
.Li block
or
.Li deny
is a no,
.Li allow
or
.Li approve
a yes to a call that no rule of
.Ic permissions
speaks of,
.Li ask
has a person asked.
.It Ic systemMessage
Shown to the person who runs errand.
.It Ic hookSpecificOutput.permissionDecision , permissionDecisionReason
The same as
.Ic decision
and
.Ic reason ,
before a tool call.
.It Ic hookSpecificOutput.updatedInput , tool_input
Other arguments for the call.
They are checked against the tool's schema, and their permission is looked at.
.It Ic hookSpecificOutput.updatedToolOutput , updated_tool_response , tool_output
What the model reads in place of a result.
.It Ic hookSpecificOutput.additionalContext
More for the model to read: before the first request, before any request, or behind the
result of the call.
.El
.Pp
What a no means:
.Bl -tag -width Ds
.It Ic run_start , pre_model , post_model
The run ends with exit code 90.
.It Ic pre_tool_use
The call does not run, the model reads the reason, and the run goes on.
.It Ic post_tool_use
The model reads the reason behind the result; in the dialect
.Li gemini ,
in its place.
.It Ic stop
The model is sent on with the reason, once in a run.
.It Ic notification , run_end
Nothing.
.El
.Pp
The run waits for
.Ic run_end ,
and for what looks at a partial answer, until a signal or its time limit comes; where one of these ended
it, for 10 seconds more.
.Pp
The hooks of a point run one after the other, in the order of the file, and each sees what
those before it have changed.
After a no, only observers still run.
Before a reply's calls, the hooks of all of them run before the first call does; equal calls of
which
.Ic limits.max_repeat_calls
may be in the way are judged when it is known that they are to run.
A call's permission is judged then, and by the rules alone once more when the call starts.
.Sh WHEN A HOOK BREAKS
An observer that breaks is told of, and changes nothing.
A guard that breaks ends the run with exit code 90
.Pq Li hook.failed .
Where a hook of the kind
.Ic transform
breaks, the call does not run, or its result is withheld; at other points it is a guard.
With
.Ic on_error : ignore
the run goes on as if there were no such hook.
)mdoc";

std::string dialect_tables() {
  std::string text =
      ".Sh DIALECTS\n"
      ".Ic hooks.dialect\n"
      "says whose names\n"
      ".Ic hook_event_name , tool_name\n"
      "and\n"
      ".Ic tool_input\n"
      "have.\n"
      "A\n"
      ".Ic matcher\n"
      "may use errand's names of tools or the dialect's.\n"
      "Tools that are not listed keep their names:\n"
      "one that means all changes of files has to name\n"
      ".Ic apply_patch ,\n"
      "too, as in\n"
      ".Li Edit|Write|apply_patch ,\n"
      "and finds the patch in\n"
      ".Ic tool_input.patch .\n"
      "A warning tells of one that fits\n"
      ".Ic edit_file\n"
      "or\n"
      ".Ic write_file\n"
      "and leaves it out, where the agent has\n"
      ".Ic apply_patch ,\n"
      "unless another hook of that point is for patches alone.\n";
  for (const tools::HookDialect& dialect : tools::hook_dialects()) {
    text += fmt::format(".Ss {}\n.Bl -tag -width post_tool_useXX -compact\n", dialect.name);
    for (std::size_t at = 0; at < agent::k_points; ++at) {
      text += fmt::format(".It Ic {}\n{}\n",
                          agent::to_string(static_cast<agent::HookPoint>(at)),
                          mdoc::literal(dialect.events[at]));
    }
    for (const tools::HookTool& tool : dialect.tools) {
      text += fmt::format(".It Ic {}\n{}", tool.ours, mdoc::literal(tool.theirs));
      for (const tools::HookArgument& argument : tool.arguments) {
        if (argument.ours != argument.theirs) {
          text += fmt::format(", {} for {}", argument.theirs, argument.ours);
        }
      }
      text += "\n";
    }
    text += ".El\n";
    if (!dialect.folder_variable.empty()) {
      text +=
          fmt::format("The variable\n.Ev {}\nhas the working folder.\n", dialect.folder_variable);
    }
  }
  return text;
}

}  // namespace

std::string hooks_page() {
  std::string text =
      mdoc::head("ERRAND-HOOKS", 7, "errand-hooks", "commands at certain points of a run");
  text +=
      ".Sh DESCRIPTION\n"
      "A hook is a command that is told of a point of a run, and may answer:\n"
      "deny a call, change it, add to what the model reads, send the model on, end the run.\n"
      "The key\n"
      ".Ic hooks\n"
      "of the agent file lists them;\n"
      ".Xr errand-agent 5\n"
      "has its keys.\n"
      "Scripts that were written for Claude Code, Gemini CLI or docker-agent run unchanged, as far "
      "as\n"
      "they answer with what is listed below: what cannot be carried out here is a hook that "
      "broke.\n"
      ".Pp\n"
      "A hook runs by\n"
      ".Ql sh \\-c\n"
      "in the agent file's folder, in the sandbox as the programs of tools do, and is told the "
      "same\n"
      "variables.\n"
      "What it runs may be what the model wrote, as the Makefile of\n"
      ".Ql make test .\n"
      "Tools cannot write the files that its command names, where these can be told before it "
      "runs:\n"
      "simple commands, with whole words, behind\n"
      ".Ql = ,\n"
      "in the line of a\n"
      ".Ql sh \\-c ;\n"
      "with\n"
      ".Ev $PWD , $HOME ,\n"
      "the dialect's own variable and\n"
      ".Ql ~/ ,\n"
      "from the folder of a\n"
      ".Ic cd\n"
      "at its front.\n"
      "Where what it runs is named by another variable, a pattern or what a program prints, by "
      "another\n"
      ".Ev PATH ,\n"
      "or behind a\n"
      ".Ic cd\n"
      "further on, a warning of the run and of\n"
      ".Nm errand check\n"
      "says so: such scripts are not kept from tools, and neither are files that a script names in "
      "its turn,\n"
      "nor programs that PATH finds in the working folder.\n"
      "Scripts of other tools run unchanged unless they need the network, a variable of their own "
      "or\n"
      "files outside of the working folder; then one line opens that:\n"
      ".Bd -literal -offset indent\n"
      "stop: [{command: ./notify.sh, env: [SLACK_TOKEN],\n"
      "        sandbox: {network: allow, read: [~/.config/notify]}}]\n"
      ".Ed\n"
      "Files and folders that\n"
      ".Ic permissions.deny\n"
      "keeps from tools are closed to it, too, unless its own\n"
      ".Ic sandbox\n"
      "names them.\n"
      ".Pp\n"
      "Where a command fails and its stderr says that a place or the network was refused to it, a "
      "line\n"
      "names the key of\n"
      ".Ic sandbox\n"
      "that would open that, if there is one.\n"
      "With\n"
      ".Ic sandbox: off\n"
      "it runs outside: in the agent file's folder, or, where tools can write that, in a folder of "
      "the\n"
      "run's own.\n"
      "A word of it that names a file or folder that tools can write is exit code 78, also in\n"
      ".Nm errand check .\n"
      "It is told of the variables\n" +
      mdoc::prose(fmt::format("{},", fmt::join(tools::names_outside(), ", "))) +
      "and of what its own\n"
      ".Ic env\n"
      "lists.\n"
      "A value that names a place which tools can write is left out, and of\n"
      ".Ev PATH\n"
      "such folders and relative ones; where\n"
      ".Ic env\n"
      "asked for it, a warning says so.\n"
      "Where the agent's own sandbox is off, so is that of its hooks.\n"
      ".Sh INPUT\n"
      "One JSON object on stdin:\n"
      ".Ic session_id\n"
      "(the run),\n"
      ".Ic cwd , hook_event_name , point , turn , timestamp ,\n"
      "and what belongs to the point:\n"
      ".Ic prompt , tool_name , tool_input , tool_use_id , tool_response , tool_error ,\n"
      ".Ic message , notification_type , stop_hook_active , prompt_response , exit_name , result "
      ".\n"
      "There is no transcript to read:\n"
      ".Ic transcript_path\n"
      "is empty.\n";
  text += k_answers;
  text += dialect_tables();
  text += ".Sh EXAMPLES\nA guard on commands, and no end before the tests pass:\n";
  text += mdoc::display(k_example);
  text += "The guard:\n";
  text += mdoc::display(k_policy);
  return text + ".Sh SEE ALSO\n.Xr errand 1 ,\n.Xr errand-agent 5 ,\n.Xr errand-exit-codes 7\n";
}

}  // namespace cli
