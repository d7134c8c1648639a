#!/bin/sh
grep -o '"exit_name":"[^"]*"' | head -1 >end.log
