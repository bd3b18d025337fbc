"""Does of a kubelet's work what the tests need of nodes that are objects alone: it removes the pods
that were deleted there.

usage: kubelet.py KUBECONFIG
"""

import subprocess
import sys
from typing import Set


def main(kubeconfig: str) -> None:
    kubectl = ["kubectl", "--kubeconfig", kubeconfig]
    columns = "custom-columns=A:.metadata.namespace,B:.metadata.name,C:.metadata.uid,D:.metadata.deletionTimestamp,E:.spec.nodeName"
    watch = subprocess.Popen([*kubectl, "get", "pods", "-A", "--watch", "--no-headers", "-o", columns], stdout=subprocess.PIPE, text=True)
    removed: Set[str] = set()
    for line in watch.stdout or []:
        namespace, name, uid, deleted, node = line.split()
        if deleted != "<none>" and node != "<none>" and uid not in removed:
            removed.add(uid)
            subprocess.run([*kubectl, "delete", "pod", "-n", namespace, name, "--grace-period=0", "--force", "--wait=false"], check=False)
    raise SystemExit("kubelet: the watch has ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
