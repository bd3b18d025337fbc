package kubernetes

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

func TestList(t *testing.T) {
	t.Parallel()
	k := newKube()
	p := k.provider()
	mustCreate(t, p, spec(nil))
	mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Key, s.Owner = "seer-k2", "own-2" }))
	mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Key, s.Network = "seer-k3", "none" }))
	observe(t, p, "agents/seer-k3@lab")
	k.at("", func(object) { delete(k.objects, podsPath+"/seer-k3") }) // and its policy stays
	want := []sdk.Listed{
		{Handle: "agents/seer-k1@lab", Key: "seer-k1", Owner: "own-1", State: sdk.Running, EndUnix: 1900000000},
		{Handle: "agents/seer-k3@lab", Key: "seer-k3", Owner: "own-1", State: sdk.Stopped, EndUnix: 1900000000},
	}
	list, err := p.List(t.Context(), "own-1")
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	if err := p.Terminate(t.Context(), "agents/seer-k3@lab"); err != nil || len(k.has("networkpolicies")) > 0 {
		t.Errorf("%v; %q are left", err, k.has("networkpolicies"))
	}
	mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Key, s.Owner, s.EndUnix = "seer-k4", "own-4", 0 }))
	o := observe(t, p, "agents/seer-k4@lab")
	list, err = p.List(t.Context(), "own-4")
	if start := clusterTime.Unix(); err != nil || o.State != sdk.Running || len(list) != 1 || list[0].EndUnix < start+1200 || list[0].EndUnix > start+1300 {
		t.Errorf("a pod whose time counts from its start: %+v, %v", list, err)
	}
	w := k.wired()
	w.used = []sdk.KubeContext{{Name: "lab", Namespace: "agents"}, {Name: "removed", Namespace: "a"}}
	if list, err := (&Provider{w}).List(t.Context(), "own-1"); err != nil || len(list) != 1 {
		t.Errorf("with a context that is no longer there: %+v, %v", list, err)
	}
	w.used = append(w.used, sdk.KubeContext{Name: "gone", Namespace: "a"})
	_, err = (&Provider{w}).List(t.Context(), "own-1")
	testkit.WantCode(t, err, sdk.Unavailable, "gone")
}

func TestObserveManyAtOnce(t *testing.T) {
	t.Parallel()
	k := newKube()
	p := k.provider()
	mustCreate(t, p, spec(nil))
	k.reset()
	testprovider.WantStates(t, p, map[string]sdk.State{"agents/seer-k1@lab": sdk.Running, "agents/seer-k2@lab": sdk.Stopped, "agents/seer-k3@gone": sdk.Unreachable, "nothing": sdk.Stopped})
	if n := len(slices.DeleteFunc(k.asked, func(a string) bool { return a != "GET "+podsPath })); n != 1 {
		t.Errorf("the pods were listed %d times", n)
	}
}

// A pod that is gone left events.
func TestGone(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]sdk.Code{"Preempted": sdk.NoCapacity, "TaintManagerEviction": sdk.Unavailable, "Evicted": sdk.Unavailable, "Killing": ""} {
		k := newKube()
		k.put(namespacePath+"/events/e1", object{"metadata": object{}, "reason": reason, "message": "Preempted by a pod on node node1"})
		o := observe(t, k.provider(), "agents/seer-k1@lab")
		if o.Code != want || o.State.Live() || want != "" && !strings.Contains(o.Message, "by a pod") {
			t.Errorf("%s: %+v", reason, o)
		}
	}
}

func TestSlowStart(t *testing.T) {
	t.Parallel()
	k := newKube()
	p := k.provider()
	h := mustCreate(t, p, spec(nil))
	observe(t, p, h)
	k.at(podsPath+"/seer-k1", func(o object) {
		s := o["status"].(object)
		s["phase"], s["containerStatuses"] = "Starting", []any{object{"name": containerName, "state": object{"waiting": object{"reason": "ContainerCreating"}}}}
		k.now = k.now.Add(time.Minute)
		k.put(namespacePath+"/events/e1", object{"metadata": object{}, "type": "Warning", "reason": "FailedMount", "message": "no such\nvolume"})
	})
	if o := observe(t, p, h); o.State != sdk.Starting || !strings.HasSuffix(o.Message, "n1: FailedMount: no such volume") {
		t.Errorf("%+v", o)
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.noNode = true
	p := k.provider()
	h := mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Options = raw(`{"queue":"team"}`) }))
	k.at(podsPath+"/seer-k1", func(o object) {
		o["spec"].(object)["schedulingGates"] = []any{object{"name": kueueGate}}
		k.put("/apis/kueue.x-k8s.io/v1beta1/namespaces/agents/workloads/w1", object{
			"metadata": object{"ownerReferences": []any{object{"uid": o["metadata"].(object)["uid"]}}},
			"status":   object{"conditions": []any{object{"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota for nvidia.com/gpu"}}},
		})
		k.put("/apis/kueue.x-k8s.io/v1beta1/namespaces/agents/localqueues/team", object{"metadata": object{}, "status": object{"pendingWorkloads": 3}})
	})
	if o := observe(t, p, h); o.State != sdk.Pending || o.Message != "the pod waits in the queue team: insufficient unused quota for nvidia.com/gpu" {
		t.Errorf("%+v", o)
	}
	offers, err := p.Offers(t.Context(), sdk.OfferQuery{Options: raw(`{"queue":"team","gpu":"A100"}`), GPU: "A100"})
	if err != nil || len(offers) != 1 || offers[0].Queue != "3 workloads wait in the queue team" || offers[0].Stock != sdk.StockUnknown {
		t.Errorf("%+v, %v", offers, err)
	}
}

