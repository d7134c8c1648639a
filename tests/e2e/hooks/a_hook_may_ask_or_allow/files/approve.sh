case "$(cat)" in
*'echo secret'*) echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "It says secret."}}' ;;
*) echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}' ;;
esac
