#include "cli/manual/man_permissions.h"

namespace cli {

std::string_view permissions_section() {
  return R"mdoc(.Sh PERMISSIONS
Rules are a fence for the model: they say which calls are made unasked, and do so as well as
can be told beforehand.
The sandbox is what holds: it says what a program can reach once it runs.
.Pp
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
Commands, word by word.
A word
.Ql *
stands for any number of words, within a word for any part of it;
.Ql \e
takes the next character as it is, and quotes keep the blanks of a word together.
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
http and https are the same, and so are paths that a careless server takes for each other, with any
query and with or without a slash at the end; a rule that names a query is about that one.
In
.Ic allow
an address is covered only as it is.
On a host of which they name a path, another path that has more in it than letters, digits and
/-._~!$&\(aq()*,=@ (a semicolon or a %20, say, or a dot at the end of a name) needs a yes, or a rule
in
.Ic allow
that is this very URL.
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
A rule that allows commands matches lines of a small language alone, which is understood whole.
Each command of the line must be allowed by a rule, and each file that it writes must be one that
.Ic write_file
may write.
.Bl -bullet
.It
Commands stand in a row with
.Ql \&; ,
.Ql && ,
.Ql || ,
.Ql |
or line breaks between them.
.It
Words are plain characters, quotes of both kinds, and
.Ql \e .
A word may hold
.Ql *
and
.Ql \&?
where it begins with something else, so that no file's name becomes an option:
.Ql ./*.c ,
not
.Ql *.c .
.It
Redirections come last, each behind a blank:
.Ql < ,
.Ql > ,
.Ql >> ,
.Ql 2>&1 .
Paths have no
.Ql .. ,
and of
.Pa /dev
only
.Pa /dev/null
is taken.
.It
Assignments in front are those of
.Ev CARGO_TERM_COLOR , CI , CLICOLOR , COLUMNS , FORCE_COLOR , LANG , LC_ALL , LC_COLLATE , LC_CTYPE , LC_MESSAGES , LC_NUMERIC , LC_TIME , LINES , NO_COLOR , PYTHONUNBUFFERED , RUST_BACKTRACE , TERM
and
.Ev TZ ,
with a value of letters and digits.
.It
.Ic command , env , nice , nohup , time
and
.Ic timeout Ar N
without options are seen through:
.Ql timeout 5 make test
needs the rule for
.Ql make test
alone.
.It
.Ic cd
leads to one folder below; relative paths of files and programs are then not taken.
.It
.Ic true , false
and
.Ic \&:
by themselves need no rule.
.El
.Pp
There are no variables, substitutions, loops, functions, subshells, here-documents,
.Ql & ,
braces or
.Ql ~
at the beginning of a word.
A rule that is the whole line, character for character, allows any line.
.Pp
Some programs have options that write files, run programs or change the folder.
Of these a
.Ql *
covers only options that are known to do none of that; all others must stand in the rule, as in
.Ql shell(sort -o out/list *) .
These programs are the usual ones for text
.Pq Ic sort , sed , awk , find , rg , fd , less ,
for archives and transfers
.Pq Ic tar , zip , curl , wget , rsync , ssh , scp ,
.Ic git
and each of its commands,
.Ic make ,
what runs other programs
.Pq Ic xargs , sudo , env , timeout , strace ,
shells and interpreters.
A program that another one runs must stand in the rule, too:
.Ql shell(xargs grep *) .
A shell or an interpreter that is given neither a file nor code is allowed by no rule but the whole
line.
So must what shows a signature in
.Ic git ,
as
.Ql --format=%G\&? ,
since another program looks at it.
Of programs that are not listed here a
.Ql *
covers everything, options that run programs, too.
.Pp
A rule that denies commands, or asks, is looked for in lines of any kind, in substitutions, loops and
the programs that others run
.Pq Ic sudo , env , xargs , find \-exec , sh \-c .
.Ql git-push ,
in whatever folder, is
.Ql git push ;
what another command of git does to the same end
.Pq Ql git send-pack , git subtree push , No an alias
is not known, and a rule that denies or asks must name it.
.Bl -bullet
.It
A line is denied where a command of it is.
There a rule also means the program by another path
.Pq Pa /bin/rm , ./rm ,
its options in any order, bundled or abbreviated, and more arguments, and
.Ql *
stands for anything.
.It
A line needs a yes where the program's name stands in it as a word or in one, and not as what a
program like
.Ic echo , grep , cat
or
.Ic ls
is given as data.
.It
So does what cannot be told before it runs: a variable as a command's name, an unclosed quote,
.Ic eval
of a variable, a shell or an interpreter that reads a pipe, code for an interpreter, a script of
.Ic sed
that is more than lines, texts, jumps and replacements, and before the command that
.Ic env , sudo , nice , timeout
and the like run, an option that is not known to be harmless
.Pq Ql env -S .
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
What a program does of its own accord is not seen by rules; the sandbox keeps it from a denied
file
.Pq Ql x
and a denied folder with all that is in it
.Pq Ql dir/** :
where private mounts can be made, one that is there when the program starts is empty or cannot
be opened where
.Ic read_file
is denied, and cannot be changed where
.Ic write_file
is.
For any other pattern, a denied write to what is not there yet, a folder that the system or the
run works in, and on a machine without private mounts, a program needs a yes even under
.Ic auto .
.Pp
A call is judged before any call of its reply runs, and once more when it starts, since the
calls before it may have changed what a path leads to.
The file tools judge the very file or folder that they have opened, by where it really is; a yes
is to that place.
Where a call that needs a yes gets none before the first call has run, none of them runs; later, it
does not run, nor do those after it.
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
words of Greek or Cyrillic in which one letter at least looks like no Latin one.
Kana and Chinese characters that look like each other are not told apart.
Everything else is written out as
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
says what the rules make of a call, and why, of a line that no rule allows also what in it is to blame:
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
