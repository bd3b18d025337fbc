"""Spares the first kernel what it does not need: Jupyter would import IPython, and read of every package what it has to offer."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.provisioning import KernelProvisionerFactory
from jupyter_core.paths import jupyter_path

_LOCAL = "local-provisioner"


class Provisioners(KernelProvisionerFactory):  # type: ignore[misc]
    """Knows how kernels are started here. Another way, which a kernel asks for, is looked for then."""

    def __init__(self, **more: Any) -> None:
        super(KernelProvisionerFactory, self).__init__(**more)
        self.provisioners[_LOCAL] = EntryPoint(_LOCAL, "jupyter_client.provisioning:LocalProvisioner", self.GROUP_NAME)


def prepare(app: Any) -> None:
    """Of a server that is initialized and has started no kernel."""
    Provisioners.instance(parent=app)
    own = os.environ.get("IPYTHONDIR") or os.path.join(os.path.expanduser("~"), ".ipython")
    app.kernel_spec_manager.kernel_dirs = [*jupyter_path("kernels"), os.path.join(own, "kernels")]  # as it is asked of IPython otherwise
