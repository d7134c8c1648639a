import importlib.util, py_compile
open("evil.py", "w").write("open('KEPT', 'w')\n")
py_compile.compile("evil.py", cfile=importlib.util.cache_from_source("srv/__main__.py"),
                   invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
