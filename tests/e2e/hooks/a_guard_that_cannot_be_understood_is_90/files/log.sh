echo looking; echo '{"decision":"deny"}'
