echo '["deny"]'
