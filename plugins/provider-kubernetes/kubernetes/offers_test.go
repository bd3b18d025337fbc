package kubernetes

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// two are nodes with GPUs, of which n2 is full.
func two() *kube {
	k := newKube()
	k.node("n1", "NVIDIA-A100-SXM4-40GB", 4)
	k.node("n2", "Tesla-T4", 2)
	k.put("/api/v1/namespaces/other/pods/p1", object{
		"metadata": object{"name": "p1"}, "status": object{"phase": "Running"},
		"spec": object{"nodeName": "n2", "containers": []object{{"name": "c", "resources": object{"limits": object{"nvidia.com/gpu": "2", "cpu": "500m"}}}}},
	})
	return k
}

func TestOffers(t *testing.T) {
	t.Parallel()
	forbid := func(path string) func(string, string, object) (int, object) {
		return func(_, p string, _ object) (int, object) {
			if p == path {
				return failure(403, "Forbidden", `nodes is forbidden: User "u" cannot list resource "nodes"`)
			}
			return 0, nil
		}
	}
	for name, c := range map[string]struct {
		query  sdk.OfferQuery
		want   string
		change func(*kube)
	}{
		"all":               {sdk.OfferQuery{GPU: "*"}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×1 low, gpu:Tesla-T4=T4×1 ", nil},
		"one":               {sdk.OfferQuery{GPU: "A100", GPUCount: 4}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×4 low", nil},
		"too many":          {sdk.OfferQuery{GPU: "A100", GPUCount: 5}, "", nil},
		"none of the kind":  {sdk.OfferQuery{GPU: "H100"}, "", nil},
		"no GPU":            {sdk.OfferQuery{CPU: 8}, "cpu=×0 low", nil},
		"too large":         {sdk.OfferQuery{CPU: 9}, "", nil},
		"too much memory":   {sdk.OfferQuery{MemoryGB: 33}, "", nil},
		"elsewhere":         {sdk.OfferQuery{Regions: []string{"x"}}, "", nil},
		"here":              {sdk.OfferQuery{Regions: []string{"lab"}}, "cpu=×0 medium", nil},
		"selected":          {sdk.OfferQuery{GPU: "*", Options: raw(`{"node_selector":{"pool":"n2"}}`)}, "gpu:Tesla-T4=T4×1 ", nil},
		"autoscaled":        {sdk.OfferQuery{GPU: "H100", Options: raw(`{"gpu":"H100"}`)}, "gpu=H100×1 ", nil},
		"full, with queue":  {sdk.OfferQuery{GPU: "T4", Options: raw(`{"queue":"q"}`)}, "gpu:Tesla-T4=T4×1 ", nil},
		"without a label":   {sdk.OfferQuery{GPU: "A100", Options: raw(`{"gpu_label":"x"}`)}, "gpu=A100×1 low", nil},
		"tainted":           {sdk.OfferQuery{GPU: "A100", Options: raw(`{"node_selector":{"pool":"n1"}}`)}, "", taint1("team", "NoSchedule")},
		"tolerated":         {sdk.OfferQuery{GPU: "A100", Options: raw(`{"tolerations":[{"key":"team","operator":"Exists"}]}`)}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×1 low", taint1("team", "NoSchedule")},
		"GPUs are tainted":  {sdk.OfferQuery{GPU: "A100"}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×1 low", taint1("nvidia.com/gpu", "NoSchedule")},
		"cordoned":          {sdk.OfferQuery{GPU: "A100"}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×1 ", func(k *kube) { k.objects["/api/v1/nodes/n1"]["spec"].(object)["unschedulable"] = true }},
		"pods not readable": {sdk.OfferQuery{GPU: "A100"}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×1 ", func(k *kube) { k.refuse = forbid("/api/v1/pods") }},
		"nodes not readable": {sdk.OfferQuery{GPU: "A100", Options: raw(`{"gpu":"NVIDIA A100-SXM4-40GB"}`)}, "gpu=A100-40GB-SXM×1 ",
			func(k *kube) { k.refuse = forbid("/api/v1/nodes") }},
		"nor is the GPU": {sdk.OfferQuery{GPU: "H100", Options: raw(`{"gpu":"A100"}`)}, "", func(k *kube) { k.refuse = forbid("/api/v1/nodes") }},
		"quota": {sdk.OfferQuery{GPU: "A100", GPUCount: 2}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×2 none", func(k *kube) {
			k.put(namespacePath+"/resourcequotas/q", object{"metadata": object{"name": "q"}, "status": object{
				"hard": object{"requests.nvidia.com/gpu": "4"}, "used": object{"requests.nvidia.com/gpu": "3"}}})
		}},
		"pods are too many to count": {sdk.OfferQuery{GPU: "A100"}, "gpu:NVIDIA-A100-SXM4-40GB=A100-40GB-SXM×1 ", func(k *kube) {
			k.refuse = func(_, p string, _ object) (int, object) {
				if p == "/api/v1/pods" {
					return failure(504, "Timeout", "the server was unable to return a response in the time allotted")
				}
				return 0, nil
			}
		}},
	} {
		k := two()
		if c.change != nil {
			c.change(k)
		}
		offers, err := k.provider().Offers(t.Context(), c.query)
		var got []string
		for _, o := range offers {
			got = append(got, o.ID+"="+o.GPU+"×"+string(rune('0'+o.GPUCount))+" "+string(o.Stock))
			if o.Region != "lab" || name == "quota" && o.Queue != "the quota q of the namespace agents has too little left: 3 of 4 requests.nvidia.com/gpu used" {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	k := two()
	k.refuse = forbid("/api/v1/nodes")
	_, err := k.provider().Offers(t.Context(), sdk.OfferQuery{GPU: "A100"})
	testkit.WantCode(t, err, sdk.Invalid, "you may not list nodes", "{gpu: A100}")
}

func taint1(key, effect string) func(*kube) {
	return func(k *kube) {
		k.objects["/api/v1/nodes/n1"]["spec"].(object)["taints"] = []any{object{"key": key, "effect": effect}}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	k := two()
	k.refuse = func(_, path string, body object) (int, object) {
		if !strings.HasSuffix(path, "selfsubjectaccessreviews") {
			return 0, nil
		}
		asked := body["spec"].(object)["resourceAttributes"].(object)
		return 201, object{"status": object{"allowed": asked["subresource"] != "exec" && asked["resource"] != "nodes"}}
	}
	findings, err := k.provider().Check(t.Context(), sdk.CheckQuery{GPU: "T4", GPUCount: 2, Network: "none", Options: raw(`{"runtime_class":"gvisor"}`)})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, f := range findings {
		if states[f.Name] != "" || f.State != sdk.FindingOK && f.Fix == "" && f.State != sdk.FindingUnknown {
			t.Errorf("%+v", f)
		}
		states[f.Name] = f.State
	}
	for name, want := range map[string]string{
		"cluster of the context lab": sdk.FindingOK, "namespace agents": sdk.FindingOK, "right to create pods in agents": sdk.FindingOK,
		"right to get pods/exec in agents": sdk.FindingFailed, "right to list nodes of the cluster": sdk.FindingWarning,
		"right to list networkpolicies in agents": sdk.FindingOK, "right to get runtimeclasses of the cluster": sdk.FindingOK,
		"runtime_class gvisor": sdk.FindingFailed, "2 × T4": sdk.FindingWarning, "pod of a machine (dry run)": sdk.FindingOK, "network: none": sdk.FindingUnknown,
	} {
		if states[name] != want {
			t.Errorf("%s is %q, not %s", name, states[name], want)
		}
	}
	if left := k.has("pods"); len(left) != 1 {
		t.Errorf("the check has made %q", left)
	}
	w := k.wired()
	findings, err = (&Provider{w}).Check(t.Context(), sdk.CheckQuery{Options: raw(`{"context":"gone","namespace":"a"}`)})
	if err != nil || len(findings) != 1 || findings[0].State != sdk.FindingFailed || !strings.Contains(findings[0].Detail, "cannot be reached") {
		t.Errorf("%+v, %v", findings, err)
	}
}

// A quota counts the pods of its scopes alone, and those of Seer have a deadline.
func TestQuotaScopes(t *testing.T) {
	t.Parallel()
	scoped := func(name, operator string, values ...string) (q resourceQuota) {
		q.Spec.ScopeSelector.MatchExpressions = []scopeTerm{{name, operator, values}}
		return q
	}
	named := func(scopes ...string) (q resourceQuota) {
		q.Spec.Scopes = scopes
		return q
	}
	for name, c := range map[string]struct {
		quota   resourceQuota
		cpu     float64
		options options
		counts  bool
	}{
		"all":            {named(), 1, options{}, true},
		"deadline":       {named("Terminating"), 1, options{}, true},
		"no deadline":    {named("NotTerminating"), 1, options{}, false},
		"best effort":    {named("Terminating", "BestEffort"), 0, options{}, true},
		"reserved":       {named("BestEffort"), 1, options{}, false},
		"not reserved":   {named("NotBestEffort"), 0, options{}, false},
		"priority":       {scoped("PriorityClass", "In", "high", "low"), 1, options{PriorityClass: "low"}, true},
		"other priority": {scoped("PriorityClass", "In", "high"), 1, options{PriorityClass: "low"}, false},
		"no priority":    {scoped("PriorityClass", "Exists"), 1, options{}, false},
		"not priority":   {scoped("PriorityClass", "NotIn", "high"), 1, options{}, true},
		"none at all":    {scoped("PriorityClass", "DoesNotExist"), 1, options{}, true},
		"affinity":       {named("CrossNamespacePodAffinity"), 1, options{}, false},
	} {
		c.quota.Status.Hard, c.quota.Status.Used = map[string]string{"count/pods": "1"}, map[string]string{"count/pods": "1"}
		if got := c.quota.lacks(sdk.OfferQuery{CPU: c.cpu}, c.options); (got != "") != c.counts {
			t.Errorf("%s: %q", name, got)
		}
	}
}
