grep -o '"exit_name":"[^"]*"' | head -1 >>ends.log
exit 2
