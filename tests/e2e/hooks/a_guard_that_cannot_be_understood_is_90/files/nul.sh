printf '\0{"decision":"allow"}'
