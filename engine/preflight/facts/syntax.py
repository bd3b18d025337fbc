"""Compiles sources, runs none of them, and says where one is not Python."""
import json
import sys
import warnings

warnings.simplefilter("ignore")
found = []
for source in json.load(sys.stdin):
    text = source["text"]
    if text is None:
        with open(source["path"], "rb") as f:
            text = f.read()
    # Top-level await is for kernels and interpreters, as ast.PyCF_ALLOW_TOP_LEVEL_AWAIT.
    flags = 0x2000 if source["await"] else 0
    try:
        compile(text, source["path"], "exec", flags, True)
    except SyntaxError as e:
        found.append({"n": source["n"], "line": e.lineno or 0, "column": e.offset or 0, "message": "%s: %s" % (type(e).__name__, e.msg)})
    except (ValueError, RecursionError, MemoryError, OverflowError) as e:  # such as a null byte
        found.append({"n": source["n"], "line": 0, "column": 0, "message": "%s: %s" % (type(e).__name__, e)})
json.dump(found, sys.stdout)
