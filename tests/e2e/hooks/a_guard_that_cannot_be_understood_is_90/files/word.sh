echo '{"decisions":"deny"}'
