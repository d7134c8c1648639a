#include "cli/manual/man_keys.h"

namespace cli {

std::string_view keys_section() {
  return R"mdoc(.Sh WHERE KEYS GO
An agent file names both a variable and the server that gets its value, and may be
a stranger's.
So a value of the environment that a request to a model carries goes only
.Bl -bullet
.It
to this machine: localhost, 127.0.0.0/8, ::1, and never by a proxy; but where a program of
the agent has all of the network (as below), it can listen there itself, and this machine
is as any other server;
.It
to the provider whose key it is, at the addresses listed below or at the one that your
environment gives that provider
.Pq Ev OPENAI_BASE_URL , AZURE_OPENAI_ENDPOINT No and so on ;
.It
where
.Ic api_key_env
names a variable that is no provider's own, to any provider at these addresses;
.It
to the servers that you allow for that variable: with
.Ic key_hosts
in your own config.yaml,
.Fl -key-host
or
.Ev ERRAND_KEY_HOSTS .
.El
.Pp
That is about
.Ic api_key_env ,
the key that a provider has without it, and
.Ql ${env:NAME}
in
.Ic headers
and
.Ic base_url ,
for the model, its fallbacks and models that judge.
An address that is wholly the variable's
.Pq Ql base_url: ${env:LLM_URL}
may be used as it is; which key goes there is another question.
.Pp
.Ql ${env:NAME}
anywhere else in the file, and
.Ic env
of tools, hooks and guardrails, is what a model can come to see.
It may also go to every provider, and to every server that you allow for anything.
Not counted are
.Ic limits
and
.Ic retry ,
which are numbers.
.Pp
A program that is given a value, by
.Ic env
or
.Ql ${env:NAME}
in its
.Ic command ,
can take it to every server that it reaches, with any model and with a replay
.Pq but for what all programs are told anyhow .
With
.Ic sandbox.allow_hosts
each of these hosts is looked at as one of https, whatever the program speaks to it;
with all of the network
.Po Ic network: allow , No no sandbox, or
.Ql network
not in
.Ic sandbox.required
.Pc
the value may go anywhere, or not at all:
.Pp
.Dl key_hosts: {GH_TOKEN: [\(dq*\(dq]}
.Pp
or
.Ql --key-host \(aqGH_TOKEN=*\(aq
allows that for this variable;
.Ql https://*.example.com
is what
.Ic allow_hosts
has as
.Ql *.example.com .
.Pp
A value in any text of the file comes to be told as well: hooks and guardrails read the
prompt, the model writes command lines and addresses.
So where some program of the agent reaches a server, every value in a text, or given to
another program, needs what a value needs that is given to that one; and where
.Ic web_fetch
is offered and no rule denies all of it, it may go anywhere or not at all.
.Nm errand tools call
looks at no model and asks nothing: you name the tool.
.Pp
A server is scheme, host and port, and all three have to be the same: what holds for
https does not hold for http, nor for another port or a name below.
A host is written in letters, digits, - and .\&, without a dot at its end.
No redirect is followed.
.Pp
All else is refused before anything is sent (exit code 78), with the lines that would allow
it.
On a terminal errand asks instead: once, always
.Pq kept in your config.yaml ,
or no.
.Nm errand check
says what a run without a terminal refuses.
A replay asks no model, and so sends no key.
Neither an agent file nor the settings of a project can allow anything here.
)mdoc";
}

}  // namespace cli
