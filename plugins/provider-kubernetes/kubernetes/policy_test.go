package kubernetes

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// A closed network: the policy is made when the pod has shown that its network is open, belongs to
// it, and goes with it.
func TestNetworkNone(t *testing.T) {
	t.Parallel()
	k := newKube()
	p := k.provider()
	h := mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Network = "none" }))
	if o := observe(t, p, h); o.State != sdk.Running || len(o.Endpoints) != 1 || o.Message != "pod on the node n1" {
		t.Errorf("%+v", o)
	}
	want := []string{"POST " + policiesPath, "POST " + podsPath, "GET " + podsPath, "PATCH " + podsPath + "/seer-k1", "POST " + policiesPath, "PATCH " + podsPath + "/seer-k1"}
	if !slices.Equal(k.asked, want) { // the first one is a dry run
		t.Errorf("%q", k.asked)
	}
	var made networkPolicy
	if err := json.Unmarshal([]byte(k.bodies[4]), &made); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, *update, "testdata/policy.json", indented(t, made))
	if err := p.Terminate(t.Context(), h); err != nil || len(k.has("networkpolicies")) > 0 {
		t.Errorf("%v, %q", err, k.has("networkpolicies"))
	}
}

// A policy that may not be made is refused before the pod waits for a node.
func TestNetworkNoneWithoutTheRight(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.refuse = func(method, path string, _ object) (int, object) {
		if method == "POST" && path == policiesPath {
			return failure(403, "Forbidden", `networkpolicies is forbidden: User "u" cannot create resource "networkpolicies"`)
		}
		return 0, nil
	}
	_, err := k.provider().Create(t.Context(), spec(func(s *sdk.MachineSpec) { s.Network = "none" }), nil)
	testkit.WantCode(t, err, sdk.Unauthorized, "kubernetes-rbac.yaml")
	if left := k.has("pods"); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// The proof that a network is closed, with what the probe in the pod says each time: first the
// control, then the proof.
func TestProof(t *testing.T) {
	t.Parallel()
	const dead = `{"tried":["DNS","db.example:5432"],"reached":[],"self":true}`
	everyPod := object{"podSelector": object{}, "policyTypes": []any{"Egress", "Ingress"}}
	for name, c := range map[string]struct {
		says     []string
		policies map[string]object // of the namespace, by name
		waits    time.Duration     // between two looks
		want     []sdk.State
		text     string
		ended    bool
	}{
		"closed": {says: []string{probeOpen, probeClosed}, want: []sdk.State{sdk.Running, sdk.Running}, text: "pod on the node n1"},
		"late":   {says: []string{probeOpen, probeOpen, probeOpen, probeClosed}, waits: 2 * time.Second, want: []sdk.State{sdk.Starting, sdk.Starting, sdk.Running}, text: "pod on the node n1"},
		"open": {
			says: []string{probeOpen}, waits: 30 * time.Second, want: []sdk.State{sdk.Starting, sdk.Failed, sdk.Failed},
			text: "the start is refused: the cluster does not keep the NetworkPolicy of network: none, as the pod has reached DNS", ended: true,
		},
		"a network that begins late": {says: []string{dead, dead, probeOpen, probeClosed}, waits: 3 * time.Second, want: []sdk.State{sdk.Starting, sdk.Starting, sdk.Running}, text: "pod on the node n1"},
		"nothing answers anyway": {
			says: []string{dead}, waits: 30 * time.Second, want: []sdk.State{sdk.Starting, sdk.Failed, sdk.Failed},
			text: "even without a NetworkPolicy: DNS, db.example:5432; name a HOST:PORT that your pods reach in provider_options.kubernetes.network_probe", ended: true,
		},
		"the namespace denies all": {
			says: []string{dead}, policies: map[string]object{"deny": everyPod}, want: []sdk.State{sdk.Running},
			text: "pod on the node n1; its network was closed before by policies of the namespace (deny)",
		},
		"the namespace denies in two policies": {
			says: []string{dead}, want: []sdk.State{sdk.Running}, text: "(in, out)",
			policies: map[string]object{"in": {"podSelector": object{}, "policyTypes": []any{"Ingress"}}, "out": {"podSelector": object{}, "policyTypes": []any{"Egress"}}},
		},
		"the namespace denies half": {
			says: []string{dead}, waits: 30 * time.Second, want: []sdk.State{sdk.Starting, sdk.Failed}, text: "even without a NetworkPolicy", ended: true,
			policies: map[string]object{"out": {"podSelector": object{}, "policyTypes": []any{"Egress"}}},
		},
		"the namespace denies others": {
			says: []string{dead}, waits: 30 * time.Second, want: []sdk.State{sdk.Starting, sdk.Failed}, text: "even without a NetworkPolicy", ended: true,
			policies: map[string]object{"web": {"podSelector": object{"matchLabels": object{"app": "web"}}, "policyTypes": []any{"Egress", "Ingress"}}},
		},
		"the namespace denies all and allows one place": {
			says: []string{dead}, waits: 30 * time.Second, want: []sdk.State{sdk.Starting, sdk.Failed}, text: "even without a NetworkPolicy", ended: true,
			policies: map[string]object{"deny": everyPod, "database": {
				"podSelector": object{"matchExpressions": []any{object{"key": managedBy, "operator": "In", "values": []any{manager}}}},
				"policyTypes": []any{"Egress"}, "egress": []any{object{"ports": []any{object{"port": 5432}}}},
			}},
		},
		"the namespace denies all and allows others a place": {
			says: []string{dead}, want: []sdk.State{sdk.Running}, text: "(deny)",
			policies: map[string]object{"deny": everyPod, "web": {"podSelector": object{"matchLabels": object{"app": "web"}}, "ingress": []any{object{}}, "policyTypes": []any{"Ingress"}}},
		},
		"proves nothing":       {says: []string{`{"tried":["DNS"],"reached":[],"self":false}`}, want: []sdk.State{sdk.Starting}, text: "proves nothing"},
		"tries nothing":        {says: []string{`{"tried":[],"reached":[],"self":true}`}, want: []sdk.State{sdk.Starting}, text: "proves nothing"},
		"tries something else": {says: []string{probeOpen, `{"tried":["other"],"reached":[],"self":true}`}, want: []sdk.State{sdk.Starting}, text: "the probe has not tried DNS again"},
		"no python":            {says: []string{"no JSON"}, want: []sdk.State{sdk.Starting}, text: "exit code"},
		"never proves a thing": {says: []string{"no JSON"}, waits: 3 * time.Minute, want: []sdk.State{sdk.Starting, sdk.Failed}, text: "nothing proves that the network is closed"},
	} {
		k := newKube()
		for policy, s := range c.policies {
			k.put(policiesPath+"/"+policy, object{"metadata": object{"name": policy, "labels": object{}}, "spec": s})
		}
		w := k.wired()
		asked := 0
		w.exec = func(e sdk.KubeExec) (Ended, error) {
			if !slices.Equal(e.Argv[5:], []string{"8717", "db.example:5432"}) || e.Pod != "seer-k1" || e.Container != containerName {
				t.Errorf("%+v", e)
			}
			made, opened := slices.Contains(k.has("networkpolicies"), "seer-k1"), slices.Contains(c.says[:min(asked, len(c.says))], probeOpen)
			if made != opened && len(c.policies) == 0 {
				t.Errorf("%s: at the probe %d the policy is made: %v", name, asked, made)
			}
			asked++
			return Ended{Stdout: []byte(c.says[min(asked, len(c.says))-1])}, nil
		}
		p := &Provider{w}
		h := mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Network, s.Options = "none", raw(`{"network_probe":["db.example:5432"]}`) }))
		var o sdk.Observation
		for i, want := range c.want {
			o = observe(t, p, h)
			if o.State != want || o.State != sdk.Running && len(o.Endpoints) > 0 {
				t.Errorf("%s, %d: %+v", name, i, o)
			}
			k.at("", func(object) { k.now = k.now.Add(c.waits) })
		}
		if !strings.Contains(o.Message, c.text) {
			t.Errorf("%s: %+v", name, o)
		}
		k.at(podsPath+"/seer-k1", func(pod object) {
			if ended := pod["spec"].(object)["activeDeadlineSeconds"] == float64(1); ended != c.ended {
				t.Errorf("%s: ended is %v", name, ended)
			}
		})
		if name == "closed" && asked != 2 {
			t.Errorf("the proof was made %d times", asked)
		}
	}
}

