#include "cli/options.h"

#include "agent/store/runs.h"
#include "cli/commands/commands.h"

#include <algorithm>
#include <array>

namespace cli {
namespace {

using Names = std::string_view;

constexpr auto k_formats = std::to_array<Names>({"text", "json"});
constexpr auto k_graphs = std::to_array<Names>({"text", "mermaid"});
constexpr auto k_run_formats = std::to_array<Names>({"text", "json", "jsonl"});
constexpr auto k_input_formats = std::to_array<Names>({"lines", "jsonl", "csv"});
constexpr auto k_when = std::to_array<Names>({"auto", "always", "never"});
constexpr auto k_schemas = std::to_array<Names>({"agent", "result", "events"});
constexpr auto k_shells = std::to_array<Names>({"bash", "zsh", "fish"});
constexpr auto k_pages = std::to_array<Names>(
    {"errand.1", "errand-agent.5", "errand-test.5", "errand-exit-codes.7", "errand-hooks.7"});
constexpr auto k_sandbox_modes = std::to_array<Names>({"read_only", "workspace_write", "off"});
constexpr auto k_not_verbose = std::to_array<Names>({"--verbose"});
constexpr auto k_other_prompts = std::to_array<Names>({"--prompt-file", "PROMPT"});
constexpr auto k_no_prompt_words = std::to_array<Names>({"PROMPT"});
constexpr auto k_export_formats = std::to_array<Names>({"jsonl", "markdown"});
constexpr auto k_not_raw = std::to_array<Names>({"--raw"});
constexpr auto k_not_only = std::to_array<Names>({"--only"});
constexpr auto k_not_output = std::to_array<Names>({"--output"});
constexpr auto k_not_readable = std::to_array<Names>({"--raw", "--format"});
constexpr auto k_not_record = std::to_array<Names>({"--record"});

constexpr Option k_help{
    .name = "--help",
    .short_name = "-h",
    .help = "show this help",
};

constexpr Option k_color{
    .name = "--color",
    .value = "WHEN",
    .kind = Kind::choice,
    .help = "colours on stderr: auto, always or never",
    .details =
        "The default, auto, colours where stderr is a terminal and NO_COLOR is not set. With "
        "never, the Markdown of an answer on a terminal is not set either.",
    .choices = k_when,
};

constexpr Option k_color_of_text{
    .name = "--color",
    .value = "WHEN",
    .kind = Kind::choice,
    .help = "colours: auto, always or never",
    .details =
        "The default, auto, colours stdout and messages, each where it goes to a terminal and "
        "NO_COLOR is not set.",
    .choices = k_when,
};

constexpr Option k_output{
    .name = "--output",
    .short_name = "-o",
    .value = "FORMAT",
    .kind = Kind::choice,
    .help = "what stdout gets: text (the default) or json",
    .choices = k_formats,
};

constexpr Option k_sandbox{
    .name = "--sandbox",
    .value = "MODE",
    .kind = Kind::choice,
    .environment = "ERRAND_SANDBOX",
    .help = "what tools may write: read_only, workspace_write or off (anything)",
    .details =
        "Replaces sandbox.mode. The workspace is the working folder. With read_only, sandbox.write "
        "counts for nothing.",
    .choices = k_sandbox_modes,
    .lasts = true,
};

constexpr Option k_allow{
    .name = "--allow",
    .value = "RULE",
    .kind = Kind::text,
    .help = "approve in advance the calls that RULE names; repeatable",
    .details =
        "For example 'shell(make test)' or 'write_file(docs/**)'; the agent file's page has "
        "the rules. It wins over all rules but those that deny.",
    .repeated = true,
    .lasts = true,
};

constexpr Option k_deny{
    .name = "--deny",
    .value = "RULE",
    .kind = Kind::text,
    .help = "deny the calls that RULE names; repeatable",
    .details = "It wins over every other rule.",
    .repeated = true,
    .lasts = true,
};

constexpr Option k_key_host{
    .name = "--key-host",
    .value = "NAME=URL",
    .kind = Kind::key_value,
    .environment = "ERRAND_KEY_HOSTS",
    .help = "the value of the variable NAME may go to the server URL; repeatable",
    .details =
        "URL is scheme, host and port: LLM_KEY=https://llm.corp.example. Several servers are "
        "separated by commas, several variables in ERRAND_KEY_HOSTS by blanks. NAME=* "
        "is every server, also for programs that have the network.",
    .repeated = true,
    .lasts = true,
};

constexpr Option k_store{
    .name = "--store",
    .value = "FILE",
    .kind = Kind::file,
    .help = "the journal, where an agent file names one as session.store",
    .details = "By default that of this user, in $XDG_STATE_HOME/errand.",
};

constexpr Option k_last{
    .name = "--last",
    .help = "the run that began last in this folder, or was carried on",
};

constexpr auto k_run_options = std::to_array<Option>({
    {.name = "--prompt",
     .short_name = "-p",
     .value = "TEXT",
     .kind = Kind::text,
     .help = "the prompt, in place of words after AGENT",
     .excludes = k_other_prompts},
    {.name = "--prompt-file",
     .short_name = "-f",
     .value = "FILE",
     .kind = Kind::file,
     .help = "read the prompt from FILE; - is standard input",
     .excludes = k_no_prompt_words},
    {.name = "--param",
     .short_name = "-P",
     .value = "K=V",
     .kind = Kind::key_value,
     .help = "set the agent's parameter K to V; repeatable",
     .repeated = true,
     .lasts = true},
    {.name = "--use",
     .value = "SERVER/PROMPT",
     .kind = Kind::text,
     .help = "begin with a prompt that one of the agent's MCP servers has",
     .details = "Its messages come first, the prompt of the command line behind them; without one, "
                "that of the agent file is left out. `errand mcp list AGENT` shows which there "
                "are, and what they take."},
    {.name = "--use-arg",
     .value = "K=V",
     .kind = Kind::key_value,
     .help = "with --use: give the prompt's argument K the value V; repeatable",
     .repeated = true},
    {.name = "--model",
     .short_name = "-m",
     .value = "NAME",
     .kind = Kind::text,
     .environment = "ERRAND_MODEL",
     .help = "use this model instead of the agent file's",
     .details = "A model of another provider leaves the base URL and the key of the file behind. "
                "replay/FILE plays a script of replies; FILE starts at the working folder.",
     .lasts = true},
    {.name = "--cwd",
     .short_name = "-C",
     .value = "DIR",
     .kind = Kind::directory,
     .help = "change to DIR before anything else",
     .details = "Paths on the command line are then relative to it."},
    k_key_host,
    k_sandbox,
    {.name = "--timeout",
     .value = "DURATION",
     .kind = Kind::duration,
     .environment = "ERRAND_TIMEOUT",
     .help = "end the run after this time: 90s, 10m, 1h30m",
     .details =
         "Replaces limits.timeout; the run then ends with exit code 124. Waiting for the prompt "
         "counts, too, and so does the time in which a person thinks about a question.",
     .lasts = true},
    {.name = "--max-turns",
     .value = "N",
     .kind = Kind::count,
     .environment = "ERRAND_MAX_TURNS",
     .help = "end the run after N model responses",
     .details = "Replaces limits.max_turns; the run then ends with exit code 80.",
     .lasts = true},
    {.name = "--max-cost",
     .value = "USD",
     .kind = Kind::money,
     .environment = "ERRAND_MAX_COST",
     .help = "end the run before it costs more than this: 0.25",
     .details = "Replaces limits.max_cost_usd; the run then ends with exit code 82.",
     .lasts = true},
    {.name = "--output",
     .short_name = "-o",
     .value = "FORMAT",
     .kind = Kind::choice,
     .environment = "ERRAND_OUTPUT",
     .help = "what stdout gets: text (the default), json or jsonl",
     .details = "text is the answer alone; json is the result object, on every ending; jsonl is "
                "one event a line, the last of which holds the result object.",
     .choices = k_run_formats},
    {.name = "--output-file",
     .value = "FILE",
     .kind = Kind::file,
     .help = "write the output to FILE instead of stdout",
     .details =
         "The file appears whole, at the end, or not at all; in text, a run without an answer "
         "leaves it as it was, and in any format a command line that is not understood. Devices, "
         "pipes and /dev/stdout are written as they are. A link to "
         "another file is refused, and in a relative path a link out of the working folder; so it "
         "is with --log-file and --record. It can be no file that the run reads."},
    k_allow,
    k_deny,
    {.name = "--yes",
     .help = "run every call that would need approval",
     .details = "What a rule denies stays denied. Meant for machines that can be thrown away."},
    {.name = "--fail-on-denied",
     .help = "end the run with exit code 92 when a call is denied",
     .details = "Otherwise the model reads that the call is not allowed, and the run goes on.",
     .lasts = true},
    {.name = "--record",
     .value = "FILE",
     .kind = Kind::file,
     .help = "record the run's HTTP exchanges in FILE, which must not exist",
     .details = "FILE is JSON that people can read and compare. Keys and other secrets are left "
                "out. Each exchange is appended when it is over, so that a run that was killed "
                "leaves those before."},
    {.name = "--replay",
     .value = "FILE",
     .kind = Kind::file,
     .help = "answer from a recording: no network, no key, the same events",
     .details = "The run has the recorded one's id, times and retries, so that its events are the "
                "same byte for byte where its tools, which run for real, give the same results; "
                "how their live output is cut into events is not repeated. Waits are skipped, and "
                "no session is kept. A request must have the recorded URL and body; one that "
                "has not ends the run with exit code 119, and with the differences.",
     .excludes = k_not_record},
    {.name = "--session",
     .value = "NAME",
     .kind = Kind::text,
     .help = "begin the run that is called NAME, or carry it on",
     .details = "A name is one of this folder. The run that has it is carried on as `errand "
                "resume` does; where none has it, one begins."},
    {.name = "--from",
     .value = "STEP",
     .kind = Kind::text,
     .help = "of a flow, run STEP and what comes after it, on what an earlier run brought",
     .details =
         "The steps before them are taken from the newest run of the flow in this folder, or "
         "from the one that --session names; so are its prompt and its parameters, where the "
         "command line has none. It is a new run, which is told which one that was.",
     .excludes = k_not_only,
     .lasts = true},
    {.name = "--only",
     .value = "STEP",
     .kind = Kind::text,
     .help = "as --from, and run STEP alone",
     .lasts = true},
    {.name = "--no-session",
     .environment = "ERRAND_NO_SESSION",
     .help = "keep no record of this run"},
    {.name = "--quiet",
     .short_name = "-q",
     .help = "errors alone on stderr",
     .excludes = k_not_verbose},
    {.name = "--verbose",
     .short_name = "-v",
     .help = "more on stderr; -vv for everything",
     .repeated = true},
    {.name = "--log-file",
     .value = "FILE",
     .kind = Kind::file,
     .environment = "ERRAND_LOG_FILE",
     .help = "append a line for each event to FILE",
     .details = "What cannot be written there is lost: that is a warning, and the run goes on."},
    k_color,
});

// Those of `run`, but for what the recorded run says, and what makes no sense of one. What is
// recorded wins over variables.
constexpr bool is_of_resume(std::string_view name) {
  constexpr auto k_not = std::to_array<Names>({"--prompt",
                                               "--use",
                                               "--use-arg",
                                               "--record",
                                               "--replay",
                                               "--session",
                                               "--no-session",
                                               "--from",
                                               "--only"});
  return std::ranges::find(k_not, name) == k_not.end();
}
constexpr std::size_t k_run_options_of_resume = static_cast<std::size_t>(std::ranges::count_if(
    k_run_options, [](const Option& option) { return is_of_resume(option.name); }));
constexpr Option k_other_agent{
    .name = "--agent",
    .value = "FILE",
    .kind = Kind::agent,
    .help = "go on by this agent file, not by the recorded one",
};
constexpr auto k_resume_own_options = std::to_array<Option>({
    k_last,
    k_other_agent,
    k_store,
    {.name = "--approve",
     .value = "CALL",
     .kind = Kind::text,
     .help = "say yes to a call that waits for approval; repeatable",
     .details = "CALL is its call_id, as `errand runs pending` shows it, or RUN:CALL. A yes is to "
                "the call as it was shown: where its arguments, its folder, the agent file, the "
                "sandbox, or what an MCP server says of the tool have changed, it is asked for "
                "again.",
     .repeated = true},
    {.name = "--reason",
     .value = "TEXT",
     .kind = Kind::text,
     .help = "why the calls of --deny are denied, for the model to read"},
    {.name = "--keep-grants",
     .help = "what was approved for this run needs no approval again",
     .details = "The answers \"in this run\" that a person gave on a terminal. They hold for the "
                "folder of the run, its agent file and its sandbox, where its record is your own; "
                "those of a member, in that, where its flow or its caller is carried on."},
});
constexpr auto k_fork_own_options = std::to_array<Option>({
    {.name = "--at",
     .value = "N",
     .kind = Kind::number,
     .help = "go on after turn N; 0 is before the first"},
    k_last,
    {.name = "--session",
     .value = "NAME",
     .kind = Kind::text,
     .help = "call the new run NAME, which no run of this folder is called yet"},
    k_other_agent,
    k_store,
});
template <std::size_t Own>
constexpr auto with_run_options(const std::array<Option, Own>& own) {
  std::array<Option, Own + k_run_options_of_resume> options{};
  auto end = std::ranges::copy(own, options.begin()).out;
  for (const Option& option : k_run_options) {
    if (is_of_resume(option.name)) {
      *end = option;
      if (option.lasts) {
        end->environment = {};
      }
      ++end;
    }
  }
  return options;
}
constexpr auto k_resume_options = [] {
  auto options = with_run_options(k_resume_own_options);
  Option& deny = *std::ranges::find(options, k_deny.name, &Option::name);
  deny.value = "CALL|RULE";
  deny.help = "say no to a call that waits, or deny what RULE names; repeatable";
  deny.details =
      "CALL is as for --approve: the model reads that the call was denied, and --reason. A rule "
      "wins over every other rule.";
  return options;
}();
constexpr auto k_fork_options = with_run_options(k_fork_own_options);

// Those of `run` that say how each of the runs is to go.
constexpr bool is_of_batch(std::string_view name) {
  constexpr auto k_those = std::to_array<Names>({"--param",
                                                 "--model",
                                                 "--cwd",
                                                 "--key-host",
                                                 "--sandbox",
                                                 "--timeout",
                                                 "--max-turns",
                                                 "--max-cost",
                                                 "--allow",
                                                 "--deny",
                                                 "--yes",
                                                 "--fail-on-denied",
                                                 "--no-session",
                                                 "--quiet",
                                                 "--verbose",
                                                 "--color"});
  return std::ranges::find(k_those, name) != k_those.end();
}
constexpr std::size_t k_run_options_of_batch = static_cast<std::size_t>(std::ranges::count_if(
    k_run_options, [](const Option& option) { return is_of_batch(option.name); }));
constexpr auto k_batch_own_options = std::to_array<Option>({
    {.name = "--input-format",
     .value = "FORMAT",
     .kind = Kind::choice,
     .help = "what INPUTS holds: lines, jsonl or csv; by default as its name says",
     .details = "Names in .txt are lines, in .jsonl and .ndjson jsonl, in .csv csv.",
     .choices = k_input_formats},
    {.name = "--parallel",
     .short_name = "-j",
     .value = "N",
     .kind = Kind::count,
     .help = "so many runs at a time, at most 64; 4 by default"},
    {.name = "--ordered",
     .help = "write the results in the order of the inputs, not as they end",
     .details = "At most 1,000 results wait for an earlier one; until it is there nothing more "
                "begins."},
    {.name = "--failed",
     .value = "FILE",
     .kind = Kind::file,
     .help = "write the inputs that failed, as they were, to FILE, which appears at the end"},
    {.name = "--session",
     .value = "NAME",
     .kind = Kind::text,
     .help = "begin the batch that is called NAME, or carry it on",
     .details = "Inputs that have ended are not run again: their results are written once more. "
                "Runs that were cut off are carried on. The inputs have to be the same; more may "
                "follow them."},
    {.name = "--total-timeout",
     .value = "DURATION",
     .kind = Kind::duration,
     .help = "end the whole after this time: 90s, 10m, 1h30m",
     .details = "Runs that go on end with exit code 124, and so does the batch."},
    {.name = "--max-total-cost",
     .value = "USD",
     .kind = Kind::money,
     .help = "send no request once the whole has cost this much: 2.50",
     .details = "Runs that want to send one end with exit code 82, and so does the batch. What is "
                "under way then is paid for, at most one request a run."},
    {.name = "--max-failures",
     .value = "N",
     .kind = Kind::count,
     .help = "begin no more once N inputs have failed"},
});
constexpr auto k_batch_options = [] {
  std::array<Option, k_batch_own_options.size() + k_run_options_of_batch> options{};
  auto end = std::ranges::copy(k_batch_own_options, options.begin()).out;
  std::ranges::copy_if(
      k_run_options, end, [](const Option& option) { return is_of_batch(option.name); });
  return options;
}();

// Those that say how each run of a served agent is to go.
constexpr auto k_serve_own_options = std::to_array<Option>({
    {.name = "--parallel",
     .short_name = "-j",
     .value = "N",
     .kind = Kind::count,
     .help = "so many calls at a time, at most 64; 8 by default",
     .details = "64 more wait for their turn; what is over that is refused."},
    {.name = "--tools",
     .value = "AGENT",
     .kind = Kind::agent,
     .help = "serve the tools of this agent themselves, in its sandbox, under its permissions",
     .details =
         "No model is asked. Calls come one after the other; what needs approval is refused. "
         "Its MCP servers are left out, and it can have neither hooks nor guardrails."},
    {.name = "--http",
     .value = "[ADDRESS:]PORT",
     .kind = Kind::text,
     .help = "serve Streamable HTTP on this port, by default of 127.0.0.1, not stdin and stdout",
     .details = "The server is at /mcp, and ends by a signal; port 0 is any free one, and stderr "
                "says which. An address that others can reach needs --token-env."},
    {.name = "--token-env",
     .value = "NAME",
     .kind = Kind::text,
     .help = "with --http: requests must bring the bearer token that the variable NAME has"},
});
constexpr auto k_serve_options = [] {
  std::array<Option, k_serve_own_options.size() + k_run_options_of_batch> options{};
  auto end = std::ranges::copy(k_serve_own_options, options.begin()).out;
  std::ranges::copy_if(
      k_run_options, end, [](const Option& option) { return is_of_batch(option.name); });
  return options;
}();

constexpr auto k_output_options = std::to_array<Option>({k_output});
constexpr auto k_mcp_options = std::to_array<Option>({k_output, k_key_host});
constexpr auto k_mcp_call_options = std::to_array<Option>({k_output, k_key_host});
constexpr auto k_mcp_lock_options = std::to_array<Option>({
    {.name = "--check",
     .help = "write nothing: say what is different, and exit with 78 where something is"},
    k_key_host,
});
constexpr auto k_check_options = std::to_array<Option>({
    k_output,
    {.name = "--graph",
     .value = "FORMAT",
     .kind = Kind::choice,
     .help = "draw the flow in place of `ok`: as text, or as mermaid",
     .details = "Of one flow, with those that are steps of it, and only where all of its files are "
                "without a mistake.",
     .choices = k_graphs,
     .excludes = k_not_output},
    k_key_host,
    k_color,
});
constexpr auto k_test_options = std::to_array<Option>({
    {.name = "--jobs",
     .short_name = "-j",
     .value = "N",
     .kind = Kind::count,
     .help = "make N runs side by side, at most 64; by default one a processor"},
    {.name = "--live",
     .help = "ask the model itself, and the judges; this costs money",
     .details = "The agent's own model, with the keys of the environment; a `replay` or "
                "`recording` of the case is left out. Name the cases that are meant for it."},
    {.name = "--repeat",
     .value = "N",
     .kind = Kind::count,
     .help = "run each case N times, whatever its `repeat` says"},
    {.name = "--baseline",
     .value = "FILE",
     .kind = Kind::file,
     .help = "fail where a case is worse than in FILE, or missing"},
    {.name = "--tolerance",
     .value = "PERCENT",
     .kind = Kind::text,
     .help = "how much worse than the baseline is allowed; 5% by default",
     .details = "A pass rate may be so many points lower, the cost of a run by so much of itself "
                "higher."},
    {.name = "--write-baseline",
     .value = "FILE",
     .kind = Kind::file,
     .help = "write pass rates and costs to FILE, for --baseline",
     .details = "Not where a run has no verdict, or a case is worse than --baseline allows."},
    k_key_host,
    k_output,
    {.name = "--junit",
     .value = "FILE",
     .kind = Kind::file,
     .help = "write the results to FILE in JUnit's XML, too: one entry a run"},
    {.name = "--quiet", .short_name = "-q", .help = "do not list cases that pass"},
    k_color_of_text,
});
constexpr auto k_init_options = std::to_array<Option>({
    {.name = "--force", .help = "overwrite the file where it exists"},
});
constexpr auto k_models_options = std::to_array<Option>({
    {.name = "--remote", .help = "ask the providers which models they offer"},
    k_output,
    k_color,
});
constexpr auto k_doctor_options = std::to_array<Option>({
    {.name = "--online",
     .help = "ask the providers whose keys are set, and those of the folder's agents",
     .details = "Each is asked for its models, which costs nothing, and has half a minute."},
    k_output,
    k_color,
});
constexpr auto k_import_options = std::to_array<Option>({
    {.name = "--date",
     .value = "DAY",
     .kind = Kind::text,
     .help = "the day of the prices: 2026-11-21; by default that of the file's last change"},
    {.name = "--to",
     .value = "FILE",
     .kind = Kind::file,
     .help = "write the table to FILE; nothing is put in force"},
});
constexpr auto k_mcp_login_options = std::to_array<Option>({
    {.name = "--port",
     .value = "N",
     .kind = Kind::count,
     .help = "wait at this port of 127.0.0.1, where the client is registered with one; any by "
             "default"},
    k_key_host,
});

constexpr auto k_call_options = std::to_array<Option>({
    {.name = "--agent",
     .value = "FILE",
     .kind = Kind::agent,
     .help = "take the tool as this agent file configures it"},
    k_sandbox,
});

constexpr auto k_runs_list_options = std::to_array<Option>({
    {.name = "--all", .short_name = "-a", .help = "the runs of all folders, not of this one alone"},
    {.name = "--agent",
     .value = "NAME",
     .kind = Kind::text,
     .help = "those of the agent that the agent file calls so"},
    {.name = "--status",
     .value = "STATUS",
     .kind = Kind::choice,
     .help = "those that ended so, go on, or were interrupted",
     .details = "ok, failed, stopped, error and cancelled are those of the result object. A run "
                "without an ending is running while a living process has it, and interrupted "
                "otherwise; a parked one, or a member of it, has calls that wait for approval, "
                "until it is "
                "carried on.",
     .choices = agent::store::k_run_statuses},
    {.name = "--since",
     .value = "TIME",
     .kind = Kind::text,
     .help = "those begun or carried on since: 2h, 7d, 2026-11-21"},
    {.name = "--name", .value = "NAME", .kind = Kind::text, .help = "those of the session NAME"},
    {.name = "--batch", .value = "NAME", .kind = Kind::text, .help = "those of the batch NAME"},
    {.name = "--limit",
     .short_name = "-n",
     .value = "N",
     .kind = Kind::text,
     .help = "at most N, the newest; 50 by default, `all` for no limit"},
    k_store,
    k_output,
    k_color_of_text,
});
constexpr auto k_runs_show_options = std::to_array<Option>({
    k_last,
    {.name = "--turn",
     .value = "N",
     .kind = Kind::count,
     .help = "turn N alone, with all that was said in it"},
    k_store,
    k_output,
    k_color_of_text,
});
constexpr auto k_runs_context_options = std::to_array<Option>({
    k_last,
    {.name = "--at",
     .value = "N",
     .kind = Kind::count,
     .help = "the request of turn N; the last one by default"},
    k_store,
    k_output,
    k_color_of_text,
});
constexpr auto k_runs_pending_options = std::to_array<Option>({
    k_last,
    {.name = "--all", .short_name = "-a", .help = "the runs of all folders, not of this one alone"},
    k_store,
    k_output,
    k_color_of_text,
});
constexpr auto k_runs_export_options = std::to_array<Option>({
    k_last,
    {.name = "--format",
     .value = "FORMAT",
     .kind = Kind::choice,
     .help = "jsonl (the default), an event a line; or markdown, a document",
     .choices = k_export_formats,
     .excludes = k_not_raw},
    {.name = "--raw",
     .help = "all that the journal holds of it, for `errand runs import`",
     .details = "Secrets were taken out when the run was written. What only looks like one is "
                "still there, and so is the agent file that the run was made from."},
    {.name = "--test",
     .help = "write a test case of it, with the script that it needs",
     .details = "The case goes to --output-file NAME.test.yaml, the model's replies to "
                "NAME.replay.yaml beside it; neither may be there. It works in a copy of the "
                "folder that the run worked in, or in that folder where it is written there. "
                "Exits with 2 where no case can be made of the run, and says why.",
     .excludes = k_not_readable},
    {.name = "--output-file",
     .value = "FILE",
     .kind = Kind::file,
     .help = "write it to FILE instead of stdout"},
    k_store,
});
constexpr auto k_runs_import_options = std::to_array<Option>({k_store});
constexpr auto k_runs_rm_options = std::to_array<Option>({k_last, k_store, k_output, k_color});
constexpr auto k_runs_prune_options = std::to_array<Option>({
    {.name = "--older-than",
     .value = "DURATION",
     .kind = Kind::duration,
     .help = "what was last heard of before that: 30d"},
    {.name = "--dry-run", .help = "remove nothing; list what would be"},
    k_store,
    k_output,
    k_color,
});
constexpr auto k_runs_doctor_options = std::to_array<Option>({
    {.name = "--fix", .help = "keep a copy, and mend what can be"},
    k_store,
    k_output,
});
constexpr auto k_policy_options = std::to_array<Option>({k_allow, k_deny, k_sandbox, k_output});

constexpr auto k_run_positionals = std::to_array<Positional>({
    {.name = "AGENT",
     .kind = Kind::agent,
     .help = "the agent file; without one, the folder's: its one agent.yaml, agent.yml, "
             "errand.yaml or agent.md"},
    {.name = "PROMPT",
     .help = "what to do, in place of the agent's own prompt; - reads standard input, @picture.png "
             "attaches a picture or a PDF",
     .repeated = true},
});
constexpr auto k_resume_positionals = std::to_array<Positional>({
    {.name = "RUN", .help = "the run: its id, the beginning of it, or its name; not with --last"},
    {.name = "PROMPT",
     .help = "what is to be done next; - reads standard input. A run that has its answer needs one",
     .repeated = true},
});
constexpr auto k_fork_positionals = std::to_array<Positional>({
    {.name = "RUN", .help = "the run: its id, the beginning of it, or its name; not with --last"},
    {.name = "PROMPT",
     .help = "what is to be done from there on; - reads standard input. After a turn that is an "
             "answer, one is needed",
     .repeated = true},
});
constexpr auto k_batch_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent file", .required = true},
    {.name = "INPUTS",
     .kind = Kind::file,
     .help = "the inputs, each a prompt or values of the agent's parameters; - reads standard "
             "input",
     .required = true},
});
constexpr auto k_check_positionals = std::to_array<Positional>({
    {.name = "FILE",
     .kind = Kind::agent,
     .help = "an agent file; the folder's by default",
     .repeated = true},
});
constexpr auto k_test_positionals = std::to_array<Positional>({
    {.name = "PATH",
     .kind = Kind::file,
     .help = "a case file, or a folder that is searched for *.test.yaml; this folder by default",
     .repeated = true},
});
constexpr auto k_init_positionals = std::to_array<Positional>({
    {.name = "FILE", .kind = Kind::agent, .help = "the file to write; agent.yaml by default"},
});
constexpr auto k_list_positionals = std::to_array<Positional>({
    {.name = "AGENT",
     .kind = Kind::agent,
     .help = "an agent file; without one, the built-in tools"},
});
constexpr auto k_call_positionals = std::to_array<Positional>({
    {.name = "TOOL", .kind = Kind::tool, .help = "the tool's name", .required = true},
    {.name = "JSON", .help = "its arguments, as a JSON object; - reads standard input"},
});
constexpr auto k_mcp_agent_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent file", .required = true},
});
constexpr auto k_mcp_tools_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent file", .required = true},
    {.name = "SERVER", .help = "one of its servers; without one, all of them"},
});
constexpr auto k_mcp_login_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent file", .required = true},
    {.name = "SERVER", .help = "one of its servers that are reached by HTTP", .required = true},
});
constexpr auto k_mcp_call_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent file", .required = true},
    {.name = "TOOL", .help = "the tool's name at the agent: mcp__SERVER__TOOL", .required = true},
    {.name = "JSON", .help = "its arguments, as a JSON object; - reads standard input"},
});
constexpr auto k_mcp_serve_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent files", .repeated = true},
});
constexpr auto k_policy_positionals = std::to_array<Positional>({
    {.name = "AGENT", .kind = Kind::agent, .help = "the agent file", .required = true},
    {.name = "TOOL", .kind = Kind::tool, .help = "the tool's name", .required = true},
    {.name = "ARGUMENTS", .help = "a JSON object; or the command line, or the path, as it is"},
});
constexpr auto k_models_positionals = std::to_array<Positional>({
    {.name = "PROVIDER", .help = "a provider's name; all of them by default", .repeated = true},
});
constexpr auto k_price_positionals = std::to_array<Positional>({
    {.name = "MODEL", .help = "a model, as PROVIDER/NAME; without one, which prices are in force"},
});
constexpr auto k_import_positionals = std::to_array<Positional>({
    {.name = "FILE",
     .kind = Kind::file,
     .help = "prices/new_data/v2/data_slim.json of pydantic/genai-prices",
     .required = true},
});
constexpr auto k_run_id_positionals = std::to_array<Positional>({
    {.name = "RUN", .help = "a run's id, its beginning, or a session's name"},
});
constexpr auto k_maybe_run_positionals = std::to_array<Positional>({
    {.name = "RUN", .help = "this run alone: an id, its beginning, or a session's name"},
});
constexpr auto k_run_ids_positionals = std::to_array<Positional>({
    {.name = "RUN", .help = "a run's id, its beginning, or a session's name", .repeated = true},
});
constexpr auto k_runs_import_positionals = std::to_array<Positional>({
    {.name = "FILE",
     .kind = Kind::file,
     .help = "what `errand runs export --raw` wrote",
     .required = true},
});
constexpr auto k_codes_positionals = std::to_array<Positional>({
    {.name = "CODE",
     .kind = Kind::code,
     .help = "an exit code, its name, or an error code: 75, max_turns, provider.auth"},
});
constexpr auto k_schema_positionals = std::to_array<Positional>({
    {.name = "NAME",
     .kind = Kind::choice,
     .help = "agent (the agent file), result (-o json) or events (-o jsonl)",
     .choices = k_schemas,
     .required = true},
});
constexpr auto k_shell_positionals = std::to_array<Positional>({
    {.name = "SHELL",
     .kind = Kind::choice,
     .help = "bash, zsh or fish",
     .choices = k_shells,
     .required = true},
});
constexpr auto k_page_positionals = std::to_array<Positional>({
    {.name = "PAGE",
     .kind = Kind::choice,
     .help = "errand.1, errand-agent.5, errand-test.5, errand-exit-codes.7 or errand-hooks.7",
     .choices = k_pages,
     .required = true},
});
constexpr auto k_help_positionals = std::to_array<Positional>({
    {.name = "TOPIC",
     .kind = Kind::topic,
     .help = "a topic of the manual, or a command; without one, all of both",
     .repeated = true},
});

