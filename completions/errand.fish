# fish completion of errand; made by `errand completions fish`.

function __errand_agents
    set -l start (commandline -ct)
    for file in $start*.yaml $start*.yml $start*.md $start*/
        echo $file
    end
end

# True where the command line begins with these words.
function __errand_using
    set -l words (commandline -opc)
    set -e words[1]
    for word in $argv
        test "$words[1]" = "$word"; or return 1
        set -e words[1]
    end
    return 0
end

function __errand_at
    set -l words (commandline -opc)
    test (count $words) -eq (math 1 + (count $argv)); and __errand_using $argv
end

complete -c errand -f
complete -c errand -n __errand_at -s h -l help -d 'show this help'
complete -c errand -n __errand_at -s V -l version -d 'print the version'
complete -c errand -n __errand_at -a run -d 'run an agent to its end'
complete -c errand -n __errand_at -a check -d 'find every mistake in agent files'
complete -c errand -n __errand_at -a test -d 'test agents against recordings and scripts'
complete -c errand -n __errand_at -a init -d 'write a first agent file'
complete -c errand -n __errand_at -a tools -d 'list tools, call one tool by hand'
complete -c errand -n __errand_at -a policy -d 'say whether a call may run, and why'
complete -c errand -n __errand_at -a models -d 'list providers and their models'
complete -c errand -n __errand_at -a prices -d 'show what a model costs, take newer prices from a file'
complete -c errand -n __errand_at -a exit-codes -d 'explain exit codes and error codes'
complete -c errand -n __errand_at -a doctor -d 'say what works on this machine: sandbox, keys, settings, journal, prices'
complete -c errand -n __errand_at -a schema -d 'print a JSON Schema'
complete -c errand -n __errand_at -a completions -d 'print a shell\'s completion script'
complete -c errand -n __errand_at -a help -d 'show help, and the manual by topics'
complete -c errand -n '__errand_at tools' -a list -d 'list tools'
complete -c errand -n '__errand_at tools' -a call -d 'call one tool by hand'
complete -c errand -n '__errand_at policy' -a check -d 'say whether a call may run, and why'
complete -c errand -n '__errand_at prices' -a show -d 'show what a model costs'
complete -c errand -n '__errand_at prices' -a import -d 'take newer prices from a file'
complete -c errand -n '__errand_using run' -s p -l prompt -x -d 'the prompt, in place of words after AGENT'
complete -c errand -n '__errand_using run' -s f -l prompt-file -r -F -d 'read the prompt from FILE; - is standard input'
complete -c errand -n '__errand_using run' -s P -l param -x -d 'set the agent\'s parameter K to V; repeatable'
complete -c errand -n '__errand_using run' -s m -l model -x -d 'use this model instead of the agent file\'s'
complete -c errand -n '__errand_using run' -s C -l cwd -x -a '(__fish_complete_directories)' -d 'change to DIR before anything else'
complete -c errand -n '__errand_using run' -l key-host -x -d 'the value of the variable NAME may go to the server URL; repeatable'
complete -c errand -n '__errand_using run' -l sandbox -x -a 'read_only workspace_write off' -d 'what tools may write: read_only, workspace_write or off (anything)'
complete -c errand -n '__errand_using run' -l timeout -x -d 'end the run after this time: 90s, 10m, 1h30m'
complete -c errand -n '__errand_using run' -l max-turns -x -d 'end the run after N model responses'
complete -c errand -n '__errand_using run' -l max-cost -x -d 'end the run before it costs more than this: 0.25'
complete -c errand -n '__errand_using run' -s o -l output -x -a 'text json jsonl' -d 'what stdout gets: text (the default), json or jsonl'
complete -c errand -n '__errand_using run' -l output-file -r -F -d 'write the output to FILE instead of stdout'
complete -c errand -n '__errand_using run' -l allow -x -d 'approve in advance the calls that RULE names; repeatable'
complete -c errand -n '__errand_using run' -l deny -x -d 'deny the calls that RULE names; repeatable'
complete -c errand -n '__errand_using run' -l yes -d 'run every call that would need approval'
complete -c errand -n '__errand_using run' -l fail-on-denied -d 'end the run with exit code 92 when a call is denied'
complete -c errand -n '__errand_using run' -l record -r -F -d 'record the run\'s HTTP exchanges in FILE, which must not exist'
complete -c errand -n '__errand_using run' -l replay -r -F -d 'answer from a recording: no network, no key, the same events'
complete -c errand -n '__errand_using run' -l no-session -d 'keep no record of this run'
complete -c errand -n '__errand_using run' -s q -l quiet -d 'errors alone on stderr'
complete -c errand -n '__errand_using run' -s v -l verbose -d 'more on stderr; -vv for everything'
complete -c errand -n '__errand_using run' -l log-file -r -F -d 'append a line for each event to FILE'
complete -c errand -n '__errand_using run' -l color -x -a 'auto always never' -d 'colours on stderr: auto, always or never'
complete -c errand -n '__errand_using run' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using run' -k -a '(__errand_agents)'
complete -c errand -n '__errand_using check' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using check' -l key-host -x -d 'the value of the variable NAME may go to the server URL; repeatable'
complete -c errand -n '__errand_using check' -l color -x -a 'auto always never' -d 'colours on stderr: auto, always or never'
complete -c errand -n '__errand_using check' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using check' -k -a '(__errand_agents)'
complete -c errand -n '__errand_using test' -s j -l jobs -x -d 'run N cases side by side, at most 64; by default one a processor'
complete -c errand -n '__errand_using test' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using test' -l junit -r -F -d 'write the results to FILE in JUnit\'s XML, too'
complete -c errand -n '__errand_using test' -s q -l quiet -d 'do not list cases that pass'
complete -c errand -n '__errand_using test' -l color -x -a 'auto always never' -d 'colours on stderr: auto, always or never'
complete -c errand -n '__errand_using test' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using test' -F
complete -c errand -n '__errand_using init' -l force -d 'overwrite the file where it exists'
complete -c errand -n '__errand_using init' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using init' -k -a '(__errand_agents)'
complete -c errand -n '__errand_using tools list' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using tools list' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using tools list' -k -a '(__errand_agents)'
complete -c errand -n '__errand_using tools call' -l agent -x -k -a '(__errand_agents)' -d 'take the tool as this agent file configures it'
complete -c errand -n '__errand_using tools call' -l sandbox -x -a 'read_only workspace_write off' -d 'what tools may write: read_only, workspace_write or off (anything)'
complete -c errand -n '__errand_using tools call' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using tools call' -a 'apply_patch ask_user edit_file git_commit git_switch glob grep list_directory read_file shell task_failed todo web_fetch write_file'
complete -c errand -n '__errand_using policy check' -l allow -x -d 'approve in advance the calls that RULE names; repeatable'
complete -c errand -n '__errand_using policy check' -l deny -x -d 'deny the calls that RULE names; repeatable'
complete -c errand -n '__errand_using policy check' -l sandbox -x -a 'read_only workspace_write off' -d 'what tools may write: read_only, workspace_write or off (anything)'
complete -c errand -n '__errand_using policy check' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using policy check' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using policy check' -k -a '(__errand_agents)'
complete -c errand -n '__errand_using policy check' -a 'apply_patch ask_user edit_file git_commit git_switch glob grep list_directory read_file shell task_failed todo web_fetch write_file'
complete -c errand -n '__errand_using models' -l remote -d 'ask the providers which models they offer'
complete -c errand -n '__errand_using models' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using models' -l color -x -a 'auto always never' -d 'colours on stderr: auto, always or never'
complete -c errand -n '__errand_using models' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using prices show' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using prices show' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using prices import' -l date -x -d 'the day of the prices: 2026-11-21; by default that of the file\'s last change'
complete -c errand -n '__errand_using prices import' -l to -r -F -d 'write the table to FILE; nothing is put in force'
complete -c errand -n '__errand_using prices import' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using prices import' -F
complete -c errand -n '__errand_using exit-codes' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using exit-codes' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using exit-codes' -a '0 ok 1 task_failed 2 usage 65 invalid_request 66 no_input 69 helper_unavailable 70 internal 71 os_error 73 cant_create 74 storage 75 provider_unavailable 76 protocol 77 auth 78 config 80 max_turns 81 token_budget 82 cost_budget 83 tool_call_limit 84 context_overflow 85 truncated 86 loop_detected 87 handoff_limit 90 hook_terminated 91 guardrail_denied 92 approval_required 93 sandbox 94 user_declined 95 model_refused 96 kill_switch 97 signal_timeout 98 lease_lost 102 model_not_found 103 quota_exhausted 104 unsupported 110 tool_fatal 111 output_invalid 112 no_result 113 checks_failed 114 subagent_failed 119 replay_miss 124 timeout 129 sighup 130 sigint 141 sigpipe 143 sigterm provider.network provider.tls provider.rate_limited provider.timeout provider.unavailable provider.model_loading provider.stream_broken provider.circuit_open provider.busy provider.bad_response provider.auth provider.invalid_request provider.model_not_found provider.quota provider.unsupported provider.refused provider.other context.overflow context.compaction_failed context.compaction_provider output.truncated output.invalid output.empty run.max_turns run.token_budget run.cost_budget run.tool_call_limit run.timeout run.loop_detected run.task_failed run.declined run.checks_failed run.cancelled tool.not_found tool.invalid_parameters tool.type_mismatch tool.model_retry tool.failed tool.policy_blocked tool.confirmation_required tool.cancelled tool.rate_limited tool.server_error tool.network tool.timeout tool.result_unusable tool.interrupted hook.terminated hook.failed guardrail.denied guardrail.killed sandbox.violation sandbox.setup sandbox.exec_failed sandbox.invalid_state sandbox.not_found sandbox.connect sandbox.agent_timeout sandbox.rpc sandbox.rpc_timeout sandbox.protocol sandbox.backend mcp.connection mcp.initialization mcp.tool_call mcp.transport mcp.other a2a.remote team.invalid team.handoff_limit team.member_failed registry.duplicate registry.missing config.invalid durable.activity_failed durable.cancelled durable.signal_timeout durable.continue_as_new durable.lease_lost durable.other storage.not_found storage.corrupt storage.io storage.other memory.failed knowledge.failed embedding.auth embedding.rate_limited embedding.invalid_request embedding.network embedding.other daemon.failed trigger.failed channel.failed cli.usage cli.no_input cli.cannot_create os.failed replay.miss internal'
complete -c errand -n '__errand_using doctor' -l online -d 'ask the providers whose keys are set, and those of the folder\'s agents'
complete -c errand -n '__errand_using doctor' -s o -l output -x -a 'text json' -d 'what stdout gets: text (the default) or json'
complete -c errand -n '__errand_using doctor' -l color -x -a 'auto always never' -d 'colours on stderr: auto, always or never'
complete -c errand -n '__errand_using doctor' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using schema' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using schema' -a 'agent result events'
complete -c errand -n '__errand_using completions' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using completions' -a 'bash zsh fish'
complete -c errand -n '__errand_using help' -s h -l help -d 'show this help'
complete -c errand -n '__errand_using help' -a 'run check test init tools policy models prices exit-codes doctor schema completions help errand script environment agent keys yaml builtin-tools permissions guardrails sandbox web secrets settings providers hooks recordings'
