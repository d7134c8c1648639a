#!/bin/sh
# Says what is wrong with a file that was written. For PostToolUse of Claude Code.
input=$(cat)
case "$input" in
*'"hook_event_name":"PostToolUse"'*'"file_path":"'*'"tool_response":'*) ;;
*) exit 1 ;;
esac
if grep -q TODO note.txt; then
  echo '{"decision": "block", "reason": "There is a TODO left in note.txt.", "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "House rule 4: no TODOs."}}'
fi
