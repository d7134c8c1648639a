open("STARTED", "w")
