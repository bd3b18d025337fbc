"""Prints what this interpreter is and has, as JSON. Python >= 3.8."""
import json
import os
import platform
import re
import sys
from importlib import metadata
from importlib.util import find_spec

found = {}
for dist in metadata.distributions():
    try:
        name, version = dist.metadata["Name"], dist.version
    except Exception:  # a damaged distribution must not hide the others
        continue
    if name and version:
        # The first on sys.path is the one that would be imported.
        found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)

implementation = sys.implementation.version
full = "{}.{}.{}".format(*implementation[:3])
if implementation.releaselevel != "final":
    full += implementation.releaselevel[0] + str(implementation.serial)

json.dump(
    {
        "markers": {
            "implementation_name": sys.implementation.name,
            "implementation_version": full,
            "os_name": os.name,
            "platform_machine": platform.machine(),
            "platform_python_implementation": platform.python_implementation(),
            "platform_release": platform.release(),
            "platform_system": platform.system(),
            "platform_version": platform.version(),
            "python_full_version": platform.python_version(),
            "python_version": ".".join(platform.python_version_tuple()[:2]),
            "sys_platform": sys.platform,
        },
        "distributions": found,
        "folders": [p for p in sys.path if os.path.isdir(p)],
        "no_pip": not any(find_spec(name) for name in ("pip", "ensurepip")),
    },
    sys.stdout,
)