// A pod on a node that does not answer is removed by force, and the user is told.
func TestTerminateOnLostNode(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.stuck = true
	p := k.provider()
	h := mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Network = "none" }))
	observe(t, p, h)
	k.at(podsPath+"/seer-k1", func(o object) {
		o["status"].(object)["conditions"] = []any{object{"type": "Ready", "status": "False"}, object{"type": "ContainersReady", "status": "True"}}
	})
	testkit.WantCode(t, p.Terminate(t.Context(), h), sdk.Unavailable, "its node n1 does not answer; the pod is removed by force after the grace of 10 s")
	testkit.WantCode(t, p.Terminate(t.Context(), h), sdk.Unavailable, "does not answer")
	if len(k.has("networkpolicies")) != 1 {
		t.Error("the network of a pod that may live was opened")
	}
	k.at("", func(object) { k.now = k.now.Add(time.Minute) })
	if err := p.Terminate(t.Context(), h); err != nil {
		t.Error(err)
	}
	if left := append(k.has("pods"), k.has("networkpolicies")...); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestTerminateTouchesNothingElse(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.put(podsPath+"/seer-web", object{"metadata": object{"name": "seer-web", "labels": object{}}})
	p := k.provider()
	for _, h := range []string{"agents/seer-web@lab", "agents/web@lab", "agents/../seer-web@lab", "nothing"} {
		if err := p.Terminate(t.Context(), h); err != nil {
			t.Error(err)
		}
	}
	if len(k.has("pods")) != 1 {
		t.Error("a pod of somebody else was ended")
	}
	if o := observe(t, p, "agents/seer-web@lab"); o.State != sdk.Stopped {
		t.Errorf("%+v", o)
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	p := newKube().provider()
	r, err := p.Route(t.Context(), "agents/seer-k1@arn:aws:eks:x:cluster/a@b", 8717)
	want := sdk.KubeRoute{Context: "arn:aws:eks:x:cluster/a@b", Namespace: "agents", Pod: "seer-k1", Container: "seer", Target: "tcp:8717"}
	if err != nil || r.Kube == nil || *r.Kube != want {
		t.Errorf("%+v, %v", r.Kube, err)
	}
	_, err = p.Route(t.Context(), "nothing", 1)
	testkit.WantCode(t, err, sdk.NotFound)
}

func TestClean(t *testing.T) {
	t.Parallel()
	k := newKube()
	p := k.provider()
	volume := func(name string) []sdk.Volume { return []sdk.Volume{{Name: name, Path: "/v", SizeGB: 7}} }
	for key, name := range map[string]string{"seer-k1": "seer-models", "seer-k2": "seer-used", "seer-k3": "mine"} {
		mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Key, s.Volumes = key, volume(name) }))
		if name != "seer-used" {
			if err := p.Terminate(t.Context(), "agents/"+key+"@lab"); err != nil {
				t.Fatal(err)
			}
		}
	}
	k.put(namespacePath+"/persistentvolumeclaims/seer-other", object{"metadata": object{"name": "seer-other"}})
	want := []sdk.Cleaned{{Name: "lab:agents/seer-models", Bytes: 7e9}}
	for _, dry := range []bool{true, false} {
		got, err := p.Clean(t.Context(), sdk.CleanInput{DryRun: dry})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if left := k.has("persistentvolumeclaims"); !slices.Equal(left, []string{"mine", "seer-other", "seer-used"}) {
		t.Errorf("%q", left)
	}
}

// The shipped roles and what the check asks for are the same.
func TestRoles(t *testing.T) {
	t.Parallel()
	text, err := os.Open("../../../docs/providers/kubernetes-rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = text.Close() }()
	type rule struct {
		APIGroups []string `yaml:"apiGroups"`
		Resources []string
		Verbs     []string
	}
	var shipped []right
	for d := yaml.NewDecoder(text); ; {
		var doc struct {
			Kind  string
			Rules []rule
		}
		if d.Decode(&doc) != nil {
			break
		}
		for _, r := range doc.Rules {
			shipped = append(shipped, right{group: r.APIGroups[0], resource: r.Resources[0], verbs: r.Verbs, everywhere: doc.Kind == "ClusterRole"})
		}
	}
	key := func(r right) string { return r.group + "/" + r.resource + map[bool]string{true: "*"}[r.everywhere] }
	sorted := func(all []right) []right {
		all = slices.Clone(all)
		for i := range all {
			all[i].without = ""
		}
		slices.SortFunc(all, func(a, b right) int { return strings.Compare(key(a), key(b)) })
		return all
	}
	if got, want := sorted(shipped), sorted(rights); !reflect.DeepEqual(got, want) {
		t.Errorf("the roles are\n%+v\nand asked for is\n%+v", got, want)
	}
}

// A list that the API no longer remembers is read anew, once.
func TestListExpires(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]sdk.State{1: sdk.Running, 3: sdk.Unreachable} {
		k := newKube()
		p := k.provider()
		var handles []string // of two pages
		for _, key := range []string{"seer-k1", "seer-k2", "seer-k3"} {
			handles = append(handles, mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Key = key })))
		}
		pages := 0
		k.refuse = func(method, path string, _ object) (int, object) {
			if path != podsPath {
				return 0, nil
			}
			if pages++; pages%2 == 0 && pages/2 <= times { // each second page
				return failure(410, "Expired", "the continue token is too old")
			}
			return 0, nil
		}
		seen, err := p.Observe(t.Context(), handles)
		if err != nil || len(seen) != 3 || seen[0].State != want || seen[2].State != want {
			t.Errorf("%d times: %+v, %v", times, seen, err)
		}
	}
}
