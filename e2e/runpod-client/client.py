"""RunPod's official MCP server against the fake: each step is what a user of it would do."""
import json
import os
import sys
import time
import urllib.request

import schema
from mcp import Server, ToolError

TOOLS = {  # of each tool with a body: the definition of that body in the fake
    "create-pod": "createPod", "update-pod": "updatePod", "pod-action": "podAction",
    "create-network-volume": "createVolume", "update-network-volume": "updateVolume",
    "create-template": "createTemplate", "update-template": "updateTemplate",
    "create-registry": "createRegistry", "update-ssh-keys": "sshKeys",
}
L4 = {"id": "NVIDIA L4", "count": 1}


def control(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["CONTROL_URL"] + path, data, method=method)) as r:
        text = r.read()
        return json.loads(text) if text else None


def refused(call, *words):
    try:
        call()
    except ToolError as e:
        missing = [w for w in words if w not in str(e)]
        assert not missing, "%s not in %s" % (missing, e)
        return
    raise AssertionError("it was not refused")


def await_status(server, pod, status):
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if server.call("get-pod", id=pod)["status"] == status:
            return
        time.sleep(0.1)  # 1000 requests a minute are allowed
    raise AssertionError("the pod never was " + status)


def catalogue(server):
    gpus = {g["id"]: g for g in server.call("list-gpu-types", include=["AVAILABILITY"], product=["POD"], count=2)["gpus"]}
    assert gpus[L4["id"]]["availability"] == "MEDIUM" and gpus[L4["id"]]["price"]["secure"] > 0, gpus[L4["id"]]
    assert server.call("get-gpu-type", id=L4["id"])["memory"] == 24
    assert server.call("list-cpu-types")["cpus"] and server.call("get-cpu-type", id="cpu5c")["vcpu"]["min"] == 2
    centers = server.call("list-data-centers", include=["GPU_AVAILABILITY"], regions=["EUROPE"])["dataCenters"]
    assert {c["region"] for c in centers} == {"EUROPE"} and centers[0]["gpuAvailability"], centers
    refused(lambda: server.call("list-gpu-types", include=["AVAILABILITY"]), "400")


def life(server):
    pod = server.call("create-pod", body={
        "name": "a", "image": "python:3.12", "gpu": L4, "ports": ["8888/http"], "args": "sh -c 'echo hello; sleep 1000'"})
    assert pod["status"] == "PROVISIONING" and pod["cost"] == 0.43, pod
    await_status(server, pod["id"], "RUNNING")
    listed = server.call("list-pods")
    assert pod["id"] in json.dumps(listed), listed
    for _ in range(600):
        if "hello" in json.dumps(server.call("stream-pod-logs", podId=pod["id"], source="container", maxWaitMs=500)):
            break
    else:
        raise AssertionError("no log")

    def act(what):
        return server.call("pod-action", id=pod["id"], body={"action": what})

    assert act("stop")["status"] == "EXITED"
    refused(lambda: act("restart"), "409")
    act("start")
    await_status(server, pod["id"], "RUNNING")
    act("restart")
    server.call("delete-pod", id=pod["id"])
    refused(lambda: server.call("get-pod", id=pod["id"]), "404")
    assert [p for p in control("GET", "/pods") if p["cost_per_hour"]] == []


def volumes(server):
    made = server.call("create-network-volume", body={"name": "v", "size": 10, "dataCenter": "EU-RO-1"})
    assert made["id"] in json.dumps(server.call("list-network-volumes"))
    assert server.call("update-network-volume", id=made["id"], body={"size": 20})["size"] == 20
    refused(lambda: server.call("update-network-volume", id=made["id"], body={"size": 10}), "400")
    server.call("delete-network-volume", id=made["id"])
    refused(lambda: server.call("get-network-volume", id=made["id"]), "404")