// Two processes look at one pod: the second one's control meets the policy of the first.
func TestProofOfTwo(t *testing.T) {
	t.Parallel()
	k := newKube()
	second := k.wired()
	h := mustCreate(t, k.provider(), spec(func(s *sdk.MachineSpec) { s.Network = "none" }))
	second.exec = func(e sdk.KubeExec) (Ended, error) {
		observe(t, k.provider(), h) // the first one is through meanwhile
		return k.probe(e)
	}
	if o := observe(t, &Provider{second}, h); o.State != sdk.Running || o.Message != "pod on the node n1" {
		t.Errorf("%+v", o)
	}
}

// The script itself, on this computer.
func TestProbeScript(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	there := testkit.Port(testkit.Loopback(t))
	gone := testkit.FreePort(t)
	probe := func(self int, more ...int) (result probed) {
		args := []string{"-I", "-S", "-c", probeScript, strconv.Itoa(self)}
		for _, port := range more {
			args = append(args, "127.0.0.1:"+strconv.Itoa(port))
		}
		out, err := exec.CommandContext(t.Context(), python, args...).Output()
		if err != nil || json.Unmarshal(out, &result) != nil {
			t.Fatalf("%s, %v", out, err)
		}
		return result
	}
	name := "127.0.0.1:" + strconv.Itoa(there)
	if r := probe(there, there); !r.Self || !slices.Contains(r.Reached, name) {
		t.Errorf("%+v", r)
	}
	if r := probe(gone, gone); r.Self || len(r.Tried) < 2 || slices.Contains(r.Reached, "127.0.0.1:"+strconv.Itoa(gone)) {
		t.Errorf("%+v", r)
	}
}
