echo "MODE=safe rm_all" >mode.txt; echo other >>same.txt