constexpr auto k_run_examples = std::to_array<Example>({
    {"errand run agent.yaml \"Why does the build fail?\"", "one prompt, the answer on stdout"},
    {"errand run \"Why does the build fail?\"", "the same where agent.yaml is the folder's agent"},
    {"git diff | errand run review.yaml -", "the prompt from a pipe"},
    {"errand run agent.yaml \"What is wrong in @shot.png?\"", "a picture goes along"},
    {"errand run review.yaml -P target=main -o json", "a parameter; the result object on stdout"},
    {"errand run -m auto --timeout 10m --max-turns 20", "agent.yaml of this folder, within limits"},
});
constexpr auto k_resume_examples = std::to_array<Example>({
    {"errand resume --last", "the run of this folder that was killed, from where it was"},
    {"errand resume 019a0a4c \"Now mend the second one, too\"", "a finished run, with more to do"},
    {"errand resume --last --max-cost 5", "one that came to a limit, with a higher one"},
    {"errand resume --last --approve call_1", "a parked one, with a yes to a call that waits"},
});
constexpr auto k_fork_examples = std::to_array<Example>({
    {"errand fork --last --at 3", "turn 4 once more, as a run of its own"},
    {"errand fork 019a0a4c --at 3 \"Try it without a new class\"", "another way from there on"},
    {"errand fork shopping --at 0 -m openai/gpt-5", "the same question to another model"},
});
constexpr auto k_batch_examples = std::to_array<Example>({
    {"errand batch agent.yaml questions.txt >results.jsonl", "a prompt a line, a result a line"},
    {"errand batch review.yaml files.csv -j 8 --session nightly", "the same again carries it on"},
    {"git ls-files | errand batch lint.yaml - --input-format lines", "from a pipe"},
    {"errand batch agent.yaml in.jsonl --failed again.jsonl >out.jsonl",
     "what failed, to try again"},
});
constexpr auto k_check_examples = std::to_array<Example>({
    {"errand check", "every mistake of the folder's agent, with line and column"},
    {"errand check -o json agents/*.yaml", "for CI"},
    {"errand check flow.yaml --graph text", "which step comes after which"},
});
constexpr auto k_test_examples = std::to_array<Example>({
    {"errand test", "every case under this folder"},
    {"errand test tests/review.test.yaml", "one"},
    {"errand test --junit results.xml tests", "for CI"},
    {"errand test --live --repeat 5 tests/live", "ask the model, five times each"},
    {"errand test --live --baseline main.json tests/live", "no worse than last time"},
    {"errand run --record greeting.cassette agent.yaml", "what a case can be made of"},
});
constexpr auto k_init_examples = std::to_array<Example>({
    {"errand init", "writes agent.yaml"},
    {"errand init reviewer.md", "writes a Markdown agent"},
});
constexpr auto k_list_examples = std::to_array<Example>({
    {"errand tools list", "the built-in tools"},
    {"errand tools list agent.yaml -o json", "the tools of an agent, with their JSON Schemas"},
});
constexpr auto k_call_examples = std::to_array<Example>({
    {"errand tools call glob '{\"pattern\": \"*.md\"}'", "a built-in tool"},
    {"errand tools call run_tests --agent agent.yaml", "a tool that an agent file configures"},
});
constexpr auto k_mcp_list_examples = std::to_array<Example>({
    {"errand mcp list agent.yaml", "which servers start, and what was agreed with them"},
});
constexpr auto k_mcp_tools_examples = std::to_array<Example>({
    {"errand mcp tools agent.yaml", "the tools of all its servers, by the names for permissions"},
    {"errand mcp tools agent.yaml docs -o json", "those of one, with their JSON Schemas"},
});
constexpr auto k_mcp_test_examples = std::to_array<Example>({
    {"errand mcp test agent.yaml", "whether all of its servers are as they have to be"},
    {"errand mcp test agent.yaml docs -o json", "one of them, for a script"},
});
constexpr auto k_mcp_serve_examples = std::to_array<Example>({
    {"errand mcp serve review.yaml triage.yaml", "what a client starts, with its working folder"},
    {"errand mcp serve --tools coder.yaml", "a shell and file tools in a sandbox, for any client"},
    {"errand mcp serve --http 8123 review.yaml", "on http://127.0.0.1:8123/mcp"},
});
constexpr auto k_mcp_call_examples = std::to_array<Example>({
    {"errand mcp call agent.yaml mcp__docs__search '{\"text\": \"fork\"}'", "one call"},
});
constexpr auto k_mcp_login_examples = std::to_array<Example>({
    {"errand mcp login agent.yaml crm",
     "prints an address, and waits until somebody has logged in"},
});
constexpr auto k_mcp_logout_examples = std::to_array<Example>({
    {"errand mcp logout agent.yaml crm", "forgets the login"},
});
constexpr auto k_mcp_lock_examples = std::to_array<Example>({
    {"errand mcp lock agent.yaml", "writes agent.yaml.mcp-lock.json"},
    {"errand mcp tools 'agent.yaml#helper'", "the tools of a sub-agent that is written out in it"},
    {"errand mcp lock --check agent.yaml", "exit code 78 where the tools are others, for CI"},
});
constexpr auto k_policy_examples = std::to_array<Example>({
    {"errand policy check agent.yaml shell 'git push origin main'",
     "allow, ask, deny or refused, and why"},
    {"errand policy check agent.yaml write_file docs/a.md -o json", "for scripts"},
});
constexpr auto k_models_examples = std::to_array<Example>({
    {"errand models", "the providers, and which have their key"},
    {"errand models --remote ollama", "the models that a local server has"},
});
constexpr auto k_price_examples = std::to_array<Example>({
    {"errand prices show", "which prices are in force"},
    {"errand prices show anthropic/claude-sonnet-4-5", "what a model costs, and who says so"},
});
constexpr auto k_import_examples = std::to_array<Example>({
    {"errand prices import data_slim.json --date 2026-11-21", "newer prices, for this user"},
});
constexpr auto k_runs_list_examples = std::to_array<Example>({
    {"errand runs list", "this folder's runs, the newest first"},
    {"errand runs list --all --status interrupted", "what was cut off, anywhere"},
    {"errand runs list --since 7d --limit all -o json", "a week, for scripts"},
});
constexpr auto k_runs_context_examples = std::to_array<Example>({
    {"errand runs context --last", "what the model knew when it was asked last"},
    {"errand runs context 01a206b7-b626 --at 3 -o json", "the messages of one request, for jq"},
});
constexpr auto k_runs_show_examples = std::to_array<Example>({
    {"errand runs show --last", "what the last run here did"},
    {"errand runs show 01a206b7-b626 --turn 3", "one turn of a run as a whole"},
});
constexpr auto k_runs_pending_examples = std::to_array<Example>({
    {"errand runs pending", "what waits in this folder"},
    {"errand resume 01a206b7-b626 --approve call_1 --deny call_2", "the answers"},
});
constexpr auto k_runs_export_examples = std::to_array<Example>({
    {"errand runs export --last --format markdown", "a document to send to somebody"},
    {"errand runs export --last --raw >run.jsonl", "all of it, to import elsewhere"},
    {"errand runs export --last --test --output-file greet.test.yaml", "a case for errand test"},
});
constexpr auto k_runs_import_examples = std::to_array<Example>({
    {"errand runs import run.jsonl", "prints the run's id"},
});
constexpr auto k_runs_rm_examples = std::to_array<Example>({
    {"errand runs rm 01a206b7-b626", "no bytes of it are left in the file"},
});
constexpr auto k_runs_prune_examples = std::to_array<Example>({
    {"errand runs prune --older-than 30d --dry-run", "what would go"},
    {"errand runs prune --older-than 30d", "as a daily task"},
});
constexpr auto k_runs_doctor_examples = std::to_array<Example>({
    {"errand runs doctor", "whether all runs can be read"},
    {"errand runs doctor --fix", "after a crash of the machine"},
});
constexpr auto k_codes_examples = std::to_array<Example>({
    {"errand exit-codes", "the whole contract"},
    {"errand exit-codes $?", "what the last ending means"},
    {"errand exit-codes provider.auth -o json", "one error code, for scripts"},
});
constexpr auto k_doctor_examples = std::to_array<Example>({
    {"errand doctor", "before an agent is left alone on a new machine"},
    {"errand doctor --online -o json", "for a check of a CI machine: keys are tried out, too"},
});
constexpr auto k_schema_examples = std::to_array<Example>({
    {"errand schema agent >agent.schema.json", "for an editor"},
});
constexpr auto k_shell_examples = std::to_array<Example>({
    {"source <(errand completions bash)", "in ~/.bashrc"},
    {"errand completions fish | source", "in ~/.config/fish/config.fish"},
});
constexpr auto k_help_examples = std::to_array<Example>({
    {"errand help sandbox", "what the programs of tools can reach"},
    {"errand help agent | less", "the whole page on the agent file"},
    {"errand help tools call", "the same as errand tools call --help"},
});

