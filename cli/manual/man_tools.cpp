#include "cli/manual/man_tools.h"

#include "tools/builtin/registry.h"

#include <fmt/format.h>

#include <cctype>

namespace cli {

std::string tools_section() {
  std::string text =
      ".Sh BUILT-IN TOOLS\n"
      "What may stand in\n"
      ".Ic tools\n"
      "by its name:\n"
      ".Bl -tag -width Ds\n";
  for (const tools::Builtin& tool : tools::builtins()) {
    std::string help(tool.help);
    help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(help.front())));
    text += fmt::format(".It Cm {}\n{}.\n", tool.name, help);
  }
  return text + R"mdoc(.El
.Pp
An agent that has
.Ic read_file
changes a file that exists only after it has read it, or written it, in this run, and only as
long as nobody else has changed it since: else
.Ic edit_file , write_file
and
.Ic apply_patch
fail, and say that it has to be read.
.Pp
.Ic apply_patch
takes a unified diff as git writes it, of up to 100 files.
Everything is checked and written beside its place first; then all files change, or none.
The lines that stay or go must be in the file exactly; line numbers may be off where the lines
are unique.
.Pp
A file that is changed keeps its mode, its owner where that is allowed, its access control list,
.Ql user.*
attributes and label.
Set-user-ID, set-group-ID and capabilities do not survive a change of what is in it.
A file with hard links is refused: in place a change would reach it under names elsewhere, and a
new file would be cut off from them.
.Pp
.Ic glob
and
.Ic grep
do not go on from one file system into another that holds no files on a disk
.Pq Pa /proc , /sys , No FUSE ,
unless the path that they are given is in it; what was left out is said.
.Pp
.Ic ask_user
asks where stdin and stderr are a terminal, and waits as long as the run or its own
.Ic timeout
lets it.
Elsewhere the call fails, and the model is told to decide by itself.
.Pp
.Ic git_commit
commits
.Ic paths ,
.Ic all
changes that
.Pa .gitignore
does not name, or without either what is staged; it neither amends nor ends a merge.
.Ic git_switch
switches to a branch of the repository, or with
.Ic create
makes one.
Both need errand to be started in the folder that has
.Pa .git ,
which may be a linked worktree or a submodule.
errand runs the system's git for them, with the user's name and settings, but without hooks,
monitors, filters, signing programs, editors and the network, in a sandbox where git's folders may
be written, but not its settings and hooks.
A file that has a
.Li filter
attribute
.Pq Git LFS, for one
is refused; a commit is not signed, and the result says so where
.Li commit.gpgSign
is set.
What tools must not change is left out of
.Ic all
and refused by its name; a branch with another version of it is refused.
Hooks for
.Ic edit_file
and
.Ic write_file
are not told of files that
.Ic git_switch
brings.
For permissions both write
.Ic paths ,
or the working folder; under
.Ic default: auto
they need no yes.
)mdoc";
}

}  // namespace cli
