echo '{"decision":"allow"}'; echo done