constexpr auto k_commands = std::to_array<Command>({
    {.name = "run",
     .summary = "run an agent to its end",
     .description =
         "Runs the agent in a loop of model calls and tool calls. stdout gets the answer and "
         "nothing else; stderr gets everything else; the exit code says how the run ended.",
     .positionals = k_run_positionals,
     .options = k_run_options,
     .examples = k_run_examples,
     .run = command_run,
     .is_work = true},
    {.name = "resume",
     .summary = "carry a run on: one that was cut off, came to a limit, or has its answer",
     .description =
         "Carries a run on from its last recorded event: answers that are recorded are not paid "
         "for again, and calls that have a result are not run again. A call that was cut off runs "
         "again only where it reads, or is declared idempotent; otherwise the model is told. The "
         "agent file, the files that it named and the options are those that are recorded, but for "
         "the options given here. What was approved for the run is asked again. A run that was "
         "parked waits for answers to its calls: on a terminal they are asked for.",
     .positionals = k_resume_positionals,
     .options = k_resume_options,
     .examples = k_resume_examples,
     .run = command_resume,
     .is_work = true},
    {.name = "fork",
     .summary = "begin a run with the beginning of a recorded one",
     .description =
         "Makes a new run of all that another one has until the end of turn N, the results of that "
         "turn's calls included, and carries it on as resume does. What the other run has paid for "
         "is on its own bill; turns and calls count on. Files are as they are now, not as they "
         "were at that turn. The other run stays as it is.",
     .positionals = k_fork_positionals,
     .options = k_fork_options,
     .examples = k_fork_examples,
     .run = command_fork,
     .is_work = true},
    {.name = "batch",
     .summary = "run an agent over many inputs, several at a time",
     .description =
         "Each input is one run: a line of text, a JSON object or a row of a CSV file, which give "
         "its `prompt`, or the agent's parameters by name, and an `id`. stdout gets a line of JSON "
         "for each, its result object with `item`; stderr says how far it is. Exits with 0 where "
         "every input ended with 0, with 1 where one did not; with 124 or 82 where a limit of the "
         "whole ended it, with 77, 102 or 103 where key, model or account are wrong, with 128 and "
         "its number where a signal ended it. While a provider is down, inputs wait for it, with "
         "75 "
         "where that takes too long. Nobody is asked anything.",
     .positionals = k_batch_positionals,
     .options = k_batch_options,
     .examples = k_batch_examples,
     .run = command_batch,
     .is_work = true},
    {.name = "check",
     .summary = "find every mistake in agent files",
     .description = "Loads each file as run would, without network and without a key, and with "
                    "them the user's config.yaml, the project's .errand/config.yaml and imported "
                    "prices, whose mistakes stand beside the agents that are ok. Exits with 78 "
                    "where one of all these has a mistake, with 93 where it is in what the sandbox "
                    "names.",
     .positionals = k_check_positionals,
     .options = k_check_options,
     .examples = k_check_examples,
     .run = command_check},
    {.name = "test",
     .summary = "test agents against recordings, scripts or the model itself",
     .description = "Runs every case: an agent, a recording or a script that answers in the "
                    "model's place, and what must hold of the run. No key, no network; with "
                    "--live the model itself answers. Exits with 1 where a case failed, where a "
                    "judge had no verdict, and where one is worse than the baseline.",
     .positionals = k_test_positionals,
     .options = k_test_options,
     .examples = k_test_examples,
     .run = command_test,
     .is_work = true},
    {.name = "init",
     .summary = "write a first agent file",
     .description = "Writes a commented agent file that works. An existing file is left alone.",
     .positionals = k_init_positionals,
     .options = k_init_options,
     .examples = k_init_examples,
     .run = command_init},
    {.name = "tools list",
     .summary = "list tools",
     .description = "Lists the built-in tools, or the tools of an agent.",
     .positionals = k_list_positionals,
     .options = k_output_options,
     .examples = k_list_examples,
     .run = command_tools_list},
    {.name = "tools call",
     .summary = "call one tool by hand",
     .description =
         "Calls one tool with these arguments, and prints what the model would read, without "
         "secrets. "
         "No permissions, hooks or guardrails are asked, whatever the agent file has. Exits "
         "with 0 where the tool worked.",
     .positionals = k_call_positionals,
     .options = k_call_options,
     .examples = k_call_examples,
     .run = command_tools_call,
     .is_work = true},
    {.name = "mcp list",
     .summary = "start an agent's MCP servers, and say what they are",
     .description =
         "Starts the MCP servers of an agent as a run would, says how each calls itself, "
         "which revision was agreed on, how many tools and resources it has, and its prompts "
         "with what they take, and ends them. Exits "
         "with 69 where one that is required does not start.",
     .positionals = k_mcp_agent_positionals,
     .options = k_mcp_options,
     .examples = k_mcp_list_examples,
     .run = command_mcp_list,
     .is_work = true},
    {.name = "mcp tools",
     .summary = "list the tools of an agent's MCP servers",
     .description = "Starts the MCP servers of an agent as a run would, and lists their tools by "
                    "the names that the agent has for them, as permissions name them.",
     .positionals = k_mcp_tools_positionals,
     .options = k_mcp_options,
     .examples = k_mcp_tools_examples,
     .run = command_mcp_tools,
     .is_work = true},
    {.name = "mcp test",
     .summary = "check the MCP servers of an agent, without a call of a tool",
     .description =
         "Starts the MCP servers of an agent as a run would and looks at each: what was agreed, "
         "its tools' names and schemas, whether it answers, lists the same tools once more, lists "
         "its resources and prompts, has the tools that the lock has, and ends in time. A line "
         "for each check, ok or FAIL. Exits with 0 where all went well, else with the code of the "
         "first that did not: 69, 77 or 78.",
     .positionals = k_mcp_tools_positionals,
     .options = k_mcp_options,
     .examples = k_mcp_test_examples,
     .run = command_mcp_test,
     .is_work = true},
    {.name = "mcp call",
     .summary = "call a tool of an MCP server by hand",
     .description = "Starts the MCP servers of an agent, calls one tool with these arguments, and "
                    "prints what the model would read, without secrets. No permissions, hooks or "
                    "guardrails are asked. Exits with 0 where the tool worked.",
     .positionals = k_mcp_call_positionals,
     .options = k_mcp_call_options,
     .examples = k_mcp_call_examples,
     .run = command_mcp_call,
     .is_work = true},
    {.name = "mcp serve",
     .summary = "offer agents to MCP clients, as tools",
     .description =
         "Speaks the Model Context Protocol on standard input and output: each agent is a tool, "
         "and each call of it a run in the working folder. Serves until the client closes its "
         "end; runs that still go on are then cancelled. Messages go to stderr.",
     .positionals = k_mcp_serve_positionals,
     .options = k_serve_options,
     .examples = k_mcp_serve_examples,
     .run = command_mcp_serve,
     .is_work = true},
    {.name = "mcp login",
     .summary = "log in to an MCP server that is reached by HTTP",
     .description =
         "Asks the server where to log in, prints the address, opens it in a browser where "
         "standard error is a terminal, and waits for five minutes until somebody has logged in "
         "there. Tokens are kept for all runs of this user, in a file that nobody else can read. "
         "Exits with 77 where there is no login in the end, and with 2 where the server's "
         "`headers` have an Authorization: that is what it is asked with.",
     .positionals = k_mcp_login_positionals,
     .options = k_mcp_login_options,
     .examples = k_mcp_login_examples,
     .run = command_mcp_login,
     .is_work = true},
    {.name = "mcp logout",
     .summary = "forget the login for an MCP server",
     .description = "Removes what `errand mcp login` has kept. The authorization server is not "
                    "told.",
     .positionals = k_mcp_login_positionals,
     .examples = k_mcp_logout_examples,
     .run = command_mcp_logout},
    {.name = "mcp lock",
     .summary = "accept the tools of an agent's MCP servers as they are now",
     .description =
         "Starts the MCP servers of an agent and writes what they say of their tools to "
         "AGENT.mcp-lock.json, beside the agent file: a line a tool, with digests of its "
         "description and of the schemas of its arguments and results. Where that file is, a "
         "run, mcp tools and mcp call end with 78, before a model is asked, as soon as a tool is "
         "new, gone or described otherwise. Says what is different from the lock before. Exits "
         "with 69 where a server does not start, whether or not it is required.",
     .positionals = k_mcp_agent_positionals,
     .options = k_mcp_lock_options,
     .examples = k_mcp_lock_examples,
     .run = command_mcp_lock,
     .is_work = true},
    {.name = "policy check",
     .summary = "say whether a call may run, and why",
     .description =
         "Says what the permissions of an agent make of a call, with the settings of the "
         "project and the user: allow, ask or deny, and which rule says so; or refused, where "
         "the sandbox or the tool itself would not let it happen after an approval either, as far "
         "as "
         "that is known beforehand. For tools that run programs it says which network these "
         "have. Nothing is run. Exits with 0 where the call is allowed, and with 92 where it is "
         "not.",
     .positionals = k_policy_positionals,
     .options = k_policy_options,
     .examples = k_policy_examples,
     .run = command_policy_check},
    {.name = "models",
     .summary = "list providers and their models",
     .description =
         "Lists the providers that have a name, with protocol and address, and says whose key is "
         "set. With --remote it asks the named ones, or all that have a key, for their models; "
         "nothing else of this command uses the network.",
     .positionals = k_models_positionals,
     .options = k_models_options,
     .examples = k_models_examples,
     .run = command_models},
    {.name = "prices show",
     .summary = "show what a model costs",
     .description = "Shows which prices are in force, or what one model costs: the price, who says "
                    "it, and by which rule. Exits with 78 where it is not known.",
     .positionals = k_price_positionals,
     .options = k_output_options,
     .examples = k_price_examples,
     .run = command_prices_show},
    {.name = "prices import",
     .summary = "take newer prices from a file",
     .description =
         "Reads prices as the project pydantic/genai-prices publishes them, checks them, "
         "and keeps them for this user. They are in force as long as no newer ones are "
         "built in.",
     .positionals = k_import_positionals,
     .options = k_import_options,
     .examples = k_import_examples,
     .run = command_prices_import},
    {.name = "runs list",
     .summary = "list the runs that are kept",
     .description = "Lists the runs that began in this folder, the newest first: when, by which "
                    "agent, how each ended, its turns and what it cost.",
     .positionals = {},
     .options = k_runs_list_options,
     .examples = k_runs_list_examples,
     .run = command_runs_list},
    {.name = "runs show",
     .summary = "tell what a run did",
     .description =
         "Tells a run from its log, a line for each thing that happened: turns with what they "
         "cost, calls and what came of them, waits, approvals, warnings, and the ending. With "
         "--turn, one turn and all that was said in it.",
     .positionals = k_run_id_positionals,
     .options = k_runs_show_options,
     .examples = k_runs_show_examples,
     .run = command_runs_show},
    {.name = "runs context",
     .summary = "show what the model saw at a request",
     .description =
         "Shows the instructions and messages of one request, whole and in order, as the model got "
         "them: where the conversation had been made shorter, that, with what was cleared, "
         "summarized and left out. Secrets are not in the journal. Of tools it has the names.",
     .positionals = k_run_id_positionals,
     .options = k_runs_context_options,
     .examples = k_runs_context_examples,
     .run = command_runs_context},
    {.name = "runs pending",
     .summary = "show the calls that wait for approval",
     .description =
         "Shows the calls of parked runs that nobody has said yes or no to: the tool, its whole "
         "arguments, the folder, why it needs approval and which rule a yes stands for, since when "
         "it waits and until when it may. Of the runs of this folder, or of one run. With `errand "
         "resume RUN --approve CALL` somebody says yes. A flow or a team whose members have all "
         "been answered is listed by itself: it has to be carried on yet.",
     .positionals = k_maybe_run_positionals,
     .options = k_runs_pending_options,
     .examples = k_runs_pending_examples,
     .run = command_runs_pending},
    {.name = "runs export",
     .summary = "write a run out: for people, programs or another journal",
     .description =
         "Writes the events of a run as `errand run -o jsonl` does, but for streamed pieces, or a "
         "Markdown document. Secrets, and what looks like one, are taken out. With --raw it is "
         "what the journal holds, byte for byte; `errand runs import` takes it back, as a run that "
         "is not known as yours.",
     .positionals = k_run_id_positionals,
     .options = k_runs_export_options,
     .examples = k_runs_export_examples,
     .run = command_runs_export},
    {.name = "runs import",
     .summary = "put an exported run into the journal",
     .description =
         "Reads what `errand runs export --raw` wrote, checks it, and keeps all of it but the "
         "seals, by which errand knows its runs and your approvals again: what was approved in it "
         "does not count, and `errand resume RUN --agent FILE` carries it on. Exits with 78 where "
         "it is no whole run, and with 2 where the journal has that run already.",
     .positionals = k_runs_import_positionals,
     .options = k_runs_import_options,
     .examples = k_runs_import_examples,
     .run = command_runs_import},
    {.name = "runs rm",
     .summary = "remove runs, and every byte of them",
     .description =
         "Removes runs from the journal, and writes its file anew, so that no bytes of them are "
         "left in it. One that a living process has stays, and the exit code is 2.",
     .positionals = k_run_ids_positionals,
     .options = k_runs_rm_options,
     .examples = k_runs_rm_examples,
     .run = command_runs_rm},
    {.name = "runs prune",
     .summary = "remove old runs",
     .description =
         "Removes the runs of which nothing was heard for that long, as `errand runs rm` does, and "
         "lists them: those of all folders, while `errand runs list` and --last are about this "
         "folder's alone. One that a living process has stays.",
     .positionals = {},
     .options = k_runs_prune_options,
     .examples = k_runs_prune_examples,
     .run = command_runs_prune},
    {.name = "runs doctor",
     .summary = "say whether the journal is whole, and mend it",
     .description =
         "Reads all of the journal: whether the file is sound, each event can be read, and the "
         "list of runs says what their events say. With --fix a copy of the file is kept, and what "
         "can be mended is: the list is made anew, and of a damaged file all events that can still "
         "be read are saved. What is lost is said, run by run, and listed in the JSON as `lost`. "
         "Exits with 74 where something is wrong, or stays so, or is lost.",
     .positionals = {},
     .options = k_runs_doctor_options,
     .examples = k_runs_doctor_examples,
     .run = command_runs_doctor},
    {.name = "exit-codes",
     .summary = "explain exit codes and error codes",
     .description = "Prints the contract of exit codes and error codes, or the rows of one code.",
     .positionals = k_codes_positionals,
     .options = k_output_options,
     .examples = k_codes_examples,
     .run = command_exit_codes},
    {.name = "doctor",
     .summary = "say what works on this machine: sandbox, keys, settings, journal, prices",
     .description =
         "Lists the layers of the sandbox, and what does not hold where one is missing; which "
         "providers' keys are set (never their values), whether the settings can be read and the "
         "journal opens, and how old the prices are. With --online, and only then, the providers "
         "whose key is set and those of the folder's agents (agent.yaml and the like) are "
         "asked. The exit code is that of the first thing that is wrong, in this order: 93 where a "
         "layer is missing that agents require by default, 78 for a mistake in settings, 74 for a "
         "journal that does not open, 78 for imported prices that cannot be read, and with "
         "--online what a run would end with, such as 75 or 77, or 78 where an agent of this "
         "folder is wrong or its key may not go to its server. A key that is not set is not an "
         "error, but, with --online, that of an agent of this folder.",
     .positionals = {},
     .options = k_doctor_options,
     .examples = k_doctor_examples,
     .run = command_doctor},
    {.name = "schema",
     .summary = "print a JSON Schema",
     .description = "Prints the JSON Schema of the agent file, of the result or of the events.",
     .positionals = k_schema_positionals,
     .options = {},
     .examples = k_schema_examples,
     .run = command_schema},
    {.name = "completions",
     .summary = "print a shell's completion script",
     .description = "Prints the script that completes errand's command line in a shell.",
     .positionals = k_shell_positionals,
     .options = {},
     .examples = k_shell_examples,
     .run = command_completions},
    {.name = "help",
     .summary = "show help, and the manual by topics",
     .description =
         "Shows the help of the program with the topics, a page or section of the manual "
         "as text, or the help of one command. What is both a command and a topic, as "
         "test, is shown as both.",
     .positionals = k_help_positionals,
     .options = {},
     .examples = k_help_examples,
     .run = command_help},
    {.name = "version",
     .summary = "print the version",
     .description = "Prints the version, as errand --version does.",
     .positionals = {},
     .options = k_output_options,
     .examples = {},
     .run = command_version,
     .hidden = true},
    {.name = "man",
     .summary = "print the source of a manual page",
     .description = "Prints the mdoc source of a manual page.",
     .positionals = k_page_positionals,
     .options = {},
     .examples = {},
     .run = command_man,
     .hidden = true},
});

