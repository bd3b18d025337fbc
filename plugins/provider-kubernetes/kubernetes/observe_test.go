package kubernetes

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seer-engine/seer/sdk"
)

// realPods are pods of a real cluster (1.37), shortened.
func realPods(t testing.TB) map[string]pod {
	t.Helper()
	text, err := os.ReadFile("testdata/pods.json")
	if err != nil {
		t.Fatal(err)
	}
	var pods map[string]pod
	if err := json.Unmarshal(text, &pods); err != nil {
		t.Fatal(err)
	}
	return pods
}

// made changes a pod that runs on n1.
func made(change func(*pod)) pod {
	p := pod{Metadata: meta{Name: "seer-k1", UID: "uid-1", Labels: map[string]string{managedBy: manager, labelKeyOf: "seer-k1", labelQueue: "team"}}}
	p.Spec.NodeName = "n1"
	p.Spec.Containers = []container{{Name: "sidecar", Ports: []containerPort{{1}}}, {Name: containerName, Image: "python:3", Ports: []containerPort{{8717}, {80}}}}
	start := clusterTime.Add(-time.Minute)
	p.Status = podStatus{
		Phase: "Running", StartTime: &start, Conditions: []condition{{Type: "Ready", Status: "True"}, {Type: "ContainersReady", Status: "True"}},
		ContainerStatuses: []containerStatus{{Name: "sidecar", State: containerState{Running: &runningState{}}}, {Name: containerName, State: containerState{Running: &runningState{StartedAt: &start}}}},
	}
	change(&p)
	return p
}

var clusterTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// waits is a pod whose container waits.
func waits(reason, message string, age time.Duration) pod {
	return made(func(p *pod) {
		start := clusterTime.Add(-age)
		p.Status.StartTime, p.Status.Phase = &start, "Pending"
		p.Status.ContainerStatuses[1].State = containerState{Waiting: &waitingState{reason, message}}
	})
}

func failedPod(reason, message string) pod {
	return made(func(p *pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = "Failed", reason, message
		p.Status.ContainerStatuses[1].State = containerState{Terminated: &terminatedState{ExitCode: 137, Reason: "Error"}}
	})
}

func exited(t terminatedState) pod {
	return made(func(p *pod) {
		p.Status.Phase, p.Status.ContainerStatuses[1].State = "Failed", containerState{Terminated: &t}
	})
}

func disrupted(reason, message string) pod {
	return made(func(p *pod) {
		p.Status.Conditions = append(p.Status.Conditions, condition{"DisruptionTarget", "True", reason, message})
	})
}

// meshed is a pod with an init container of a service mesh.
func meshed(p pod, state containerState) pod {
	p.Status.InitContainerStatuses = []containerStatus{{Name: "istio-init", State: state}}
	return p
}

// failedBefore is a pod that has failed before its machine began.
func failedBefore() pod {
	p := waits("PodInitializing", "", time.Minute)
	p.Status.Phase = "Failed"
	return p
}

func deletedAt(p pod, at time.Time) pod {
	p.Metadata.DeletionTimestamp = &at
	return p
}

