#include "cli/manual/man_guardrails.h"

namespace cli {

std::string_view guardrails_section() {
  return R"mdoc(.Sh GUARDRAILS
The checks of a list are made in its order, each on the text that the one before it left;
the first that refuses is the last.
Hooks come before guardrails.
.Bl -tag -width Ds
.It Ic input
The prompt.
Refused, the run ends with exit code 91 before anything is sent.
.It Ic tool_call
The arguments of a call, as JSON; a
.Ic pattern
or
.Ic find
also looks at each text in them, as the tool reads it.
Refused, the model is told which guardrail refused and why, and the run goes on.
.It Ic tool_result
What a tool answers.
Refused, the model reads that and the reason in its place.
Of an output that is too long for the model only what it reads is looked at.
.It Ic output
The final answer.
Refused, the model is told so and answers again,
.Ic guardrails.retries
times; then the run ends with exit code 91 and without the answer.
The partial answer of a run that ends early is looked at, too:
.Ic command
and
.Ic judge
do not run then, and where they could have refused it there is none.
.El
.Pp
A check that breaks is closed: a command that ends with another status than 0 or 2, takes
too long or writes what is no answer, a judge that fails or answers something else.
It then refuses, whatever its action is but
.Ic warn .
.Pp
A
.Ic command
reads one line of JSON on stdin: point
.Pq the name of the list ,
text, and of calls and results tool_name and tool_input.
It runs as the commands of hooks do: in the agent file's folder, in the sandbox, with
.Ic sandbox
and
.Ic env
of its own; see
.Xr errand-hooks 7 .
Status 0 with nothing on stdout lets the text pass; status 2 does not, with the reason on
stderr.
In place of both it may write
.Ql {\(dqdecision\(dq: \(dqdeny\(dq, \(dqreason\(dq: \(dq...\(dq}
with allow, warn, deny or kill; more than the check's
.Ic action
never comes of it.
That object stands alone, with no byte around it but white space, no key twice and no member but
these two; the same holds for the answer of a judge.
Regular files that the command names are not for tools to write.
.Pp
A
.Ic judge
costs what its model costs: it is on the bill, and counts for
.Ic limits.max_cost_usd .
.Pp
Reasons are shown to the model and stand in the result: a command should not quote what it
found.
Events
.Pq Fl o Cm jsonl
and the journal keep what the model and the tools said, also what was refused; the answer
and the result do not have it.
)mdoc";
}

}  // namespace cli
