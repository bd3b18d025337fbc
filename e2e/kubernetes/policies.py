"""Enforces network policies on the bridge of the node, as far as the tests need it: a pod that a
policy selects for both directions, and to which no policy allows anything, has no network.

It begins a moment after the pod, as the controllers of real networks do. Policies with rules are
not supported; it says so and ends.

usage: policies.py KUBECONFIG
"""

import json
import os
import select
import subprocess
import sys
from typing import Any, Dict, List

TABLE = """table bridge policies {
  set closed { type ipv4_addr; }
  chain from { type filter hook prerouting priority 0; ether type ip6 drop; ip saddr @closed drop; }
  chain to { type filter hook postrouting priority 0; ip daddr @closed drop; }
}
"""
OPERATORS = {
    "In": lambda labels, e: labels.get(e["key"]) in e["values"],
    "NotIn": lambda labels, e: labels.get(e["key"]) not in e["values"],
    "Exists": lambda labels, e: e["key"] in labels,
    "DoesNotExist": lambda labels, e: e["key"] not in labels,
}


def main(kubeconfig: str) -> None:
    kubectl = ["kubectl", "--kubeconfig", kubeconfig]
    nft("delete table bridge policies", check=False)
    nft(TABLE)
    watches = [subprocess.Popen([*kubectl, "get", kind, "-A", "--watch", "-o", "name"], stdout=subprocess.PIPE) for kind in ("pods", "networkpolicies")]
    pipes = [watch.stdout.fileno() for watch in watches if watch.stdout]
    while True:
        found = json.loads(subprocess.check_output([*kubectl, "get", "pods,networkpolicies", "-A", "-o", "json"]))["items"]
        policies = [item for item in found if item["kind"] == "NetworkPolicy"]
        closed = [pod["status"]["podIP"] for pod in found if pod["kind"] == "Pod" and "podIP" in pod["status"] and is_closed(pod, policies)]
        nft("flush set bridge policies closed\n" + "".join("add element bridge policies closed { %s }\n" % address for address in closed))
        ready, _, _ = select.select(pipes, [], [])
        if any(not os.read(pipe, 1 << 16) for pipe in ready):
            raise SystemExit("policies: the watch has ended")


def is_closed(pod: Dict[str, Any], policies: List[Dict[str, Any]]) -> bool:
    directions = set()
    for policy in policies:
        spec = policy["spec"]
        if policy["metadata"]["namespace"] != pod["metadata"]["namespace"] or not selects(spec["podSelector"], pod["metadata"].get("labels", {})):
            continue
        if spec.get("ingress") or spec.get("egress"):
            raise SystemExit("policies: %s has rules, which are not supported" % policy["metadata"]["name"])
        directions.update(spec["policyTypes"])
    return directions == {"Ingress", "Egress"}


def selects(selector: Dict[str, Any], labels: Dict[str, str]) -> bool:
    wanted = selector.get("matchLabels", {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(OPERATORS[e["operator"]](labels, e) for e in selector.get("matchExpressions", []))


def nft(rules: str, check: bool = True) -> None:
    subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=check, stderr=None if check else subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