def faults(server):
    """What the official client does when RunPod fails is what the fake shows it."""
    def create():
        return server.call("create-pod", body={"name": "f", "image": "i", "gpu": L4})

    control("POST", "/faults", {"status": 503, "times": 1})
    server.call("list-pods")  # tried again by the SDK
    control("POST", "/faults", {"method": "POST", "status": 500, "times": 1, "after": True})
    refused(create, "500")  # not tried again; but the pod is there
    control("POST", "/faults", {"method": "POST", "status": 429, "times": 1, "retry_after": 1})
    server.call("delete-pod", id=create()["id"])
    left = [p["id"] for p in control("GET", "/pods") if p["cost_per_hour"]]
    assert len(left) == 1, left
    server.call("delete-pod", id=left[0])
    control("PUT", "/behaviour", {"no_capacity": True})
    refused(create, "400", "no longer any instances available")
    control("DELETE", "/faults")
    refused(lambda: server.call("create-pod", body={"name": "f", "image": "i", "gpu": {"id": "NVIDIA L4", "count": 0}}), "count")


def bodies(server):
    """The fake knows the fields that the published schemas have, no others, and takes what they allow."""
    volume = server.call("create-network-volume", body={"name": "v", "size": 10, "dataCenter": "EU-RO-1"})["id"]
    template = server.call("create-template", body={"name": "t", "image": "i"})["id"]
    registry = server.call("create-registry", body={"name": "r", "username": "u", "password": "p"})["id"]
    pod = server.call("create-pod", body={"name": "p", "image": "i", "gpu": L4})["id"]
    known = {
        "values": {
            "id": ["NVIDIA GeForce RTX 4090"], "image": ["python:3.12"], "volumeId": [volume], "templateId": [template], "registry": [registry, None],
            "dataCenterIds": [["EU-RO-1"], []], "dataCenter": ["EU-RO-1"], "minCudaVersion": ["12.4"], "allowedCudaVersions": [["12.8"], []],
            "action": ["restart", "stop", "start"], "cpu": [{"id": "cpu5c", "vcpuCount": 2}], "path": ["/workspace"],
        },
        "needed": {"gpu": ["count"]},
        "instead": {"cpu": ["gpu"]},
    }
    with open(os.path.join(os.environ["TOP"], "engine/enginetest/fakerunpod/schemas.json")) as f:
        ours = json.load(f)["$defs"]
    count = 0
    targets = {"update-pod": pod, "pod-action": pod, "update-template": template, "update-network-volume": volume}
    for tool, definition in TOOLS.items():
        body, defs = server.schemas[tool]["properties"]["body"], server.schemas[tool]["$defs"]
        differ = schema.fields(body, defs) ^ schema.fields(ours[definition], ours)
        assert not differ, "%s: %s" % (tool, differ)
        known["needed"]["body"] = ["image", "gpu"] if tool == "create-pod" else []
        for value in schema.variants(body, defs, known):
            if tool == "update-pod" and ("mounts" in value or value.get("locked")):
                continue  # rules that no schema tells
            if tool == "pod-action":
                await_status(server, pod, "EXITED" if value["action"] == "start" else "RUNNING")
            accepted(server, tool, value, targets.get(tool))
            count += 1
    server.call("delete-pod", id=pod)
    print("%d bodies" % count)


def accepted(server, tool, body, target):
    try:
        answer = server.call(tool, body=body, **({"id": target} if target else {}))
    except ToolError as e:
        raise AssertionError("%s %s: %s" % (tool, json.dumps(body), e)) from e
    if tool == "create-pod":
        server.call("delete-pod", id=answer["id"])


def main():
    server = Server(sys.argv[1])
    assert server.info["serverInfo"]["version"].startswith("4.0.0"), server.info
    for step in (catalogue, life, volumes, faults, bodies):
        step(server)
        print("ok", step.__name__)
    bill = server.call("list-pod-billing", lastN=1)
    assert bill["metadata"]["totals"]["totalAmount"] > 0, bill
    server.close()
    assert [p for p in control("GET", "/pods") if p["cost_per_hour"]] == []


main()
