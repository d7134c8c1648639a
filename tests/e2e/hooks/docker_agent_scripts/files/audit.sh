#!/bin/sh
# For tool_response_transform of docker-agent: hides a number.
cat >>audit.log
echo '{"continue": true, "hook_specific_output": {"updated_tool_response": "the number is hidden"}}'
