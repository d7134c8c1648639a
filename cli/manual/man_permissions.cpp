#include "cli/manual/man_permissions.h"

namespace cli {

std::string_view permissions_section() {
  return R"mdoc(.Sh PERMISSIONS
A rule is a tool, or a tool and what it is called with:
.Bl -tag -width Ds
.It Ic read_*
Every tool whose name begins so;
.Ql *
stands for anything,
.Ql \&?
for one character.
.It Ic "write_file(src/**)"
The file tools, by path, as
.Ic glob
reads it, but that wildcards match hidden names, too.
It starts at the working folder, at
.Pa / ,
or with
.Pa ~/
at the home folder.
A path is judged by what it really is, links followed and
.Pa ..
resolved.
A call of
.Ic apply_patch
is allowed where each file that it changes, makes, deletes or renames is.
.It Ic "shell(git diff *)"
Commands.
.Ql *
stands for anything, a blank and
.Ql *
at the end also for nothing, and
.Ql \e
takes the next character as it is.
.It Ic "web_fetch(https://docs.example.com/*)"
URLs: scheme, host, a port where it is not the usual one, and a path with wildcards; without a
path, the whole host.
The host may be
.Ql *
or begin with
.Ql *. ,
which is every name below.
A URL is judged in one form: host in lower case, no dot segments, %XX only where it is needed.
In
.Ic deny
and
.Ic ask ,
http and https are the same, and so are paths that a careless server takes for each other.
.It Ic "deploy({\(dqto\(dq:\(dqstaging\(dq})"
All other tools, by their arguments as JSON without blanks.
.El
.Pp
The first of these that speaks of a call decides:
.Ic deny ,
.Fl \-allow ,
.Ic ask ,
.Ic allow ,
.Ic default .
Rules of the user's settings are added to those of the agent file, and so are those of
the project's, which can only tighten.
.Pp
A command line is read as a shell reads it: lists, pipes, substitutions, loops,
functions, quotes, here-documents, and programs that run others
.Pq Ic sudo , env , xargs , find \-exec , sh \-c .
.Bl -bullet
.It
It is denied, or asked for, where one of its commands is.
There a rule also means the program by another path
.Pq Pa /bin/rm , ./rm ,
its options in any order, bundled or abbreviated, and more arguments.
.It
It is allowed where rules allow each of its commands, as they are written and without
assignments in front, and each file that it writes.
A rule that is the whole line, character for character, allows that line.
.It
What cannot be told before it runs (a variable as a command's name, an unclosed quote,
.Ic eval
of a variable, code for an interpreter) needs a yes as soon as a rule of
.Ic deny
or
.Ic ask
speaks of commands or paths.
.El
.Pp
A path that is denied to
.Ic read_file
is denied to
.Ic grep , edit_file , apply_patch
and the commands that name it; one that is denied to
.Ic write_file ,
to
.Ic edit_file , apply_patch
and to commands.
What a program does of its own accord is not seen by rules.
.Pp
Where stdin and stderr are a terminal, a call that needs a yes is shown and asked for:
once, in this run, always
.Pq written to the user's settings ,
stop
.Pq exit code 94 ,
or no, which is also what Enter and the end of input mean.
Elsewhere nothing is asked: the run ends with exit code 92, and says which rule would
allow the call.
.Pp
The person is shown every byte of the call, by the names of its arguments, each line behind
.Ql |
and what goes on behind
.Ql \&: .
Nothing is redacted on that terminal; what is kept or printed is
.Pq Sx SECRETS .
Printable ASCII passes, and so do Latin letters with accents, kana, Chinese characters, Hangul, and
words of Greek or Cyrillic in which one letter at least looks like no Latin one; everything else is
written out as
.Ql \eu{202e} ,
a byte that is no UTF-8 as
.Ql \ex{ff} .
Where files would change, a unified diff is shown, and
.Ic v
also shows the arguments.
What does not fit is counted, and
.Ic v
shows all of it page by page.
.Ic always
shows the rule, and asks again before it is written.
.Pp
.Dl errand policy check agent.yaml shell \(aqgit push origin main\(aq
.Pp
says what the rules make of a call, and why:
.Ic allow , ask
or
.Ic deny ,
or
.Ic refused
where the sandbox or the tool itself would stop it all the same: a file that tools may not read or
write, also behind
.Ql >
in a command line, or a page that
.Ic web_fetch
does not reach.
Where a name leads, and what programs do of their own accord, is only seen when they run; of them it
says which network they have.
)mdoc";
}

}  // namespace cli
