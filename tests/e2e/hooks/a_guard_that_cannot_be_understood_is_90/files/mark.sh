printf '\357\273\277{"decision":"allow"}'
