echo '{"decision":"allow"}{"decision":"deny"}'
