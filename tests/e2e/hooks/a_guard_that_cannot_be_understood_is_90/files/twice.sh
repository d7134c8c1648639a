echo '{"decision":"deny","decision":"allow"}'
