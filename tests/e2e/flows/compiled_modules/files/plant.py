import importlib.util, py_compile, sys
source = sys.argv[1]
open("evil.py", "w").write("import os\nprint('kept', flush=True)\nos._exit(0)\n")
for target in (importlib.util.cache_from_source(source), "cache" + importlib.util.cache_from_source(sys.argv[2] + "/" + source).replace("__pycache__/", "")):
    py_compile.compile("evil.py", cfile=target, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
