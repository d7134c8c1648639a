print("no"); raise SystemExit(1)
