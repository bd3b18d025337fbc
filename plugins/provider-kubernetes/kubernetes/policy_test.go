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

// A closed network: the policy is there before the pod, belongs to it, and goes with it.
func TestNetworkNone(t *testing.T) {
	t.Parallel()
	k := newKube()
	p := k.provider()
	h := mustCreate(t, p, spec(func(s *sdk.MachineSpec) { s.Network = "none" }))
	const policies = "/apis/networking.k8s.io/v1/namespaces/agents/networkpolicies"
	want := []string{"POST " + policies, "POST " + podsPath, "PATCH " + policies + "/seer-k1"}
	if !slices.Equal(k.asked, want) {
		t.Errorf("%q", k.asked)
	}
	var made networkPolicy
	k.sent(t, want[0], &made)
	testkit.Golden(t, *update, "testdata/policy.json", indented(t, made))
	if o := observe(t, p, h); o.State != sdk.Running || len(o.Endpoints) != 1 {
		t.Errorf("%+v", o)
	}
	if err := p.Terminate(t.Context(), h); err != nil || len(k.has("networkpolicies")) > 0 {
		t.Errorf("%v, %q", err, k.has("networkpolicies"))
	}
}

// The proof that a network is closed, with what the probe in the pod says each time.
func TestProof(t *testing.T) {
	t.Parallel()
	const closed, open = `{"tried":["DNS"],"reached":[],"self":true}`, `{"tried":["DNS"],"reached":["DNS at 10.0.0.10"],"self":true}`
	for name, c := range map[string]struct {
		says  []string
		waits time.Duration // between two looks
		want  []sdk.State
		text  string
	}{
		"closed":               {[]string{closed}, 0, []sdk.State{sdk.Running, sdk.Running}, "pod on the node n1"},
		"late":                 {[]string{open, open, closed}, 2 * time.Second, []sdk.State{sdk.Starting, sdk.Starting, sdk.Running}, "pod on the node n1"},
		"open":                 {[]string{open}, 30 * time.Second, []sdk.State{sdk.Starting, sdk.Failed, sdk.Failed}, "the start is refused: the cluster does not keep the NetworkPolicy of network: none, as the pod has reached DNS at 10.0.0.10"},
		"proves nothing":       {[]string{`{"tried":["DNS"],"reached":[],"self":false}`}, 0, []sdk.State{sdk.Starting}, "proves nothing"},
		"tries nothing":        {[]string{`{"tried":[],"reached":[],"self":true}`}, 0, []sdk.State{sdk.Starting}, "proves nothing"},
		"no python":            {[]string{"no JSON"}, 0, []sdk.State{sdk.Starting}, "exit code"},
		"never proves a thing": {[]string{"no JSON"}, 3 * time.Minute, []sdk.State{sdk.Starting, sdk.Failed}, "nothing proves that the network is closed"},
	} {
		k := newKube()
		w := k.wired()
		asked := 0
		w.exec = func(e sdk.KubeExec) (Ended, error) {
			if !slices.Equal(e.Argv[5:], []string{"8717", "db.example:5432"}) || e.Pod != "seer-k1" || e.Container != containerName {
				t.Errorf("%+v", e)
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
			if ended := pod["spec"].(object)["activeDeadlineSeconds"] == float64(1); ended != (name == "open") {
				t.Errorf("%s: ended is %v", name, ended)
			}
		})
		if name == "closed" && asked != 1 {
			t.Errorf("the proof was made %d times", asked)
		}
	}
}

// The script itself, on this computer.
func TestProbeScript(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
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
