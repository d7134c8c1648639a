# While the first run looks for what it has made, it has other names.
mkdir h
mv d/evil.test.yaml h/1
mv d/x.mcp-lock.json h/2
mv d/repo/.git/HEAD h/3
mv d/repo/.git h/4
touch began
until test -e ended; do sleep .02; done
mv h/1 d/evil.test.yaml
mv h/2 d/x.mcp-lock.json
mv h/4 d/repo/.git
mv h/3 d/repo/.git/HEAD
