open("it-ran", "w").write("x")
