package kubernetes

import (
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

const podsPath = namespacePath + "/pods"

var update = flag.Bool("update", false, "write the golden files anew")

func indented(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// sent is the body of the first request of the method to the path.
func (k *kube) sent(t *testing.T, request string, into any) {
	t.Helper()
	at := slices.Index(k.asked, request)
	if at < 0 {
		t.Fatalf("asked was %q", k.asked)
	}
	if err := json.Unmarshal([]byte(k.bodies[at]), into); err != nil {
		t.Fatal(err)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.node("n1", "NVIDIA-A100-SXM4-40GB", 4)
	step, err := k.provider().Create(t.Context(), spec(func(s *sdk.MachineSpec) {
		s.GPU, s.GPUCount, s.CPU, s.MemoryGB, s.DiskGB, s.Offer, s.Ports = "A100-40GB-SXM", 2, 1.5, 0.5, 20, "gpu:NVIDIA-A100-SXM4-40GB", []int{80}
		s.Volumes, s.Labels, s.Name = []sdk.Volume{{Name: "weights", Path: "/w/", SizeGB: 5}, {Name: "data", Path: "/d", ReadOnly: true}}, map[string]string{"a": "b c"}, "try"
		s.Options = raw(`{"node_selector":{"pool":"n1"},"tolerations":[{"key":"gpu","operator":"Exists"}],"runtime_class":"gvisor","service_account":"sa",
			"priority_class":"high","queue":"team","image_pull_secrets":["reg"],"labels":{"x":"1"},"annotations":{"y":"2 3"},"storage_class":"fast","access_mode":"ReadWriteMany"}`)
	}), nil)
	if err != nil || step.Handle != "agents/seer-k1@lab" || len(step.Log) != 3 {
		t.Fatalf("%+v, %v", step, err)
	}
	var made pod
	k.sent(t, "POST "+podsPath, &made)
	testkit.Golden(t, *update, "testdata/pod.json", indented(t, made))
	var volume claim
	k.sent(t, "POST "+namespacePath+"/persistentvolumeclaims", &volume)
	testkit.Golden(t, *update, "testdata/volume.json", indented(t, volume))
}

func TestCreateRestricted(t *testing.T) {
	t.Parallel()
	k := newKube()
	mustCreate(t, k.provider(), spec(func(s *sdk.MachineSpec) {
		s.Folders, s.Options, s.Image = []string{"/data/set", "/models"}, raw(`{"security":"restricted"}`), &sdk.Image{PythonVersion: "3.11"}
	}))
	var made pod
	k.sent(t, "POST "+podsPath, &made)
	testkit.Golden(t, *update, "testdata/restricted.json", indented(t, made))
}

func TestCreateOnce(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.late = 3 // lists do not have what was made just now
	p := k.provider()
	for range 3 {
		if h := mustCreate(t, p, spec(nil)); h != "agents/seer-k1@lab" {
			t.Error(h)
		}
	}
	if o := observe(t, p, "agents/seer-k1@lab"); o.State != sdk.Running {
		t.Errorf("a list that is late: %+v", o)
	}
	_, err := p.Create(t.Context(), spec(func(s *sdk.MachineSpec) { s.Owner = "own-2" }), nil)
	testkit.WantCode(t, err, sdk.Invalid, "not Seer's")
}

// The answer to a request is lost, and the next call finds what it has made.
func TestCreateAnswerLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"/pods", "/networkpolicies", "/persistentvolumeclaims"} {
		k := newKube()
		w := sdktest.NewWorld(direct{k})
		w.Inject(sdktest.Fault{
			Match: func(r *http.Request) bool { return r.Method == "POST" && strings.HasSuffix(r.URL.Path, kind) }, Times: 1, Effect: sdktest.AnswerLost(),
		})
		p := &Provider{&wired{client: &http.Client{Transport: w}, exec: k.probe}}
		s := spec(func(s *sdk.MachineSpec) { s.Network, s.Volumes = "none", []sdk.Volume{{Name: "v", Path: "/v"}} })
		if _, err := p.Create(t.Context(), s, nil); sdk.CodeOf(err) != sdk.Unavailable {
			t.Errorf("%s: %v", kind, err)
		}
		mustCreate(t, p, s)
		if pods := k.has("pods"); len(pods) != 1 {
			t.Errorf("%s: %q", kind, pods)
		}
		if err := p.Terminate(t.Context(), "agents/seer-k1@lab"); err != nil {
			t.Error(err)
		}
		if left := append(k.has("pods"), k.has("networkpolicies")...); len(left) > 0 {
			t.Errorf("%s: %q are left", kind, left)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*sdk.MachineSpec){
		"unsupported: names addresses and not hosts":           func(s *sdk.MachineSpec) { s.Network, s.NetworkHosts = "hosts", []string{"example.org"} },
		"unsupported: that of its pod":                         func(s *sdk.MachineSpec) { s.Isolation = "gvisor" },
		"unsupported: gives whole GPUs":                        func(s *sdk.MachineSpec) { s.GPUShare = &sdk.GPUShare{Parts: 2} },
		"unsupported: no sandboxes of its own":                 func(s *sdk.MachineSpec) { s.NestedSandbox = true },
		"unsupported: on this computer":                        func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/a"}} },
		"unsupported: keeps no snapshots":                      func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Snapshot: "x"} },
		"unsupported: no node has 1 × H100":                    func(s *sdk.MachineSpec) { s.GPU = "H100" },
		"invalid: is no key":                                   func(s *sdk.MachineSpec) { s.Key = "../x" },
		"invalid: is not a name of an image":                   func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "a b"} },
		"invalid: remove it, or sandbox.python_version (3.11)": func(s *sdk.MachineSpec) { s.Image, s.Options = &sdk.Image{PythonVersion: "3.11"}, raw(`{"image":"x"}`) },
		"invalid: has no offer":                                func(s *sdk.MachineSpec) { s.Offer = "gpu:X" },
		"invalid: PersistentVolumeClaim":                       func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "A_b", Path: "/a"}} },
		"invalid: lab may have been meant":                     func(s *sdk.MachineSpec) { s.Options = raw(`{"context":"lob"}`) },
		"invalid: which namespace?":                            func(s *sdk.MachineSpec) { s.Options = raw(`{"context":"old"}`) },
		"invalid: has no namespace nope":                       func(s *sdk.MachineSpec) { s.Options = raw(`{"namespace":"nope"}`) },
		"unavailable: gone cannot be reached":                  func(s *sdk.MachineSpec) { s.Options = raw(`{"context":"gone","namespace":"a"}`) },
		"no_capacity: not one of sandbox.region":               func(s *sdk.MachineSpec) { s.Regions = []string{"elsewhere"} },
	} {
		k := newKube()
		k.node("n1", "NVIDIA-A100-SXM4-40GB", 4)
		_, err := k.provider().Create(t.Context(), spec(change), nil)
		code, text, _ := strings.Cut(want, ": ")
		testkit.WantCode(t, err, sdk.Code(code), text)
		if left := append(k.has("pods"), k.has("networkpolicies")...); len(left) > 0 {
			t.Errorf("%s: made %q", want, left)
		}
	}
}

