#include "cli/manual/man_work.h"

namespace cli {

std::string work_section() {
  return R"mdoc(.Sh ORDINARY WORK IN THE SANDBOX
What was tried, as root and as an ordinary user, with private mounts and without.
.Pp
As it is: gcc, make, CMake and Ninja, ccache, clang's tools, AddressSanitizer, valgrind; cargo, go,
npm, Node's tests and workers, pip, virtual environments, pyenv, pytest, unittest, pools of
processes; javac, java and Maven without a network; perl, ruby, SQLite, shells, editors, manual
pages, archives, rsync, sorting a gigabyte; openssl, packages by fakeroot and dpkg-deb; what reads a git repository, and repositories
in
.Ev TMPDIR .
.Pp
With a key of
.Ic sandbox :
.Bl -tag -width Ds
.It Ic "network: allow"
A server and its client on this machine, a download.
.It Ic "write: [~/.cache/ccache]"
A cache in the home folder that later runs have, too.
.It Ic "write: [/tmp]"
A file of a fixed name in
.Pa /tmp :
programs have
.Ev TMPDIR .
.It Ic "write: [.git]"
.Ql git add , commit , stash
and
.Ql switch
in the shell; the tools
.Ic git_commit
and
.Ic git_switch
need no key.
.It Ic "write: [copy/.git]"
A clone in the working folder: else its
.Pa .git
has another name after the run.
.It Ic "read: [~/notes]"
A file of the home folder.
.El
.Pp
By no key:
.Bl -bullet
.It
Debuggers and tracers
.Pq gdb , strace :
ptrace is refused.
So are the leak checks of AddressSanitizer, which are switched off by
.Ev ASAN_OPTIONS
and
.Ev LSAN_OPTIONS .
.It
Unix sockets with a name: tmux, screen, gpg with its agent, Python's
.Li multiprocessing.Manager
and its start method
.Li forkserver ,
the default from Python 3.14 on
.Po use
.Li spawn
or
.Li fork
.Pc .
.It
Namespaces and containers, and programs that change the user (root may take another number).
.El
.Pp
Where no private mounts can be made, as in a container, programs have no terminals of their own
.Pq script , pty
and no shared memory
.Pq Python's pools of processes ;
shells say that they cannot read their start files; and Maven wants to read settings that are there:
.Ql read: [~/.m2/settings.xml] .
)mdoc";
}

}  // namespace cli
