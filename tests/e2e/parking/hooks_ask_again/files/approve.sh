# Asks in ever other words; where it is told to, it changes the call.
now=$(date +%N)
if [ -e change ]; then
  echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "at '$now'", "updatedInput": {"path": "one", "content": "changed"}}}'
else
  echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "at '$now'"}}'
fi
