#include "cli/manual/man_secrets.h"

namespace cli {

std::string_view secrets_section() {
  return R"mdoc(.Sh SECRETS
Secrets are taken out of everything that is shown or kept, and out of what tools
say before the model reads it; in their place stands
.Ql [redacted] .
Known are the keys of models, the values of variables whose names say that they
are secret
.Pq Ev *_TOKEN , *_PASSWORD No and the like ,
also of those in
.Ic env
of a tool, and the shapes of many providers' keys.
Of a value with several lines each line of 12 bytes or more counts by itself, but for those that
begin with
.Ql ----- .
.Pp
A call that a person is asked about is shown to them as it is.
Beside the redacted arguments of a call stands
.Ic arguments_sha256
.Pq in Ic model.responded , tool.started , approval.requested No and the journal :
SHA-256, in lower-case hex, of the arguments as the model sent them; where the protocol has them as
JSON and not as text, of that JSON without blanks, and of
.Ql {}
where there were none.
.Pp
Out of what tools say goes also what only looks like a secret: what stands behind
a name that says so
.Po
.Ql password: ,
.Ql \(dqapi_key\(dq: ,
.Ql \-\-token
.Pc
or as the password of an address, and is made as no word or name is made; and a
word of at least 32 characters that are as good as random.
Hashes, ids, paths, identifiers, placeholders, sentences and base64 of files
stay.
A secret that is a usual word is not found.
A file that has secrets is not overwritten by a text in which
.Ql [redacted]
stands for them.
.Pp
Of errand's environment programs of tools get the variables in the list under
.Sx WHAT PROGRAMS ARE TOLD
and those of
.Ic tools[].env ,
and no key of a model.
)mdoc";
}

}  // namespace cli