// What the API of a real cluster (1.37) has said, and webhooks.
func TestClusterRefuses(t *testing.T) {
	t.Parallel()
	forbidden := func(text string) string { return `pods "seer-k1" is forbidden: ` + text }
	for _, c := range []struct {
		status       int
		reason, said string
		code         sdk.Code
		want         string
	}{
		{403, "Forbidden", forbidden("exceeded quota: gpu-quota, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=1"), sdk.NoCapacity, "the quota of the namespace agents is used up: gpu-quota, requested: requests.nvidia.com/gpu=2"},
		{403, "Forbidden", forbidden("failed quota: gpu-quota: must specify limits.memory for: seer"), sdk.Invalid, "must specify limits.memory for: seer; set sandbox.cpu"},
		{403, "Forbidden", forbidden(`violates PodSecurity "restricted:latest": unrestricted capabilities`), sdk.Invalid, "set provider_options.kubernetes.security: restricted"},
		{403, "Forbidden", forbidden("[minimum memory usage per Container is 64Mi, but request is 11Mi, maximum cpu usage per Container is 1, but limit is 2]"), sdk.Invalid, "LimitRange"},
		{403, "Forbidden", forbidden("no PriorityClass with name nope was found"), sdk.Invalid, "priority_class"},
		{403, "Forbidden", forbidden(`pod rejected: RuntimeClass "nope" not found`), sdk.Invalid, "runtime_class"},
		{403, "Forbidden", forbidden(`error looking up service account kp/nope: serviceaccount "nope" not found`), sdk.Invalid, "service_account"},
		{403, "Forbidden", forbidden("unable to create new content in namespace agents because it is being terminated"), sdk.Invalid, "is being terminated"},
		{403, "Forbidden", `pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "agents"`, sdk.Unauthorized, "kubernetes-rbac.yaml"},
		{403, "Forbidden", `admission webhook "validate.kyverno.svc" denied the request: label team is missing`, sdk.Invalid, "a policy of the cluster refuses it: admission webhook"},
		{400, "BadRequest", `admission webhook "w" denied the request: no`, sdk.Invalid, "a policy of the cluster refuses it"},
		{401, "Unauthorized", "Unauthorized", sdk.Unauthorized, "log in again"},
		{422, "Invalid", `Pod "seer-k1" is invalid: spec.containers[0].image: Required value`, sdk.Invalid, "Required value"},
		{409, "Conflict", `Operation cannot be fulfilled on resourcequotas "q": the object has been modified`, sdk.Unavailable, "has been modified"},
		{410, "Expired", "the continue token is too old", sdk.Unavailable, "too old"},
		{429, "TooManyRequests", "the server has received too many requests", sdk.RateLimited, "not available now"},
		{500, "InternalError", `Internal error occurred: failed calling webhook "w": connection refused`, sdk.Unavailable, "failed calling webhook"},
	} {
		k := newKube()
		k.refuse = func(method, path string, _ object) (int, object) {
			if method != "POST" || !strings.HasSuffix(path, "/pods") {
				return 0, nil
			}
			status, answer := failure(c.status, c.reason, c.said)
			answer["retryAfter"] = "7"
			return status, answer
		}
		_, err := k.provider().Create(t.Context(), spec(func(s *sdk.MachineSpec) { s.Network = "none" }), nil)
		testkit.WantCode(t, err, c.code, "making the pod seer-k1: ", c.want)
		var e *sdk.Error
		if wait := c.status == 429 || c.status == 500; wait != (errors.As(err, &e) && e.Seconds == 7) {
			t.Errorf("%s: wait %v s", c.said, e.Seconds)
		}
		if left := k.has("networkpolicies"); len(left) > 0 {
			t.Errorf("%s: %q are left", c.said, left)
		}
	}
}

