grep -o '"notification_type":"[^"]*"' >>notes.log
