#!/bin/sh
grep -o '"stop_response":"[^"]*"' >stop.log
