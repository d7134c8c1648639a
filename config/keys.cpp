#include "config/keys.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace config {
namespace {

// The two shapes that most rows have; everything beside is named where the row stands.
constexpr Key later(std::string_view path, std::string_view help) {
  return {.path = path,
          .type = Type::anything_map,
          .help = help,
          .example = {},
          .status = Status::later};
}

constexpr auto k_keys = std::to_array<Key>({
    // clang-format off
    {.path = "version", .type = Type::integer, .help = "The version of this format. There is one so far: 1.", .example = "1", .min = 1, .max = 1, .required = true},
    {.path = "name", .type = Type::text, .help = "The agent's name: lower-case letters, digits, `-` and `_`, at most 64.", .example = "pr-reviewer", .shape = Shape::agent_name, .required = true},
    {.path = "description", .type = Type::text, .help = "What the agent is for, in a sentence for people. The model does not read it.", .example = "Reviews a diff and returns a verdict."},

    {.path = "model", .type = Type::text_or_map, .help = "The model, as PROVIDER/NAME; `auto` takes the first provider whose API key is set. The long form is a map of the keys below.", .example = "anthropic/claude-sonnet-4-5", .default_value = "auto", .shape = Shape::model},
    {.path = "model.name", .type = Type::text, .help = "PROVIDER/NAME, or `auto`. With `protocol` and `base_url` given, what stands before the first slash is only a label.", .example = "openai/gpt-5-mini", .shape = Shape::model, .required = true},
    {.path = "model.protocol", .type = Type::text, .help = "The wire protocol that the server speaks, where it is not the one of a known provider.", .example = "openai_chat", .shape = Shape::filled},
    {.path = "model.base_url", .type = Type::text, .help = "The address of the server, up to the path that the protocol itself adds.", .example = "http://localhost:11434/v1", .shape = Shape::url},
    {.path = "model.api_key_env", .type = Type::text, .help = "The name of the environment variable that holds the API key. A `base_url` of your own without it sends no key. WHERE KEYS GO has the servers that may get it.", .example = "OPENAI_API_KEY", .shape = Shape::variable},
    {.path = "model.stream", .type = Type::boolean, .help = "Whether answers are asked for as a stream.", .example = "false", .default_value = "true"},
    {.path = "model.headers", .type = Type::map, .help = "Additional HTTP headers. Take secrets from the environment: ${env:NAME}; WHERE KEYS GO has the servers that may get them. `Host` follows from `base_url`.", .example = "{X-Team: tools}", .shape = Shape::header_name},
    {.path = "model.headers.*", .type = Type::text, .help = "The header's value.", .example = "tools"},
    {.path = "model.temperature", .type = Type::number, .help = "How freely the model words its answers, from 0 to 2. Left out, the provider decides.", .example = "0.2", .min = 0, .max = 2},
    {.path = "model.max_output_tokens", .type = Type::count, .help = "The longest answer to ask for, in tokens. Left out, what the model allows.", .example = "8k"},
    {.path = "model.reasoning", .type = Type::choice, .help = "How much the model may think before it answers. Left out, the provider decides.", .example = "low", .choices = "none|minimal|low|medium|high|xhigh|max"},
    {.path = "model.stop", .type = Type::texts, .help = "Texts that end an answer where the model writes one of them; it is left out.", .example = "[\"---\"]", .shape = Shape::filled},
    {.path = "model.stop[]", .type = Type::text, .help = "A text that ends an answer.", .example = "---", .shape = Shape::filled},
    {.path = "model.tool_choice", .type = Type::text, .help = "Whether the model may answer without a tool: auto, required (it must call one), none, or the name of the tool that it must call. What must be called is asked for until the first call.", .example = "none", .default_value = "auto", .shape = Shape::filled},
    {.path = "model.timeouts", .type = Type::map, .help = "Deadlines of one request to the model.", .example = "{connect: 5s}"},
    {.path = "model.timeouts.connect", .type = Type::duration, .help = "Until the connection is established.", .example = "5s", .default_value = "10s"},
    {.path = "model.timeouts.first_byte", .type = Type::duration, .help = "Streamed answers: until something of the answer comes. Heads, 1xx, comments and pings are nothing of it.", .example = "1m", .default_value = "2m"},
    {.path = "model.timeouts.idle", .type = Type::duration, .help = "Streamed answers: the longest silence in the middle. Comments and pings of the stream hold it off; blank lines and empty deltas do not. The body of a refusal has as long in all.", .example = "30s", .default_value = "1m"},
    {.path = "model.timeouts.request", .type = Type::duration, .help = "The whole request, from the connection to the end of the answer, whatever the server sends.", .example = "5m", .default_value = "30m"},
    {.path = "model.context_window", .type = Type::count, .help = "How many tokens a request and its answer may have together, where errand does not know it, or the server has another limit.", .example = "128k"},
    {.path = "model.cost", .type = Type::map, .help = "What the model costs, in US dollars per million tokens, in place of the price that the program knows.", .example = "{input: 3, output: 15}"},
    {.path = "model.cost.input", .type = Type::money, .help = "Input tokens.", .example = "3", .required = true, .may_be_zero = true},
    {.path = "model.cost.output", .type = Type::money, .help = "Output tokens.", .example = "15", .required = true, .may_be_zero = true},
    {.path = "model.cost.cache_read", .type = Type::money, .help = "Input tokens that came from the provider's cache. Left out, they cost what others do.", .example = "0.30", .may_be_zero = true},
    {.path = "model.cost.cache_write", .type = Type::money, .help = "Input tokens that went into the provider's cache. Left out, they cost what others do.", .example = "3.75", .may_be_zero = true},
    {.path = "model.cost.cache_write_1h", .type = Type::money, .help = "Of these, what is kept for an hour. Left out, it costs what `cache_write` says.", .example = "6", .may_be_zero = true},
    {.path = "model.cost.reasoning", .type = Type::money, .help = "Output tokens that are thoughts. Left out, they cost what others do.", .example = "15", .may_be_zero = true},
    {.path = "model.cost.tiers", .type = Type::list, .help = "Other prices for long requests. All tokens of a request cost what the last tier says that its input is above; a price that is not in the tier stays.", .example = "[{above_input_tokens: 200k, input: 6, output: 22.50}]", .min = 1},
    {.path = "model.cost.tiers[]", .type = Type::map, .help = "The prices of one tier, at least one.", .example = "{above_input_tokens: 200k, input: 6}"},
    {.path = "model.cost.tiers[].above_input_tokens", .type = Type::count, .help = "Requests with more input tokens than this, cached ones included, are in the tier.", .example = "200k", .required = true},
    {.path = "model.cost.tiers[].input", .type = Type::money, .help = "Input tokens.", .example = "6", .may_be_zero = true},
    {.path = "model.cost.tiers[].output", .type = Type::money, .help = "Output tokens.", .example = "22.50", .may_be_zero = true},
    {.path = "model.cost.tiers[].cache_read", .type = Type::money, .help = "Input tokens that came from the provider's cache.", .example = "0.60", .may_be_zero = true},
    {.path = "model.cost.tiers[].cache_write", .type = Type::money, .help = "Input tokens that went into the provider's cache.", .example = "7.50", .may_be_zero = true},
    {.path = "model.cost.tiers[].cache_write_1h", .type = Type::money, .help = "Of these, what is kept for an hour.", .example = "12", .may_be_zero = true},
    {.path = "model.cost.tiers[].reasoning", .type = Type::money, .help = "Output tokens that are thoughts.", .example = "22.50", .may_be_zero = true},
    {.path = "model.requests_per_minute", .type = Type::count, .help = "How many requests, tries that fail included, the process sends to this model in any 60 seconds; so many may go at once. The others wait, each for `retry.max_elapsed` at most. Left out, there is no such limit.", .example = "50"},
    {.path = "model.max_in_flight", .type = Type::count, .help = "How many requests of the process to this model may run at the same time. The others wait, each for `retry.max_elapsed` at most. Left out, there is no such limit.", .example = "4"},

    {.path = "fallback", .type = Type::list_or_map, .help = "Other models to turn to, in this order, when the model fails and trying again did not help. The short form is the list `fallback.models` itself.", .example = "{models: [openai/gpt-5-mini], cooldown: 5m}", .min = 1},
    {.path = "fallback[]", .type = Type::text_or_map, .help = "As an item of `fallback.models`.", .example = "openai/gpt-5-mini", .shape = Shape::named_model, .same_as = "model"},
    {.path = "fallback.models", .type = Type::list, .help = "The other models. Each needs its API key when the run starts.", .example = "[openai/gpt-5-mini, ollama/qwen3]", .min = 1, .required = true},
    {.path = "fallback.models[]", .type = Type::text_or_map, .help = "A model as PROVIDER/NAME, or a map with the keys of `model`. It takes nothing over from `model`.", .example = "openai/gpt-5-mini", .shape = Shape::named_model, .same_as = "model"},
    {.path = "fallback.cooldown", .type = Type::duration, .help = "How long a model that failed is asked only when all others fail, too. With 0s it is asked first again in the next turn.", .example = "5m", .default_value = "1m", .may_be_zero = true},
    {.path = "fallback.on", .type = Type::list, .help = "For which failures: unavailable (network, timeouts, 5xx, answers that are cut off), rate_limited, bad_response (no answer of the protocol), quota, model_not_found, auth, unsupported, context_overflow. Left out, the first five. A refusal by the model is an answer, and never one of them.", .example = "[unavailable, rate_limited]", .min = 1},
    {.path = "fallback.on[]", .type = Type::choice, .help = "A kind of failure.", .example = "unavailable", .choices = "unavailable|rate_limited|bad_response|quota|model_not_found|auth|unsupported|context_overflow"},

    {.path = "instructions", .type = Type::text, .help = "What the model is told before anything else: its task, its manner, its limits. A template: {{ name }} stands for a parameter.", .example = "You are a careful reviewer."},
    {.path = "prompt", .type = Type::text, .help = "The first message to the model. A prompt on the command line or on stdin replaces it. A template: {{ name }} stands for a parameter. @picture.png attaches a picture or a PDF.", .example = "Review the newest commit."},

    {.path = "parameters", .type = Type::map, .help = "Values that the templates name and the command line gives (--param NAME=VALUE), by name.", .example = "{target: {type: string, required: true}}", .shape = Shape::parameter_name},
    {.path = "parameters.*", .type = Type::map, .help = "One parameter; {} is an optional text.", .example = "{type: string, required: true}"},
    {.path = "parameters.*.type", .type = Type::choice, .help = "What the value must be.", .example = "integer", .default_value = "string", .choices = "string|integer|number|boolean"},
    {.path = "parameters.*.required", .type = Type::boolean, .help = "Whether the command line must give it.", .example = "true", .default_value = "false"},
    {.path = "parameters.*.default", .type = Type::scalar, .help = "The value where the command line gives none. Without a default it is empty text.", .example = "HEAD~1"},
    {.path = "parameters.*.description", .type = Type::text, .help = "What it means, for people.", .example = "A git range."},
    {.path = "parameters.*.enum", .type = Type::list, .help = "The only values that are allowed.", .example = "[short, long]"},
    {.path = "parameters.*.enum[]", .type = Type::scalar, .help = "An allowed value.", .example = "short"},

    {.path = "context", .type = Type::list, .help = "Files that are added to the instructions, in this order; pictures and PDFs go with the prompt. Paths start at the agent file; what tools may not read (`sandbox`, `permissions.deny`), and links out of its folder, are refused.", .example = "[AGENTS.md, docs/style.md?]"},
    {.path = "context[]", .type = Type::text, .help = "A path; with a `?` at its end the file may be missing; a link that leads nowhere is not missing.", .example = "AGENTS.md", .shape = Shape::filled},

    {.path = "tools", .type = Type::list, .help = "What the agent can do: built-in tools by name (read_file), built-in tools with settings ({shell: {timeout: 2m}}), and commands of your own as tools.", .example = "[read_file, {shell: {timeout: 2m}}]"},
    {.path = "tools[]", .type = Type::text_or_map, .help = "A built-in tool's name, or a map: settings under a built-in tool's name, or the keys of a command tool.", .example = "read_file", .shape = Shape::tool_name},
    {.path = "tools[].name", .type = Type::text, .help = "Command tools: the name that the model calls: letters, digits, `-` and `_`, at most 64.", .example = "run_tests", .shape = Shape::tool_name, .required = true},
    {.path = "tools[].description", .type = Type::text, .help = "Command tools: what it does and when to use it, for the model.", .example = "Run the unit tests.", .shape = Shape::filled, .required = true},
    {.path = "tools[].command", .type = Type::list, .help = "Command tools: the program and its arguments, as a list; no shell reads it. A program with a slash in it is looked for from the agent file's folder, any other in PATH. The call's arguments come as JSON on stdin.", .example = "[make, test]", .min = 1, .required = true},
    {.path = "tools[].command[]", .type = Type::scalar, .help = "The program, then each argument.", .example = "make"},
    {.path = "tools[].parameters", .type = Type::json_schema, .help = "Command tools: a JSON Schema of the arguments, of type object. Left out, there are none.", .example = "{type: object, properties: {path: {type: string}}}"},
    {.path = "tools[].timeout", .type = Type::duration, .help = "How long one call may take. Left out, the tool's own default.", .example = "5m"},
    {.path = "tools[].idle_timeout", .type = Type::duration, .help = "How long a call may write nothing. Left out, there is no such limit.", .example = "30s"},
    {.path = "tools[].on_error", .type = Type::choice, .help = "What a failure does: the model hears of it (report), or the run ends with exit code 110 (fatal).", .example = "fatal", .default_value = "report", .choices = "report|fatal"},
    {.path = "tools[].parallel", .type = Type::boolean, .help = "Command tools: whether calls may run beside other calls.", .example = "true", .default_value = "false"},
    {.path = "tools[].repeatable", .type = Type::boolean, .help = "Whether the same call with the same result does not count as a loop, as for a tool that waits for something.", .example = "true", .default_value = "false"},
    {.path = "tools[].idempotent", .type = Type::boolean, .help = "Command tools: whether a call may be run again after a transient failure.", .example = "true", .default_value = "false"},
    {.path = "tools[].untrusted", .type = Type::boolean, .help = "Whether what the tool brings is somebody else's words: its results are then shown to the model as data from outside, in a fence that they cannot close.", .example = "true", .default_value = "false"},
    {.path = "tools[].env", .type = Type::list_or_map, .help = "Command tools: environment variables of the program, beside the harmless ones that all tools have (see WHAT PROGRAMS ARE TOLD). A list names variables that are handed on as they are, a model's key too; `GH_*` stands for all that begin so, but for models' keys. A map gives values, secret ones by reference. A variable that is named whole and not set is an error.", .example = "{DEPLOY_TOKEN: \"${env:STAGING_TOKEN:-none}\", RETRIES: 3}", .shape = Shape::variable},
    {.path = "tools[].env[]", .type = Type::text, .help = "The name of a variable that errand has, or the beginning of several and a `*`.", .example = "\"GH_*\"", .shape = Shape::variables},
    {.path = "tools[].env.*", .type = Type::scalar, .help = "The variable's value.", .example = "3"},
    {.path = "tools[].*", .type = Type::map, .help = "Settings of the built-in tool of this name.", .example = "{timeout: 2m}", .shape = Shape::tool_name},
    {.path = "tools[].*.timeout", .type = Type::duration, .help = "How long one call may take. Left out, the tool's own default.", .example = "2m"},
    {.path = "tools[].*.idle_timeout", .type = Type::duration, .help = "How long a call may write nothing. Left out, there is no such limit.", .example = "30s"},
    {.path = "tools[].*.on_error", .type = Type::choice, .help = "What a failure does: the model hears of it (report), or the run ends with exit code 110 (fatal).", .example = "fatal", .default_value = "report", .choices = "report|fatal"},
    {.path = "tools[].*.repeatable", .type = Type::boolean, .help = "Whether the same call with the same result does not count as a loop, as for a tool that waits for something.", .example = "true", .default_value = "false"},
    {.path = "tools[].*.untrusted", .type = Type::boolean, .help = "Whether what the tool brings is somebody else's words: its results are then shown to the model as data from outside, in a fence that they cannot close. It is always so with web_fetch.", .example = "true", .default_value = "false"},
    {.path = "tools[].*.allow_hosts", .type = Type::list, .help = "web_fetch: hosts that it may reach although they are private, over plain http, too, each as HOST (ports 80 and 443) or HOST:PORT. All others are reached by https at public addresses only.", .example = "[intranet.example, \"127.0.0.1:8080\"]", .min = 1},
    {.path = "tools[].*.allow_hosts[]", .type = Type::text, .help = "A host, by its exact name or address.", .example = "intranet.example", .shape = Shape::host},
    {.path = "tools[].*.env", .type = Type::list_or_map, .help = "Of the shell: as `tools[].env`.", .example = "{RETRIES: 3}", .shape = Shape::variable},
    {.path = "tools[].*.env[]", .type = Type::text, .help = "The name of a variable that errand has, or the beginning of several and a `*`.", .example = "\"GH_*\"", .shape = Shape::variables},
    {.path = "tools[].*.env.*", .type = Type::scalar, .help = "The variable's value.", .example = "3"},

    {.path = "limits", .type = Type::map, .help = "Where the run is stopped, each with an exit code of its own. A limit that is left out does not exist.", .example = "{max_turns: 40, timeout: 20m}"},
    {.path = "limits.max_turns", .type = Type::count, .help = "How many times the model may answer. Exit code 80.", .example = "40"},
    {.path = "limits.max_tool_calls", .type = Type::count, .help = "How many tool calls may run. Exit code 83.", .example = "200"},
    {.path = "limits.max_total_tokens", .type = Type::count, .help = "How many tokens may be used, input and output together; what the provider does not say, or what cannot be, is estimated from the bytes. Exit code 81.", .example = "500k"},
    {.path = "limits.timeout", .type = Type::duration, .help = "How long the run may work, all processes that carry it on together (of one that was killed, until its last event); while a person is asked on a terminal whether a call may run the clock stands still. Exit code 124.", .example = "20m"},
    {.path = "limits.max_repeat_calls", .type = Type::count, .help = "How often the same call may give the same result, within one reply of the model as well, or `unlimited`. Exit code 86.", .example = "10", .default_value = "5", .choices = "unlimited", .min = 2},
    {.path = "limits.max_parallel", .type = Type::integer, .help = "How many calls of `sub_agents` are at work at the same time.", .example = "8", .default_value = "4", .min = 1, .max = 64},
    {.path = "limits.max_depth", .type = Type::integer, .help = "How deep `sub_agents` may lie below each other; of a flow, how deep flows that are steps of flows may.", .example = "2", .default_value = "4", .min = 1, .max = 16},
    {.path = "limits.max_handoffs", .type = Type::integer, .help = "How often the conversation of a run may be handed over (`handoffs`), by whichever agent. Left out, an agent has it once: where it would come back, the run ends. Exit code 87.", .example = "6", .min = 1, .max = 64},
    {.path = "limits.wrap_up", .type = Type::boolean, .help = "Whether a share is kept for one last turn without tools, in which the model gives the best answer that it can: one turn of `max_turns`, a tenth of `max_total_tokens`, `max_cost_usd` and `timeout`. The run still ends with the limit's exit code, and its partial answer is that one.", .example = "true", .default_value = "false"},
    {.path = "limits.max_cost_usd", .type = Type::money, .help = "How much the run may cost, in US dollars. Exit code 82. It counts for the model and for each of its fallbacks: none is asked that the rest does not pay for. A model whose price is not known is refused.", .example = "1.50"},

    {.path = "retry", .type = Type::map, .help = "How a failed request to the model is tried again.", .example = "{max_attempts: 6}"},
    {.path = "retry.max_attempts", .type = Type::integer, .help = "How often it is tried, the first time included. At most twice where another try is unlikely to do better: a port of this machine that nobody listens at, an answer that is none.", .example = "6", .default_value = "4", .min = 1, .max = 100},
    {.path = "retry.initial_delay", .type = Type::duration, .help = "The upper end of the first wait; each further one doubles it.", .example = "1s", .default_value = "500ms", .may_be_zero = true},
    {.path = "retry.max_delay", .type = Type::duration, .help = "The longest single wait.", .example = "1m", .default_value = "30s", .may_be_zero = true},
    {.path = "retry.max_elapsed", .type = Type::duration, .help = "The most that all waits for one request may add up to.", .example = "5m", .default_value = "1m", .may_be_zero = true},

    {.path = "permissions", .type = Type::map, .help = "Which tool calls run, need a person's approval, or are denied. A rule is a tool (`read_*`, `mcp__github__*`), or a tool and what it is called with: a path for the file tools (`write_file(src/**)`), a command for shell (`shell(git diff *)`), else the arguments as JSON. A rule in `deny` wins over `ask`, that over `allow`. Where nobody can be asked, a call that needs approval ends the run with exit code 92.", .example = "{allow: [\"shell(git diff *)\"], deny: [\"shell(git push *)\"]}"},
    {.path = "permissions.default", .type = Type::choice, .help = "What holds where no rule speaks of a call. `auto` allows what only reads, or writes in the working folder, and programs that the sandbox confines to that; all else is asked for. A tool that nothing can allow is not offered to the model.", .example = "ask", .default_value = "auto", .choices = "auto|allow|ask|deny"},
    {.path = "permissions.allow", .type = Type::list, .help = "Calls that run. A command line runs where each command in it is allowed, and each file that it writes.", .example = "[\"read_*\", \"shell(git diff *)\"]"},
    {.path = "permissions.allow[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(git diff *)", .shape = Shape::filled},
    {.path = "permissions.ask", .type = Type::list, .help = "Calls that need a person's approval. What cannot be understood of a command line counts as being in this list, as soon as a rule of `ask` or `deny` speaks of commands or paths.", .example = "[\"shell(git push *)\"]"},
    {.path = "permissions.ask[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(git push *)", .shape = Shape::filled},
    {.path = "permissions.deny", .type = Type::list, .help = "Calls that never run: the model reads which rule forbids it, and the run goes on. A path that is denied to read_file is denied to grep, edit_file, apply_patch and commands, too; one that is denied to write_file, to edit_file, apply_patch and commands.", .example = "[\"shell(rm -rf *)\", \"read_file(secrets/**)\"]"},
    {.path = "permissions.deny[]", .type = Type::text, .help = "A rule: TOOL, or TOOL(ARGUMENT).", .example = "shell(rm -rf *)", .shape = Shape::filled},

    {.path = "approval", .type = Type::map, .help = "Calls that need approval while nobody is there: the run is parked, and `errand resume` takes the answers.", .example = "{deadline: 24h}"},
    {.path = "approval.deadline", .type = Type::duration, .help = "How long a parked call may wait. A run that is carried on later than that ends with exit code 97; carried on once more, the model reads that nobody approved its calls. Left out, they wait for ever.", .example = "24h"},

    {.path = "session", .type = Type::map, .help = "Where the run is recorded, so that it can be shown and resumed.", .example = "{store: none}"},
    {.path = "session.store", .type = Type::text, .help = "`auto` is the user's state folder, `none` records nothing, anything else is the path of the journal file. A step or a sub-agent is recorded as the whole is that it works for, whatever its own file says.", .example = "none", .default_value = "auto", .shape = Shape::filled},
    {.path = "session.durability", .type = Type::choice, .help = "What the record survives: the death of the process, or also a power cut (full), which costs time at each step.", .example = "full", .default_value = "process", .choices = "process|full"},
    {.path = "session.keep", .type = Type::duration, .help = "At the end of a run, older ones are removed from the journal: those of which nothing was heard for that long, and which no living process has. Those that are parked go, too, with a warning. In a journal that `session.store` names these are all runs; in the user's own the runs of the agent of this name in the working folder.", .example = "30d"},

    {.path = "sandbox", .type = Type::text_or_map, .help = "What the programs that tools start, and the file tools, can reach. The short form is `sandbox.mode` alone.", .example = "{mode: workspace_write, network: allow}", .default_value = "workspace_write", .shape = Shape::sandbox_mode},
    {.path = "sandbox.mode", .type = Type::choice, .help = "What may be written: nothing but a temporary folder (read_only), also the workspace, which is the working folder (workspace_write), or whatever you may write (off: no sandbox at all). What may be read is what the system has and the work needs: neither the rest of the home folders nor the places where secrets are kept.", .example = "read_only", .default_value = "workspace_write", .choices = "read_only|workspace_write|off"},
    {.path = "sandbox.network", .type = Type::choice, .help = "Whether programs may open internet sockets. Unix sockets stay closed.", .example = "allow", .default_value = "deny", .choices = "allow|deny"},
    {.path = "sandbox.allow_hosts", .type = Type::list, .help = "Hosts that programs may reach although the network is denied, by HTTP, HTTPS or any protocol that an HTTP proxy tunnels: programs get a network of their own whose one way out is errand's proxy. Each is HOST (ports 80 and 443) or HOST:PORT; *.DOMAIN is what is below the domain, at public addresses. Where no such network can be made, exit code 93.", .example = "[pypi.org, files.pythonhosted.org, \"*.example.com\"]", .min = 1},
    {.path = "sandbox.allow_hosts[]", .type = Type::text, .help = "A host, by its exact name or address, or all below one.", .example = "pypi.org", .shape = Shape::host_pattern},
    {.path = "sandbox.read", .type = Type::list, .help = "What may be read beside what THE SANDBOX says: a place in a home folder, or a secret one. Paths are absolute, below `~/`, or start at the agent file.", .example = "[~/.npmrc]"},
    {.path = "sandbox.read[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/.npmrc", .shape = Shape::filled},
    {.path = "sandbox.write", .type = Type::list, .help = "What may be written beside the workspace. Paths are absolute, below `~/`, or start at the agent file.", .example = "[~/.cache/pip]"},
    {.path = "sandbox.write[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/.cache/pip", .shape = Shape::filled},
    {.path = "sandbox.memory", .type = Type::count, .help = "How many bytes of memory the processes of a call may use together; without the layer control_group, how many bytes of address space each of them may have. Left out, there is no such limit.", .example = "2G"},
    {.path = "sandbox.processes", .type = Type::count, .help = "How many processes a call may have at the same time; without the layer control_group, how many its user may have in all, which does not hold for root. Left out, there is no such limit.", .example = "200"},
    {.path = "sandbox.cpu_time", .type = Type::duration, .help = "How much processor time each process of a program may use, in whole seconds. Left out, there is no such limit.", .example = "5m"},
    {.path = "sandbox.required", .type = Type::list, .help = "Layers of the sandbox without which the run does not start: files, mounts, network, hosts, system_calls, signals, control_group, memory, processes, cpu_time. Exit code 93. Others that the machine lacks are warnings.", .example = "[files, network, mounts]", .default_value = "[files, network]"},
    {.path = "sandbox.required[]", .type = Type::choice, .help = "The name of a layer.", .example = "mounts", .choices = "files|mounts|network|hosts|system_calls|signals|control_group|memory|processes|cpu_time"},
    {.path = "hooks", .type = Type::map, .help = "Commands that are told of points of the run, as JSON on stdin, and may answer: by their exit status (0 passes, 2 denies), or as JSON on stdout. They run by `sh -c` in the agent file's folder, in the sandbox as programs of tools do, and are told the same variables.", .example = "{pre_tool_use: [{matcher: shell, command: ./policy.sh}]}"},
    {.path = "hooks.dialect", .type = Type::choice, .help = "Whose names the JSON uses for points, tools and arguments, so that hook scripts that were written for that program run unchanged.", .example = "gemini", .default_value = "claude", .choices = "claude|gemini|docker_agent"},
    {.path = "hooks.run_start", .type = Type::list, .help = "Before the first request. A hook that denies ends the run.", .example = "[{command: ./run_start.sh}]"},
    {.path = "hooks.run_start[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./run_start.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.pre_model", .type = Type::list, .help = "Before each request to the model. A hook that denies ends the run.", .example = "[{command: ./pre_model.sh}]"},
    {.path = "hooks.pre_model[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./pre_model.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.post_model", .type = Type::list, .help = "After each answer of the model.", .example = "[{command: ./post_model.sh}]"},
    {.path = "hooks.post_model[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./post_model.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.pre_tool_use", .type = Type::list, .help = "Before each tool call, its permission included. A hook may deny the call, change its arguments, or have a person asked.", .example = "[{command: ./pre_tool_use.sh}]"},
    {.path = "hooks.pre_tool_use[]", .type = Type::map, .help = "A command, and when it is to be told.", .example = "{matcher: shell, command: ./policy.sh, timeout: 10s}"},
    {.path = "hooks.pre_tool_use[].command", .type = Type::text, .help = "The command line. Regular files that it names are not for tools to write; where one has changed since the run began, the hook counts as broken.", .example = "./policy.sh", .shape = Shape::filled, .required = true},
    {.path = "hooks.pre_tool_use[].matcher", .type = Type::text, .help = "Which tools it is about: a regular expression (RE2) over the whole name, in errand's words or in the dialect's. For pre_tool_use and post_tool_use alone; left out, or `*`, all of them.", .example = "shell|edit_file"},
    {.path = "hooks.pre_tool_use[].timeout", .type = Type::duration, .help = "How long it may take.", .example = "10s", .default_value = "1m"},
    {.path = "hooks.pre_tool_use[].kind", .type = Type::choice, .help = "What its own failure means: nothing (observe), the end of the run with exit code 90 (guard), or that what it was to change is withheld (transform). What an observer answers does not count. Left out: guard for run_start, pre_model and pre_tool_use, observe for the others.", .example = "guard", .choices = "observe|guard|transform"},
    {.path = "hooks.pre_tool_use[].on_error", .type = Type::choice, .help = "What its failure does: what `kind` says (stop), or nothing (ignore).", .example = "ignore", .default_value = "stop", .choices = "stop|ignore"},
    {.path = "hooks.pre_tool_use[].env", .type = Type::list_or_map, .help = "Environment variables of the command, as `tools[].env`.", .example = "[\"GH_*\"]", .shape = Shape::variable},
    {.path = "hooks.pre_tool_use[].env[]", .type = Type::text, .help = "The name of a variable that errand has, or the beginning of several and a `*`.", .example = "\"GH_*\"", .shape = Shape::variables},
    {.path = "hooks.pre_tool_use[].env.*", .type = Type::scalar, .help = "The variable's value.", .example = "3"},
    {.path = "hooks.pre_tool_use[].sandbox", .type = Type::text_or_map, .help = "What the command may reach beside what programs of tools may: it runs in the sandbox as they do. `off` runs it outside; its line is then a plain one (no `$`, wildcard, `cd` or code), its folder one that tools cannot write, and none of its words names a place that they can, there already or not.", .example = "{network: allow, write: [~/notes]}", .shape = Shape::off},
    {.path = "hooks.pre_tool_use[].sandbox.network", .type = Type::choice, .help = "As `sandbox.network`, for this command.", .example = "allow", .choices = "allow|deny"},
    {.path = "hooks.pre_tool_use[].sandbox.read", .type = Type::list, .help = "As `sandbox.read`, for this command.", .example = "[~/.config/notify]"},
    {.path = "hooks.pre_tool_use[].sandbox.read[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/.config/notify", .shape = Shape::filled},
    {.path = "hooks.pre_tool_use[].sandbox.write", .type = Type::list, .help = "As `sandbox.write`, for this command.", .example = "[~/notes]"},
    {.path = "hooks.pre_tool_use[].sandbox.write[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/notes", .shape = Shape::filled},
    {.path = "hooks.post_tool_use", .type = Type::list, .help = "After each tool call that ran. A hook may add to the result, change it, or withhold it.", .example = "[{command: ./post_tool_use.sh}]"},
    {.path = "hooks.post_tool_use[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`.", .example = "{command: ./post_tool_use.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.notification", .type = Type::list, .help = "When a person would want to know: a call needs approval, a limit is near, a warning.", .example = "[{command: ./notification.sh}]"},
    {.path = "hooks.notification[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./notification.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.stop", .type = Type::list, .help = "When the model is done. A hook may send it on, once in a run.", .example = "[{command: ./stop.sh}]"},
    {.path = "hooks.stop[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./stop.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.run_end", .type = Type::list, .help = "After every ending of a run that has begun.", .example = "[{command: ./run_end.sh}]"},
    {.path = "hooks.run_end[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./run_end.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "hooks.pre_compact", .type = Type::list, .help = "Before the conversation is made shorter for the model. A hook of the kind `guard` that denies ends the run.", .example = "[{command: ./pre_compact.sh}]"},
    {.path = "hooks.pre_compact[]", .type = Type::map, .help = "As an item of `hooks.pre_tool_use`, without `matcher`.", .example = "{command: ./pre_compact.sh}", .same_as = "hooks.pre_tool_use[]"},
    {.path = "guardrails", .type = Type::map, .help = "Checks on what goes in and out, and a switch that ends the run. See GUARDRAILS.", .example = "{output: [{find: secrets}], kill_switch: ~/stop-errand}"},
    {.path = "guardrails.redact_secrets", .type = Type::boolean, .help = "Whether secrets are taken out of what tools show to the model.", .example = "false", .default_value = "true"},
    {.path = "guardrails.kill_switch", .type = Type::text, .help = "A file: while it is there, no request and no call starts, and the run ends with exit code 96. The path is absolute, below `~/`, or starts at the agent file. Put it where tools cannot write.", .example = "~/stop-errand", .shape = Shape::filled},
    {.path = "guardrails.retries", .type = Type::integer, .help = "How many answers that a check denies go back to the model, until one more ends the run with exit code 91.", .example = "0", .default_value = "2", .min = 0, .max = 100},
    {.path = "guardrails.input", .type = Type::list, .help = "Checks on the prompt, before anything is sent. Instructions, context files and attachments are not looked at.", .example = "[{find: pii, action: redact}]", .min = 1},
    {.path = "guardrails.input[]", .type = Type::map, .help = "As an item of `guardrails.tool_result`, without `tool`.", .example = "{find: pii, action: redact}", .same_as = "guardrails.tool_result[]"},
    {.path = "guardrails.output", .type = Type::list, .help = "Checks on the final answer, before anybody reads it. Nothing is streamed to the terminal then.", .example = "[{find: secrets}]", .min = 1},
    {.path = "guardrails.output[]", .type = Type::map, .help = "As an item of `guardrails.tool_result`, without `tool`.", .example = "{find: secrets}", .same_as = "guardrails.tool_result[]"},
    {.path = "guardrails.tool_call", .type = Type::list, .help = "Checks on the arguments of tool calls, before they run. They cannot redact: that would change what runs.", .example = "[{tool: shell, pattern: \"curl .*http:\"}]", .min = 1},
    {.path = "guardrails.tool_call[]", .type = Type::map, .help = "As an item of `guardrails.tool_result`.", .example = "{tool: shell, pattern: \"curl .*http:\"}", .same_as = "guardrails.tool_result[]"},
    {.path = "guardrails.tool_result", .type = Type::list, .help = "Checks on what tools answer, before the model reads it.", .example = "[{tool: shell, find: pii, action: redact}]", .min = 1},
    {.path = "guardrails.tool_result[]", .type = Type::map, .help = "A check, with one of `pattern`, `find`, `command` and `judge`.", .example = "{find: pii, action: redact}"},
    {.path = "guardrails.tool_result[].name", .type = Type::text, .help = "What events and messages call it. Left out, what it looks for.", .example = "injection", .shape = Shape::filled},
    {.path = "guardrails.tool_result[].pattern", .type = Type::text, .help = "A regular expression (RE2) that finds what is not to be.", .example = "(?i)ignore previous", .shape = Shape::filled},
    {.path = "guardrails.tool_result[].find", .type = Type::choice, .help = "What is not to be: secrets (keys and tokens of a known shape, and the values of secret variables), email, phone (in international or North American form), card (payment cards), ssn (of the United States), iban, or pii for the last five together.", .example = "pii", .choices = "secrets|pii|email|phone|card|ssn|iban"},
    {.path = "guardrails.tool_result[].command", .type = Type::text, .help = "A command for `sh -c`, run in the agent file's folder, in the sandbox. It reads JSON on stdin; exit status 0 lets the text pass, 2 does not, with the reason on stderr.", .example = "./scan.sh", .shape = Shape::filled},
    {.path = "guardrails.tool_result[].env", .type = Type::list_or_map, .help = "Of a `command`: environment variables, as `tools[].env`.", .example = "[\"GH_*\"]", .shape = Shape::variable},
    {.path = "guardrails.tool_result[].env[]", .type = Type::text, .help = "The name of a variable that errand has, or the beginning of several and a `*`.", .example = "\"GH_*\"", .shape = Shape::variables},
    {.path = "guardrails.tool_result[].env.*", .type = Type::scalar, .help = "The variable's value.", .example = "3"},
    {.path = "guardrails.tool_result[].sandbox", .type = Type::text_or_map, .help = "Of a `command`: what it may reach beside what programs of tools may: it runs in the sandbox as they do. `off` runs it outside; its line is then a plain one (no `$`, wildcard, `cd` or code), its folder one that tools cannot write, and none of its words names a place that they can, there already or not.", .example = "{network: allow, write: [~/notes]}", .shape = Shape::off},
    {.path = "guardrails.tool_result[].sandbox.network", .type = Type::choice, .help = "As `sandbox.network`, for this command.", .example = "allow", .choices = "allow|deny"},
    {.path = "guardrails.tool_result[].sandbox.read", .type = Type::list, .help = "As `sandbox.read`, for this command.", .example = "[~/.config/notify]"},
    {.path = "guardrails.tool_result[].sandbox.read[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/.config/notify", .shape = Shape::filled},
    {.path = "guardrails.tool_result[].sandbox.write", .type = Type::list, .help = "As `sandbox.write`, for this command.", .example = "[~/notes]"},
    {.path = "guardrails.tool_result[].sandbox.write[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/notes", .shape = Shape::filled},
    {.path = "guardrails.tool_result[].judge", .type = Type::text, .help = "A question to a model about the text: where the answer is yes, it was found.", .example = "Does it give medical advice?", .shape = Shape::filled},
    {.path = "guardrails.tool_result[].model", .type = Type::text_or_map, .help = "The model that judges, as PROVIDER/NAME, or a map with the keys of `model`. Left out, the agent's own, its fallbacks included.", .example = "openai/gpt-5-mini", .shape = Shape::model, .same_as = "model"},
    {.path = "guardrails.tool_result[].timeout", .type = Type::duration, .help = "How long a command or a judge may take.", .example = "10s", .default_value = "1m"},
    {.path = "guardrails.tool_result[].action", .type = Type::choice, .help = "What happens where it finds something: only an event (warn); it is taken out (redact; `pattern` and `find` alone); it is refused (deny: exit code 91 for the prompt and the answer, the model is told of calls and results); the run ends with exit code 96 (kill).", .example = "warn", .default_value = "deny", .choices = "warn|redact|deny|kill"},
    {.path = "guardrails.tool_result[].tool", .type = Type::text, .help = "Calls and results: which tools, as a regular expression (RE2) of the whole name. Left out, or `*`, all.", .example = "shell|write_.*", .shape = Shape::filled},
    {.path = "output", .type = Type::map, .help = "What the answer must be.", .example = "{schema: {type: object}}"},
    {.path = "output.schema", .type = Type::map_or_path, .help = "A JSON Schema (draft-07) that the answer must fit, as a map or as the path of a JSON file; paths start at the agent file. The provider is asked to enforce it, and the answer is checked against it. Exit code 111.", .example = "{type: object, properties: {verdict: {type: string}}}", .shape = Shape::filled, .required = true},
    {.path = "output.repair_attempts", .type = Type::integer, .help = "How many answers that do not fit go back to the model, with what is wrong in them and where; it can call no tools then. `0`: none. One more ends the run with exit code 111.", .example = "1", .default_value = "3", .min = 0, .max = 100},
    {.path = "checks", .type = Type::list_or_map, .help = "Commands that have to succeed when the agent says that it is done. What fails goes back to it, `attempts` times. The short form is the list `checks.run` itself. Exit code 113. See CHECKS.", .example = "[{run: make test, timeout: 10m}]", .min = 1},
    {.path = "checks[]", .type = Type::text_or_map, .help = "As an item of `checks.run`.", .example = "make test", .shape = Shape::filled, .same_as = "checks.run[]"},
    {.path = "checks.run", .type = Type::list, .help = "The commands. All of them run, one after the other, in this order.", .example = "[make test]", .min = 1, .required = true},
    {.path = "checks.run[]", .type = Type::text_or_map, .help = "A command line for `sh -c`, in the working folder and in the sandbox of the tools; or a map of the keys below.", .example = "make test", .shape = Shape::filled},
    {.path = "checks.run[].run", .type = Type::text, .help = "The command line. Exit status 0 means that the check passes.", .example = "make test", .shape = Shape::filled, .required = true},
    {.path = "checks.run[].name", .type = Type::text, .help = "What it is called in messages. Left out, its command line.", .example = "tests", .shape = Shape::filled},
    {.path = "checks.run[].timeout", .type = Type::duration, .help = "How long it may take; then it has failed.", .example = "10m", .default_value = "5m"},
    {.path = "checks.protect", .type = Type::list, .help = "Files that the agent must leave as they are, or no check passes: patterns with `*` and `**`, from the working folder; a folder stands for all that is in it.", .example = "[\"tests/**\"]", .min = 1},
    {.path = "checks.protect[]", .type = Type::text, .help = "A pattern of paths.", .example = "tests/**", .shape = Shape::filled},
    {.path = "attempts", .type = Type::integer, .help = "How many answers are checked by `checks` before the run ends with exit code 113. The same failure twice in a row ends it at once.", .example = "5", .default_value = "3", .min = 1, .max = 100},
    {.path = "context_management", .type = Type::text_or_map, .help = "What happens when the conversation grows too long for the model's window; `off`: nothing is made shorter, and what the provider refuses ends the run (84). The log keeps all of it. Without effect where the window is not known (`model.context_window`). See LONG CONVERSATIONS.", .example = "{clear: {at: 50%}, pin: [notes/plan.md]}", .shape = Shape::switched_off},
    {.path = "context_management.clear", .type = Type::text_or_map, .help = "Old tool results go first. The model can read them again with the tool `read_result`, which it then has.", .example = "{at: 60%, keep_results: 5}", .shape = Shape::switched_off},
    {.path = "context_management.clear.at", .type = Type::text, .help = "From how much of the window on, where that frees a fifth.", .example = "50%", .default_value = "60%", .shape = Shape::percent},
    {.path = "context_management.clear.keep_results", .type = Type::integer, .help = "How many of the newest results stay.", .example = "10", .default_value = "5", .min = 0, .max = 100},
    {.path = "context_management.summarize", .type = Type::text_or_map, .help = "Where that is not enough, older turns become a summary, which a model writes.", .example = "{at: 85%, keep_recent: 20k, model: anthropic/claude-haiku-4-5}", .shape = Shape::switched_off},
    {.path = "context_management.summarize.at", .type = Type::text, .help = "From how much of the window on.", .example = "75%", .default_value = "85%", .shape = Shape::percent},
    {.path = "context_management.summarize.keep_recent", .type = Type::count, .help = "How many tokens of the newest turns stay as they are; at most a third of the window.", .example = "40k", .default_value = "20k"},
    {.path = "context_management.summarize.model", .type = Type::text_or_map, .help = "The model that writes it, as PROVIDER/NAME, or a map with the keys of `model`. Left out, the agent's own, its fallbacks included.", .example = "anthropic/claude-haiku-4-5", .shape = Shape::named_model, .same_as = "model"},
    {.path = "context_management.summarize.timeout", .type = Type::duration, .help = "How long that may take.", .example = "30s", .default_value = "2m"},
    {.path = "context_management.pin", .type = Type::list, .help = "Files that stay with the model word for word, as they are whenever the conversation is made shorter: of each at most 30 kB, of all at most a quarter of the window, and only what tools may read. Paths start in the working folder; a file that is not there is left out.", .example = "[notes/plan.md]", .min = 1, .max = 20},
    {.path = "context_management.pin[]", .type = Type::text, .help = "The path of a file.", .example = "notes/plan.md", .shape = Shape::filled},
    {.path = "mcp_servers", .type = Type::map, .help = "MCP servers whose tools the agent can use, by name; each tool is called `mcp__NAME__TOOL`. They are started before the first turn, all at once, and ended with the run. A pasted `mcpServers` block is read, too. See MCP SERVERS.", .example = "{files: {command: npx, args: [-y, \"@modelcontextprotocol/server-filesystem\", .], sandbox: true}}", .shape = Shape::filled},
    {.path = "mcp_servers.*", .type = Type::map, .help = "A server, by its name of at most 40 bytes.", .example = "{command: ./server.py}"},
    {.path = "mcp_servers.*.command", .type = Type::text, .help = "The program, which speaks MCP on its stdin and stdout; without a slash it is looked up in PATH. This or `url` is needed.", .example = "npx", .shape = Shape::filled},
    {.path = "mcp_servers.*.args", .type = Type::list, .help = "Its arguments; no shell reads them.", .example = "[-y, some-server]"},
    {.path = "mcp_servers.*.args[]", .type = Type::scalar, .help = "An argument.", .example = "-y"},
    {.path = "mcp_servers.*.env", .type = Type::list_or_map, .help = "Its environment variables, as `tools[].env`.", .example = "{TOKEN: \"${env:TOKEN:-none}\"}", .shape = Shape::variable},
    {.path = "mcp_servers.*.env[]", .type = Type::text, .help = "The name of a variable that errand has, or the beginning of several and a `*`.", .example = "\"GH_*\"", .shape = Shape::variables},
    {.path = "mcp_servers.*.env.*", .type = Type::scalar, .help = "The variable's value.", .example = "3"},
    {.path = "mcp_servers.*.url", .type = Type::text, .help = "The address of a server that is reached by HTTP.", .example = "https://mcp.example.com/mcp", .shape = Shape::url},
    {.path = "mcp_servers.*.headers", .type = Type::map, .help = "HTTP headers for each request to it, as `model.headers`.", .example = "{Authorization: \"Bearer ${env:CRM_TOKEN:-none}\"}", .shape = Shape::header_name},
    {.path = "mcp_servers.*.headers.*", .type = Type::text, .help = "The header's value.", .example = "tools"},
    {.path = "mcp_servers.*.oauth", .type = Type::map, .help = "How errand shows a server with `url` who it is, where that wants to know. Left out, `errand mcp login` makes a login, and registers a client for it.", .example = "{client_id: errand}"},
    {.path = "mcp_servers.*.oauth.grant", .type = Type::choice, .help = "`authorization_code`: a person logs in by `errand mcp login`. `client_credentials`: the client gets its tokens by itself, for CI.", .example = "client_credentials", .default_value = "authorization_code", .choices = "authorization_code|client_credentials"},
    {.path = "mcp_servers.*.oauth.client_id", .type = Type::text, .help = "The client, as the authorization server knows it; or the https address of its metadata document.", .example = "errand", .shape = Shape::filled},
    {.path = "mcp_servers.*.oauth.client_secret", .type = Type::text, .help = "Its secret, from the environment. It goes to the authorization server where WHERE KEYS GO allows that.", .example = "\"${env:CRM_SECRET:-none}\"", .shape = Shape::filled},
    {.path = "mcp_servers.*.oauth.private_key", .type = Type::text, .help = "In place of a secret: the client's private key (PEM; P-256 or RSA), from the environment, with which it signs who it is.", .example = "\"${env:CRM_KEY:-none}\"", .shape = Shape::filled},
    {.path = "mcp_servers.*.oauth.scopes", .type = Type::list, .help = "What tokens are asked for, beside what the server wants.", .example = "[read, write]"},
    {.path = "mcp_servers.*.oauth.scopes[]", .type = Type::text, .help = "A scope of the authorization server.", .example = "read", .shape = Shape::filled},
    {.path = "mcp_servers.*.oauth.issuer", .type = Type::text, .help = "The one authorization server that may give tokens, as it calls itself. Left out, the server says which.", .example = "https://login.example.com", .shape = Shape::url},
    {.path = "mcp_servers.*.type", .type = Type::choice, .help = "How it is spoken to: `stdio` goes with `command`, the others with `url`. It may be left out; `sse` is the form of 2024, which is also found where the newer one is refused.", .example = "http", .choices = "stdio|http|streamable-http|sse"},
    {.path = "mcp_servers.*.tools", .type = Type::list, .help = "Which of its tools are offered, by the server's names, with `*`; a `!` before one leaves out. The last pattern that is about a tool counts. Left out, all.", .example = "[\"get_*\", \"!get_secret\"]"},
    {.path = "mcp_servers.*.tools[]", .type = Type::text, .help = "A pattern of names.", .example = "get_*", .shape = Shape::filled},
    {.path = "mcp_servers.*.resources", .type = Type::boolean, .help = "Whether the agent can read the server's resources, where it has any: with the tool `mcp_resources`, one for all servers.", .example = "false", .default_value = "true"},
    {.path = "mcp_servers.*.elicitation", .type = Type::choice, .help = "What it is answered where it asks the person: `ask`: by them, and no where nobody is there; `defaults`: what it gives as defaults itself, and no where a needed field has none, one does not fit, or there is none at all; `decline`: no.", .example = "decline", .default_value = "ask", .choices = "ask|defaults|decline"},
    {.path = "mcp_servers.*.load", .type = Type::choice, .help = "Whether the model sees all of its tools from the first turn on (`all`), or finds them with the tool `find_tools` (`search`). `auto` searches where the tools of all servers that have it would take more than a tenth of the model's window, as far as that is known.", .example = "search", .default_value = "auto", .choices = "auto|search|all"},
    {.path = "mcp_servers.*.required", .type = Type::boolean, .help = "Whether the run needs it: exit code 69 where it does not start. Without, the run goes on without its tools, and says so.", .example = "false", .default_value = "true"},
    {.path = "mcp_servers.*.sandbox", .type = Type::boolean_or_map, .help = "Left out, the server runs as the user's own program, outside of the sandbox: nothing in its command may name what tools can write, and it starts where they cannot. `true` confines it as programs of tools are, in the working folder; a map opens more.", .example = "{network: allow}"},
    {.path = "mcp_servers.*.sandbox.network", .type = Type::choice, .help = "As `sandbox.network`, for this server.", .example = "allow", .choices = "allow|deny"},
    {.path = "mcp_servers.*.sandbox.read", .type = Type::list, .help = "As `sandbox.read`, for this server.", .example = "[~/.config/some-server]"},
    {.path = "mcp_servers.*.sandbox.read[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/.config/some-server", .shape = Shape::filled},
    {.path = "mcp_servers.*.sandbox.write", .type = Type::list, .help = "As `sandbox.write`, for this server.", .example = "[~/notes]"},
    {.path = "mcp_servers.*.sandbox.write[]", .type = Type::text, .help = "A folder or file that exists; one that ends in `?` may be missing.", .example = "~/notes", .shape = Shape::filled},
    {.path = "mcp_servers.*.timeouts", .type = Type::map, .help = "How long errand waits for it.", .example = "{start: 1m}"},
    {.path = "mcp_servers.*.timeouts.start", .type = Type::duration, .help = "Until it has answered for the first time.", .example = "1m", .default_value = "30s"},
    {.path = "mcp_servers.*.timeouts.call", .type = Type::duration, .help = "For the result of a call.", .example = "20m", .default_value = "5m"},
    {.path = "mcp_servers.*.timeouts.silence", .type = Type::duration, .help = "How long a call may be without any progress.", .example = "30s", .default_value = "2m"},
    {.path = "steps", .type = Type::list, .help = "What a flow consists of: agents, commands and other flows, one after the other unless `needs` or `flow` says otherwise. A file with steps has no model of its own.", .example = "[{name: plan, agent: planner.yaml}, {name: test, run: make test}]", .min = 1},
    {.path = "steps[]", .type = Type::map, .help = "A step: `agent` or `run`.", .example = "{name: plan, agent: planner.yaml}"},
    {.path = "steps[].name", .type = Type::text, .help = "What others call it: lower-case letters, digits, `-` and `_`, at most 64.", .example = "plan", .shape = Shape::agent_name, .required = true},
    {.path = "steps[].agent", .type = Type::text, .help = "The agent file, or the file of another flow, which is a step as an agent is. Paths start at the flow's file.", .example = "planner.yaml", .shape = Shape::filled},
    {.path = "steps[].run", .type = Type::text, .help = "A command line for `sh -c`, in the sandbox of the flow. It is run as it is written, but for `${env:NAME}`: `{{ … }}` is nothing in it.", .example = "make test", .shape = Shape::filled},
    {.path = "steps[].prompt", .type = Type::text, .help = "Agents: the prompt. `{{ plan.text }}` stands for what another step has brought; where it comes out empty, the step fails. It names no pictures. Left out, the agent's own.", .example = "\"Fix {{ item }}: {{ plan.text }}\"", .shape = Shape::filled},
    {.path = "steps[].parameters", .type = Type::map, .help = "Agents: the values of its parameters; `{{ … }}` as in `prompt`.", .example = "{target: \"{{ item }}\"}", .shape = Shape::parameter_name},
    {.path = "steps[].parameters.*", .type = Type::scalar, .help = "The parameter's value.", .example = "main"},
    {.path = "steps[].needs", .type = Type::list, .help = "The steps that come before it. Left out, the one above it; [] begins at once.", .example = "[plan, docs]"},
    {.path = "steps[].needs[]", .type = Type::text, .help = "A step's name.", .example = "plan", .shape = Shape::filled},
    {.path = "steps[].when", .type = Type::text, .help = "An expression: where it is false, the step is left out.", .example = "\"test.exit_code == 0\"", .shape = Shape::filled},
    {.path = "steps[].for_each", .type = Type::text, .help = "An expression, which is a list: the step is run for each of its items, which `item` stands for.", .example = "plan.output.files", .shape = Shape::filled},
    {.path = "steps[].max_parallel", .type = Type::integer, .help = "With `for_each`: how many items at the same time.", .example = "8", .default_value = "4", .min = 1, .max = 64},
    {.path = "steps[].on_error", .type = Type::choice, .help = "What a failure does: the flow ends as the step did (stop), or goes on (continue). The answer is still that of the last agent: where that one failed, so has the flow.", .example = "continue", .default_value = "stop", .choices = "stop|continue"},
    {.path = "steps[].repeat", .type = Type::map, .help = "While the step fails, another one is run again, and then it itself. Where `max` is used up, the flow ends with 113.", .example = "{with: fix, max: 3}"},
    {.path = "steps[].repeat.with", .type = Type::text, .help = "The step that is run again; one that comes before.", .example = "fix", .shape = Shape::filled, .required = true},
    {.path = "steps[].repeat.max", .type = Type::integer, .help = "How often it is run again.", .example = "3", .min = 1, .max = 100, .required = true},
    {.path = "steps[].timeout", .type = Type::duration, .help = "Commands: how long it may take.", .example = "30m", .default_value = "10m"},
    {.path = "flow", .type = Type::text, .help = "The order of the steps in short: `>>` comes after, `|` runs side by side. In place of `needs`.", .example = "\"plan >> (fix | docs) >> note\"", .shape = Shape::filled},
    {.path = "sub_agents", .type = Type::map, .help = "Agents that this agent can call, by name: each is a tool, with its prompt and its parameters as arguments. Below a name stands a file, or `{agent: FILE, on_error: fatal}`, or the keys of an agent, which has the model of this one where it names none.", .example = "{tester: tester.yaml}", .shape = Shape::agent_name},
    {.path = "sub_agents.*", .type = Type::map_or_path, .help = "The agent: a file, whose path starts at this one's, or its keys. `on_error: fatal` ends the run with 114 where it fails; left out, a failure is told to the model.", .example = "tester.yaml", .shape = Shape::filled},
    {.path = "handoffs", .type = Type::list, .help = "Agents that this agent can hand the whole conversation over to, each a file, whose path starts at this one's, or the name of one without its ending. A tool `handoff_to_NAME` each.", .example = "[billing.yaml, technical.yaml]", .min = 1},
    {.path = "handoffs[]", .type = Type::text, .help = "The agent's file.", .example = "billing.yaml", .shape = Shape::filled},
    later("agents", "Several agents in one file."),
    // clang-format on
});

}  // namespace

std::string_view to_string(Type type) {
  switch (type) {
    case Type::text:
      return "text";
    case Type::integer:
      return "whole number";
    case Type::number:
      return "number";
    case Type::boolean:
      return "true or false";
    case Type::count:
      return "count";
    case Type::duration:
      return "duration";
    case Type::money:
      return "amount";
    case Type::choice:
      return "one word";
    case Type::scalar:
      return "text, number or boolean";
    case Type::texts:
      return "text, or list of texts";
    case Type::list:
      return "list";
    case Type::map:
      return "map";
    case Type::text_or_map:
      return "text or map";
    case Type::boolean_or_map:
      return "true, false or map";
    case Type::list_or_map:
      return "list or map";
    case Type::json_schema:
      return "JSON Schema";
    case Type::map_or_path:
      return "map, or the path of a file";
    case Type::anything_map:
      return "map";
    case Type::anything:
      return "anything";
  }
  return "";
}

std::vector<std::string_view> Key::words() const {
  std::vector<std::string_view> split;
  std::string_view rest = choices;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    split.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return split;
}

std::span<const Key> keys() {
  return k_keys;
}

}  // namespace config