// A context that is named has its own namespace.
func TestNamedContext(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]cluster{
		`{}`: {context: "lab", namespace: "agents"}, `{"context":"lab"}`: {context: "lab", namespace: "agents"},
		`{"context":"other"}`: {context: "other", namespace: "team-a"}, `{"context":"other","namespace":"b"}`: {context: "other", namespace: "b"},
	} {
		_, c, err := newKube().provider().open(raw(given))
		if c.api = nil; err != nil || c != want {
			t.Errorf("%s: %+v, %v", given, c, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]string{
		`[]`: {"must be a mapping"},
		`{"contxt":"a","namespace":"A B","zzz":1,"image":3,"tolerations":[{"keys":"a"}],"security":"strict"}`: {
			`there is no "contxt"; did you mean context?`, `"A B" is not a name`, `there is no "zzz"; there are access_mode, `, "image must be a text", "tolerations must be a list", `security: there is no "strict"`,
		},
		`{"labels":{"a":1}}`:                               {"labels must be a mapping of texts"},
		`{"labels":{"seer.dev/key":"x"}}`:                  {"is Seer's own"},
		`{"node_selector":{"a b":"x","c":"y z"}}`:          {`"a b" is not a name of a label`, `"y z" is not a value`},
		`{"access_mode":"ReadWriteMay"}`:                   {"did you mean ReadWriteMany?"},
		`{"network_probe":["host"],"gpu_resource":"gpus"}`: {"is not HOST:PORT", "is not a resource such as"},
		`{"tolerations":[{"operator":"exists"}]}`:          {"Exists or Equal"},
	} {
		_, err := newKube().provider().Offers(t.Context(), sdk.OfferQuery{Options: raw(given)})
		testkit.WantCode(t, err, sdk.Invalid, append(want, "provider_options.kubernetes")...)
	}
}

// Nodes that do not tell their GPU cannot be selected, but those with another one are left out: a
// pod must not get less than was asked for.
func TestOtherGPUsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ gpu, options, want string }{
		"no such node yet": {"H100", `{"gpu":"H100"}`, `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[
			{"key":"nvidia.com/gpu.product","operator":"NotIn","values":["NVIDIA-A100-SXM4-40GB","Tesla-T4"]}]}]}}}`},
		"any":            {"*", `{"gpu":"H100","gpu_label":"x"}`, "null"},
		"the node tells": {"T4", `{}`, "null"},
	} {
		k := two()
		mustCreate(t, k.provider(), spec(func(s *sdk.MachineSpec) { s.GPU, s.Options = c.gpu, raw(c.options) }))
		var made pod
		k.sent(t, "POST "+podsPath, &made)
		got, err := json.Marshal(made.Spec.Affinity)
		if want := strings.NewReplacer("\n", "", "\t", "").Replace(c.want); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// Without Kueue, a pod with the label of a queue is scheduled at once.
func TestNobodyManagesTheQueue(t *testing.T) {
	t.Parallel()
	k := newKube()
	k.noKueue = true
	_, err := k.provider().Create(t.Context(), spec(func(s *sdk.MachineSpec) { s.Options = raw(`{"queue":"team"}`) }), nil)
	testkit.WantCode(t, err, sdk.Invalid, "the queue team has no effect: Kueue does not manage pods of the namespace agents")
	if left := k.has("pods"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	findings, err := k.provider().Check(t.Context(), sdk.CheckQuery{Options: raw(`{"queue":"team"}`)})
	at := slices.IndexFunc(findings, func(f sdk.Finding) bool { return f.Name == "pod of a machine (dry run)" })
	if err != nil || at < 0 || findings[at].State != sdk.FindingFailed || !strings.Contains(findings[at].Detail, "the queue team has no effect") {
		t.Errorf("%+v, %v", findings, err)
	}
}
