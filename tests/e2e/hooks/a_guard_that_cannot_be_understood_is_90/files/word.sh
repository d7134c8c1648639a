echo '{"decison":"deny"}'