constexpr auto k_planned = std::to_array<Names>({"chat", "config", "submit", "worker"});

constexpr auto k_variables = std::to_array<Variable>({
    {"ANTHROPIC_API_KEY, OPENAI_API_KEY",
     "The keys of the providers. An agent file names another variable with model.api_key_env; "
     "errand-agent(5) says where keys go."},
    {"HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE", "Proxy and certificates, as curl knows them."},
    {"NO_COLOR", "Where it is set and not empty, nothing is coloured."},
    {"TMPDIR",
     "Where a run keeps the long outputs of its tools; /tmp by default. What killed runs and "
     "`errand tools call` left there is swept by later ones, but for what a session names."},
    {"XDG_CONFIG_HOME",
     "Where config.yaml is, in errand/: what holds for all agents; ~/.config by default."},
    {"XDG_DATA_HOME", "Where imported prices are kept, in errand/; ~/.local/share by default."},
    {"XDG_STATE_HOME", "Where the journal is kept, in errand/; ~/.local/state by default."},
});

constexpr auto k_other_names = std::to_array<OtherName>({
    {"--json", "-o json"},
    {"--format", "--output"},
    {"--output-format", "--output"},
    {"--stream-json", "-o jsonl"},
    {"--debug", "-vv"},
    {"--silent", "--quiet"},
    {"--directory", "--cwd"},
    {"--workdir", "--cwd"},
    {"--set", "--param"},
    {"--yolo", "--yes"},
    {"--dangerously-skip-permissions", "--yes"},
    {"--allowed-tools", "--allow"},
    {"--allowedTools", "--allow"},
    {"--disallowed-tools", "--deny"},
    {"--disallowedTools", "--deny"},
    {"--var", "--param"},
    {"--max-iterations", "--max-turns"},
    {"--budget", "--max-cost"},
    {"--max-budget-usd", "--max-cost"},
    {"--message", "--prompt"},
    {"--no-color", "--color never"},
    {"--no-colour", "--color never"},
    {"--colour", "--color"},
    {"stream-json", "jsonl"},
    {"ndjson", "jsonl"},
    {"plain", "text"},
    {"validate", "check"},
    {"lint", "check"},
    {"new", "init"},
    {"create", "init"},
    {"exec", "run"},
    {"start", "run"},
    {"completion", "completions"},
    {"exit_codes", "exit-codes"},
    {"codes", "exit-codes"},
    {"history", "runs list"},
    {"sessions", "runs list"},
});

}  // namespace

std::span<const Command> commands() {
  return k_commands;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(k_commands, name, &Command::name);
  return found == k_commands.end() ? nullptr : &*found;
}

std::vector<const Command*> commands_of(std::string_view group) {
  std::vector<const Command*> found;
  for (const Command& command : k_commands) {
    if (command.name.size() > group.size() && command.name.starts_with(group) &&
        command.name[group.size()] == ' ') {
      found.push_back(&command);
    }
  }
  return found;
}

const Option* find_option(const Command& command, std::string_view name) {
  if (name == k_help.name || name == k_help.short_name) {
    return &k_help;
  }
  const auto found = std::ranges::find_if(command.options, [&](const Option& option) {
    return option.name == name || (!option.short_name.empty() && option.short_name == name);
  });
  return found == command.options.end() ? nullptr : &*found;
}

const Option& help_option() {
  return k_help;
}

std::span<const std::string_view> planned_commands() {
  return k_planned;
}

std::span<const Variable> variables() {
  return k_variables;
}

std::span<const OtherName> other_names() {
  return k_other_names;
}

}  // namespace cli
