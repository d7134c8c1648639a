: >judged
sleep 60
