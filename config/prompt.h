// Templates made into what the model reads.
//
// `{{ name }}` stands for a parameter, in `instructions` and `prompt` only. Where more than two
// braces stand in a row, the last two open the tag: `{{{ name }}}` is the value in braces. Two
// literal braces are written {{ "{{" }}: whatever stands between the quotes is taken as it is.
// What was put in is never read again as a template.
//
// `@picture.png` in the agent's own prompt attaches the file, from the agent file's folder. A value
// may be the path, or the end of it: `@{{ picture }}` starts where the command line is. An `@` in a
// value is text. What the agent names is judged (named_files.h); a path that is wholly a value that
// the person gave is the person's word, as a path on the command line is. A value out of a file is
// not: it may be somebody else's.
#pragma once
#include "agent/attachment.h"
#include "agent/result.h"
#include "agent/spec.h"
#include "config/named_files.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace config {

struct Rendered {
  std::string instructions;  // with the context files, each under a heading line with its path
  std::string prompt;        // empty: there is none
  std::vector<agent::Attachment> attachments;  // what `context` and the agent's own prompt name
};

// `prompt_from_outside` replaces the agent's own prompt and is no template; a required parameter
// that only the replaced prompt names may then be missing. An optional parameter that was not given
// and has no default is empty text. `out_of_a_file`: the names of such parameters. cli.usage for
// wrong, missing and unknown parameters, config.invalid for a context file that cannot be read, may
// not be, or is neither text nor a medium, and for a file in the prompt; cli.no_input where its
// path comes from a parameter.
agent::Result<Rendered> render(const agent::AgentSpec& spec,
                               const std::map<std::string, std::string>& parameters,
                               const std::optional<std::string>& prompt_from_outside,
                               const ReadingPolicy& reading,
                               const std::set<std::string>& out_of_a_file = {});

// cli.usage: it is no value of that parameter.
agent::Result<void> check_parameter(const agent::ParameterSpec& parameter,
                                    const std::string& value);

// What its values are, in words: "a whole number", "one of: a, b".
std::string values_of(const agent::ParameterSpec& parameter);

// The values of all parameters, those that were not given by their defaults. cli.usage as render().
agent::Result<std::map<std::string, std::string>> bound_parameters(
    const agent::AgentSpec& spec, const std::map<std::string, std::string>& given);

// What render() will refuse of the files that the agent file names, in the same words; a path that
// a parameter is part of is not known yet.
agent::Result<void> check_named_files(const agent::AgentSpec& spec, const ReadingPolicy& reading);

}  // namespace config
