#!/bin/sh
# For pre_tool_use of docker-agent: no sudo.
input=$(cat)
case "$input" in
*'"cmd":"sudo'*)
  echo '{"decision": "block", "reason": "sudo is not for agents"}'
  exit 2
  ;;
*'"cmd":'*) echo '{}' ;;
*) exit 1 ;;
esac