func TestStates(t *testing.T) {
	t.Parallel()
	real := realPods(t)
	gate := func(name string) pod {
		return made(func(p *pod) {
			p.Status, p.Spec.NodeName, p.Spec.SchedulingGates = podStatus{Phase: "Pending"}, "", []named{{name}}
		})
	}
	for name, c := range map[string]struct {
		pod     pod
		state   sdk.State
		code    sdk.Code
		message string
	}{
		"real: deadline":      {real["deadline"], sdk.Stopped, "", "its time is over: the pod has reached its deadline"},
		"real: deleted":       {real["deleting"], sdk.Unreachable, "", "the pod is being deleted"},
		"real: done":          {real["done"], sdk.Stopped, "", itself},
		"real: drained":       {real["drained"], sdk.Failed, sdk.Unavailable, "the pod was evicted, as its node node1 is drained: Eviction API: evicting"},
		"real: disk":          {real["evicted"], sdk.Failed, sdk.Unavailable, "the pod was evicted from the node node1: Pod ephemeral local storage usage exceeds the total limit of containers 1G; raise sandbox.disk"},
		"real: exit":          {real["exit"], sdk.Failed, "", "it ended with exit code 1: no room"},
		"real: image name":    {real["invalidImage"], sdk.Failed, sdk.Invalid, "invalid reference format"},
		"real: memory":        {real["oom"], sdk.Failed, sdk.Unavailable, "it used more than its 52Mi of memory (OOMKilled); raise sandbox.memory"},
		"real: open network":  {real["open"], sdk.Failed, sdk.Unsupported, "does not keep the NetworkPolicy of network: none, as the pod has reached 127.0.0.1:8000"},
		"real: preempted":     {real["preempted"], sdk.Failed, sdk.NoCapacity, "the pod was preempted: the scheduler"},
		"real: no python":     {real["startError"], sdk.Failed, sdk.Invalid, `"python4": executable file not found in $PATH: unknown; the image localhost/python:1 needs python3`},
		"real: unschedulable": {real["unschedulable"], sdk.Pending, "", "the pod cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu"},

		"runs":               {made(func(*pod) {}), sdk.Running, "", "pod on the node n1"},
		"new":                {made(func(p *pod) { p.Status, p.Spec.NodeName = podStatus{Phase: "Pending"}, "" }), sdk.Pending, "", "waits for the scheduler"},
		"queue":              {gate(kueueGate), sdk.Pending, "", "waits in the queue team"},
		"gate":               {gate("example.org/gate"), sdk.Pending, "", "scheduling gate example.org/gate"},
		"creating":           {waits("ContainerCreating", "", 0), sdk.Starting, "", "starts on the node n1"},
		"registry is away":   {waits("ErrImagePull", "dial tcp: i/o timeout", time.Minute), sdk.Starting, "", "is not there yet: dial tcp"},
		"registry stays so":  {waits("ImagePullBackOff", "dial tcp: i/o timeout", time.Hour), sdk.Failed, sdk.Invalid, "the image python:3 cannot be pulled: dial tcp"},
		"no image, at first": {waits("ErrImagePull", "python:3: not found", time.Second), sdk.Starting, "", "not found"},
		"no image":           {waits("ImagePullBackOff", `Back-off pulling image "python:3": ErrImagePull: python:3: not found`, time.Second), sdk.Failed, sdk.Invalid, "cannot be pulled: python:3: not found"},
		"private image":      {waits("ErrImagePull", "pull access denied", time.Minute), sdk.Failed, sdk.Invalid, "pull access denied; see that the name is right; a private image needs provider_options.kubernetes.image_pull_secrets"},
		"mesh, no image":     {meshed(waits("PodInitializing", "", 0), containerState{Waiting: &waitingState{"ImagePullBackOff", "istio/proxyv2: not found"}}), sdk.Starting, "", "the container istio-init, which the cluster has added, does not start: istio/proxyv2: not found"},
		"mesh waits":         {meshed(waits("PodInitializing", "", 0), containerState{Running: &runningState{}}), sdk.Starting, "", "the pod starts on the node n1"},
		"mesh fails":         {meshed(failedBefore(), containerState{Terminated: &terminatedState{ExitCode: 255, Message: "iptables: denied"}}), sdk.Failed, sdk.Invalid, "the pod cannot start: the container istio-init, which the cluster has added, ended with exit code 255: iptables: denied"},
		"Kueue evicts": {made(func(p *pod) {
			p.Status.Conditions = append(p.Status.Conditions, condition{"TerminationTarget", "True", "WorkloadEvicted", "Preempted to accommodate a workload"})
		}), sdk.Failed, sdk.NoCapacity, "the pod was preempted (WorkloadEvicted): Preempted to accommodate a workload"},
		"image name":         {waits("InvalidImageName", "bad", 0), sdk.Failed, sdk.Invalid, "cannot be used: bad"},
		"config":             {waits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root", 0), sdk.Failed, sdk.Invalid, "will run as root"},
		"container, first":   {waits("CreateContainerError", "x", 0), sdk.Starting, "", "x"},
		"container":          {waits("CreateContainerError", "x", time.Hour), sdk.Failed, sdk.Invalid, "cannot be made: x"},
		"node pressure":      {failedPod("Evicted", "The node was low on resource: memory."), sdk.Failed, sdk.Unavailable, "evicted from the node n1: The node was low on resource: memory"},
		"kubelet preempts":   {failedPod("Preempting", "for a critical pod"), sdk.Failed, sdk.NoCapacity, "preempted on the node n1"},
		"node lost":          {failedPod("NodeLost", "x"), sdk.Failed, sdk.Unavailable, "has lost its node n1"},
		"shutdown":           {failedPod("Terminated", "imminent node shutdown"), sdk.Failed, sdk.Unavailable, "n1 was shut down"},
		"kubelet refuses":    {failedPod("OutOfnvidia.com/gpu", "Node didn't have enough resource"), sdk.Failed, sdk.NoCapacity, "has refused the pod: Node didn't"},
		"garbage collection": {disrupted("DeletionByPodGC", ""), sdk.Failed, sdk.Unavailable, "has lost its node n1"},
		"node stops":         {disrupted("TerminationByKubelet", "shutdown"), sdk.Failed, sdk.Unavailable, "n1 has ended the pod: shutdown"},
		"kueue preempts":     {disrupted("WorkloadEvictedDueToPreempted", "x"), sdk.Failed, sdk.NoCapacity, "was preempted"},
		"unknown disruption": {disrupted("Else", "x"), sdk.Failed, sdk.Unavailable, "(Else): x"},
		"memory of the node": {exited(terminatedState{ExitCode: 137, Reason: "OOMKilled"}), sdk.Failed, sdk.Unavailable, "no memory left"},
		"killed":             {exited(terminatedState{ExitCode: 137, Reason: "Error", Message: "a\nlast line\n"}), sdk.Failed, sdk.Unavailable, "SIGKILL): last line"},
		"node came back":     {exited(terminatedState{ExitCode: 137, Reason: "ContainerStatusUnknown"}), sdk.Failed, sdk.Unavailable, "lost its node n1"},
		"sidecar goes on": {made(func(p *pod) {
			p.Status.ContainerStatuses[1].State = containerState{Terminated: &terminatedState{ExitCode: 3}}
		}), sdk.Failed, "", "exit code 3"},
		"node silent":       {made(func(p *pod) { p.Status.Conditions[0].Status = "False" }), sdk.Unreachable, "", "the node n1 of the pod does not answer"},
		"phase unknown":     {made(func(p *pod) { p.Status.Phase = "Unknown" }), sdk.Unreachable, "", "does not answer"},
		"readiness gate":    {made(func(p *pod) { p.Status.Conditions[0] = condition{"Ready", "False", "ReadinessGatesNotReady", ""} }), sdk.Running, "", ""},
		"deleted":           {deletedAt(made(func(*pod) {}), clusterTime.Add(time.Second)), sdk.Unreachable, "", "is being deleted"},
		"deleted, no end":   {deletedAt(made(func(*pod) {}), clusterTime.Add(-time.Minute)), sdk.Unreachable, "", "does not say that it has ended"},
		"deleted and ended": {deletedAt(exited(terminatedState{ExitCode: 137}), clusterTime), sdk.Stopped, "", "was deleted"},
		"taint manager":     {deletedAt(made(func(p *pod) { *p = disrupted("DeletionByTaintManager", ""); p.Status.Conditions[0].Status = "False" }), clusterTime), sdk.Unreachable, "", "does not answer"},
	} {
		o := cluster{}.observation(c.pod, clusterTime)
		if name == "real: image name" {
			o = cluster{}.observation(c.pod, c.pod.Status.StartTime.Add(time.Minute))
		}
		if o.State != c.state || o.Code != c.code || !strings.Contains(o.Message, c.message) {
			t.Errorf("%s: %+v", name, o)
		}
		if o.State == sdk.Running && (len(o.Endpoints) != 2 || o.Endpoints[0] != (sdk.Endpoint{Port: 8717, URL: sdk.RouteURL})) {
			t.Errorf("%s: %+v", name, o.Endpoints)
		}
	}
}

func TestIsolationIsThePods(t *testing.T) {
	t.Parallel()
	p := made(func(p *pod) { p.Spec.RuntimeClassName = "gvisor" })
	if o := (cluster{}).observation(p, clusterTime); o.Isolation != "pod, runtime class gvisor" {
		t.Errorf("%q", o.Isolation)
	}
}

// Whatever a cluster says becomes one short line, and only a container that runs has addresses.
func FuzzObservation(f *testing.F) {
	for _, p := range realPods(f) {
		text, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), int64(0))
	}
	f.Add(`{"spec":{"nodeName":"n"},"status":{"phase":"?","conditions":[{"type":"DisruptionTarget","status":"True","message":"a\u0007\nb"}]}}`, int64(1<<40))
	f.Fuzz(func(t *testing.T, text string, now int64) {
		var p pod
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		o := cluster{}.observation(p, time.Unix(now%(1<<33), 0))
		running := p.Status.container().Running != nil
		switch {
		case o.State == "" || o.Message == "" || strings.ContainsAny(o.Message, "\n\x07\x1b") || !utf8.ValidString(o.Message) || utf8.RuneCountInString(o.Message) > maxText+1:
			t.Errorf("%s became %+v", text, o)
		case o.State == sdk.Running && !running || o.State != sdk.Running && len(o.Endpoints) > 0 || o.State != sdk.Failed && o.Code != "":
			t.Errorf("%s became %+v", text, o)
		}
	})
}

func FuzzHandle(f *testing.F) {
	f.Add("agents/seer-k1@lab")
	f.Add("agents/seer-k1@arn:aws:eks:eu-central-1:1:cluster/a@b")
	f.Add("a/../b@c")
	f.Fuzz(func(t *testing.T, text string) {
		h, ok := parseHandle(text)
		if ok && h.String() != text || ok && strings.ContainsAny(h.namespace+h.pod, "/@%? ") {
			t.Errorf("%q became %+v", text, h)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"500m", "24632452Ki", "1e3", "1G", "", "i", "12E", "1.5Gi", "NaN", "Inf"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := quantity(text); ok && n != n {
			t.Errorf("%q", text)
		}
	})
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"500m": 0.5, "2": 2, "24632452Ki": 24632452 * 1024, "1e3": 1000, "1G": 1e9, "1.5Gi": 1.5 * (1 << 30)} {
		if got, ok := quantity(text); !ok || got != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "i", "Gi", "1X", "NaN", "Inf", "1e999"} {
		if n, ok := quantity(text); ok {
			t.Errorf("%q is %v", text, n)
		}
	}
}
