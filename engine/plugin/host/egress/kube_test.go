package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// cluster is one whose answers a test writes.
type cluster struct {
	do   func(ctx context.Context, contextName string, r sdk.KubeRequest, body []byte) (*http.Response, error)
	exec func(ctx context.Context, contextName string, e sdk.KubeExec, stdin []byte) (KubeResult, error)
	none bool // there is no kubeconfig

	mu   sync.Mutex
	used []sdk.KubeContext
}

func (c *cluster) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body io.Reader) (*http.Response, error) {
	sent, err := readSent(body)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, contextName, r, sent)
}

func (c *cluster) Exec(ctx context.Context, contextName string, e sdk.KubeExec, stdin io.Reader) (KubeResult, error) {
	sent, err := readSent(stdin)
	if err != nil {
		return KubeResult{}, err
	}
	return c.exec(ctx, contextName, e, sent)
}

func readSent(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	return io.ReadAll(r)
}

func (c *cluster) Context(_ context.Context, name string) (sdk.KubeContext, error) {
	if c.none {
		return sdk.KubeContext{}, sdk.Errorf(sdk.NotFound, "there is no kubeconfig")
	}
	if name == "" {
		name = "lab"
	}
	if name == "lab-x" {
		return sdk.KubeContext{}, sdk.Errorf(sdk.Invalid, "the kubeconfig has no context %s", name)
	}
	return sdk.KubeContext{Name: name, Namespace: "agents"}, nil
}

func (c *cluster) Used(_ string, k sdk.KubeContext) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.used, k) {
		c.used = append(c.used, k)
	}
	return nil
}

func (c *cluster) Unused(_ string, k sdk.KubeContext) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = slices.DeleteFunc(c.used, func(one sdk.KubeContext) bool { return one == k })
	return nil
}

func (c *cluster) Of(string) ([]sdk.KubeContext, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.used), nil
}

func said(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Audit-Id": {"7"}}, Body: io.NopCloser(strings.NewReader(body))}
}

func kubeManifest() sdk.Manifest {
	return sdk.Manifest{
		ID:       "provider-pods",
		Settings: []sdk.Setting{{Name: "contexts", Doc: "contexts", Env: []string{"POD_CONTEXTS"}}},
		Permissions: sdk.Permissions{Kube: []sdk.KubePermission{
			{Contexts: []string{"lab*", "{contexts}"}, Namespaces: []string{"agents", "team-*"}, Use: []string{sdk.KubeRead, sdk.KubeWrite, sdk.KubeExecute}, Reason: "runs"},
			{Contexts: []string{"lab"}, Namespaces: []string{"agents"}, Use: []string{sdk.KubeForward}, Reason: "reaches"},
			{Contexts: []string{"lab"}, Use: []string{sdk.KubeCluster}, Reason: "finds GPUs"},
		}},
	}
}

func kubeWorld(c *cluster, audits *[]Audit) world {
	return world{manifest: kubeManifest(), env: map[string]string{"POD_CONTEXTS": "arn:aws:eks/mine"}, audits: audits,
		options: func(o *Options) { o.Kube, o.KubeContexts = c, c }}
}

func (g *guest) kube(in sdk.KubeOpen, body string) (answer, error) {
	g.t.Helper()
	o, err := g.s.OpenKube(in)
	return g.exchange(o, err, in.Body, body)
}

func (g *guest) kubeRequest(contextName, method, path string) (answer, error) {
	g.t.Helper()
	return g.kube(sdk.KubeOpen{Context: contextName, Request: &sdk.KubeRequest{Method: method, Path: path}}, "")
}

// untouched is a cluster that nothing may reach.
func untouched(t *testing.T) *cluster {
	return &cluster{
		do: func(_ context.Context, name string, r sdk.KubeRequest, _ []byte) (*http.Response, error) {
			t.Errorf("%s was asked %s %s", name, r.Method, r.Path)
			return nil, errors.New("reached")
		},
		exec: func(_ context.Context, name string, e sdk.KubeExec, _ []byte) (KubeResult, error) {
			t.Errorf("%s was told to run %q", name, e.Argv)
			return KubeResult{}, errors.New("reached")
		},
	}
}

func TestRequestToACluster(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 200<<10) // more than a window
	var audits []Audit
	c := &cluster{do: func(_ context.Context, name string, r sdk.KubeRequest, body []byte) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return said(200, large), nil
		}
		return said(201, name+" "+r.ContentType+" "+string(body)), nil
	}}
	g := kubeWorld(c, &audits).guest(t)
	pods := "/api/v1/namespaces/agents/pods"
	for name, real := range map[string]string{"lab-2": "lab-2", "arn:aws:eks/mine": "arn:aws:eks/mine", "": "lab"} {
		a, err := g.kube(sdk.KubeOpen{Context: name, Request: &sdk.KubeRequest{Method: "POST", Path: pods}, Body: true}, "{}")
		if err != nil || a.status != 201 || a.headers["Audit-Id"][0] != "7" || a.body != real+" application/json {}" {
			t.Errorf("%q: %d %q, %v", name, a.status, a.body, err)
		}
	}
	if a, err := g.kubeRequest("lab", "GET", pods); err != nil || a.body != large {
		t.Errorf("%d bytes, %v", len(a.body), err)
	}
	if len(c.used) != 3 || !slices.Contains(c.used, sdk.KubeContext{Name: "lab", Namespace: "agents"}) {
		t.Errorf("remembered %v", c.used)
	}
	slices.SortFunc(audits, func(a, b Audit) int { return strings.Compare(a.Destination+a.Method, b.Destination+b.Method) })
	if a := audits[0]; len(audits) != 4 || a.Destination != "kube://arn:aws:eks%2Fmine" || a.Path != pods || a.Method != "POST" ||
		a.Permission != "kube context {contexts} namespace agents write" || a.Status != 201 || a.Sent != 2 {
		t.Errorf("%d audits, the first %+v", len(audits), a)
	}
	if a := audits[2]; a.Permission != "kube context lab* namespace agents read" || a.Received != int64(len(large)) {
		t.Errorf("the second %+v", a)
	}
}

// What is read, refused or removed is not remembered, and what is there already is. Where something
// may be made is remembered before the cluster learns of it.
func TestRememberedClusters(t *testing.T) {
	t.Parallel()
	lost := sdk.Errorf(sdk.Unavailable, "the connection was cut")
	for _, tc := range []struct {
		method, path string
		status       int
		err          error
		during, want bool
	}{
		{"TRY", "/pods", 201, nil, false, false}, {"GET", "/pods", 200, nil, false, false}, {"DELETE", "/pods/a", 200, nil, false, false},
		{"POST", "/pods", 201, nil, true, true}, {"PATCH", "/pods/a", 200, nil, true, true},
		{"POST", "/pods", 403, nil, true, false}, {"POST", "/pods", 404, nil, true, false}, {"POST", "/pods", 0, sdk.Errorf(sdk.Unauthorized, "401"), true, false},
		{"POST", "/pods", 408, nil, true, true}, {"POST", "/pods", 409, nil, true, true}, {"POST", "/pods", 429, nil, true, true},
		{"POST", "/pods", 504, nil, true, true}, {"POST", "/pods", 0, lost, true, true},
	} {
		c, during := &cluster{}, false
		c.do = func(context.Context, string, sdk.KubeRequest, []byte) (*http.Response, error) {
			used, _ := c.Of("")
			during = slices.Contains(used, sdk.KubeContext{Name: "lab", Namespace: "team-a"})
			return said(tc.status, "{}"), tc.err
		}
		r := sdk.KubeRequest{Method: tc.method, Path: "/api/v1/namespaces/team-a" + tc.path}
		if tc.method == "TRY" {
			r.Method, r.Query = "POST", map[string][]string{"dryRun": {"All"}}
		}
		a, err := kubeWorld(c, nil).guest(t).kube(sdk.KubeOpen{Context: "lab", Request: &r}, "")
		if a.status != tc.status || (err == nil) != (tc.err == nil) || during != tc.during || len(c.used) == 1 != tc.want {
			t.Errorf("%s %d, %v: %v, remembered %v, then %v", tc.method, tc.status, tc.err, err, during, c.used)
		}
	}
}

// A refusal takes back only what its own request has noted, and what another one makes is noted again.
func TestRememberedBesideARefusal(t *testing.T) {
	t.Parallel()
	const pods = "/api/v1/namespaces/team-a/pods"
	c := &cluster{used: []sdk.KubeContext{{Name: "lab", Namespace: "team-a"}}}
	c.do = func(context.Context, string, sdk.KubeRequest, []byte) (*http.Response, error) {
		return said(403, "{}"), nil
	}
	g := kubeWorld(c, nil).guest(t)
	if _, err := g.kubeRequest("lab", "POST", pods); err != nil || len(c.used) != 1 {
		t.Errorf("%v, remembered %v", err, c.used)
	}
	c.do = func(context.Context, string, sdk.KubeRequest, []byte) (*http.Response, error) {
		_ = c.Unused("", c.used[0])
		return said(201, "{}"), nil
	}
	if _, err := g.kubeRequest("lab", "POST", pods); err != nil || len(c.used) != 1 {
		t.Errorf("%v, remembered %v", err, c.used)
	}
}

func TestClusterNeeds(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]kubeNeed{
		"GET /version":                         {"", sdk.KubeCluster},
		"GET /readyz":                          {"", sdk.KubeCluster},
		"GET /api":                             {"", sdk.KubeCluster},
		"GET /apis/kueue.x-k8s.io/v1beta1":     {"", sdk.KubeCluster},
		"GET /api/v1/nodes":                    {"", sdk.KubeCluster},
		"GET /api/v1/nodes/system:n1.lab":      {"", sdk.KubeCluster},
		"GET /api/v1/namespaces":               {"", sdk.KubeCluster},
		"GET /api/v1/namespaces/agents":        {"", sdk.KubeCluster},
		"GET /api/v1/namespaces/agents/status": {"", sdk.KubeCluster},
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":         {"", sdk.KubeCluster},
		"POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews":          {"", sdk.KubeCluster},
		"GET /api/v1/namespaces/agents/pods":                                  {"agents", sdk.KubeRead},
		"GET /api/v1/namespaces/agents/pods/exec":                             {"agents", sdk.KubeRead}, // a pod of that name
		"GET /api/v1/namespaces/agents/pods/seer-1/log":                       {"agents", sdk.KubeRead},
		"POST /api/v1/namespaces/agents/pods/seer-1/eviction":                 {"agents", sdk.KubeWrite},
		"DELETE /api/v1/namespaces/agents/pods/seer-1":                        {"agents", sdk.KubeWrite},
		"PATCH /apis/networking.k8s.io/v1/namespaces/b/networkpolicies/x":     {"b", sdk.KubeWrite},
		"GET /apis/kueue.x-k8s.io/v1beta1/namespaces/agents/localqueues":      {"agents", sdk.KubeRead},
		"GET /apis/rbac.authorization.k8s.io/v1/namespaces/b/rolebindings":    {"b", sdk.KubeRead},
		"GET /apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical": {"", sdk.KubeCluster},
	} {
		method, path, _ := strings.Cut(path, " ")
		if got, err := kubePathNeed(method, path); err != nil || got != want {
			t.Errorf("%s %s needs %v, %v; want %v", method, path, got, err, want)
		}
	}
}

func TestClusterRefuses(t *testing.T) {
	t.Parallel()
	var audits []Audit
	g := kubeWorld(untouched(t), &audits).guest(t)
	const ns = "/api/v1/namespaces/agents/"
	for request, want := range map[string]string{
		// What a cluster may read differently.
		"GET /api/v1/namespaces/agents%2f..%2fkube-system/pods":     "not a plain path",
		"GET /api/v1/namespaces/agents/../kube-system/pods":         "not a plain path",
		"GET /api/v1/namespaces/agents/%2e%2e/kube-system/pods":     "not a plain path",
		"GET /api/v1/namespaces/agents/%252e%252e/kube-system/pods": "not a plain path",
		"GET /api/v1//namespaces/agents/pods":                       "not a plain path",
		"GET //api/v1/namespaces/agents/pods":                       "not a plain path",
		"GET /api/v1/namespaces/agents/pods/":                       "not a plain path",
		"GET /api/v1/namespaces/./pods":                             "not a plain path",
		"GET /api/v1/namespaces/agents/Secrets":                     "not a plain path",
		"GET /api/v1/namespaces/agents/pods?watch=1":                "not a plain path",
		"GET /api/v1/namespaces/agents/pods#x":                      "not a plain path",
		"GET /api/v1/namespaces/agents/pods\n":                      "not a plain path",
		"GET /api/v1/namespaces/agents\\pods":                       "not a plain path",
		"GET https://else.example/api/v1/namespaces/agents/pods":    "not a plain path",
		"GET ":                                   "not a plain path",
		"GET /" + strings.Repeat("a", 2000):      "not a plain path",
		"get /api/v1/namespaces/agents/pods":     "none of GET",
		"CONNECT /api/v1/namespaces/agents/pods": "none of GET",
		"GET /api/v1/namespaces/agents.x/pods":   "not a name of a namespace",
		"GET " + ns + "pods/a/log/b":             "a resource, its name and a subresource",
		// Other namespaces, and all of them.
		"GET /api/v1/namespaces/kube-system/pods":                 "does not allow read in the namespace kube-system",
		"DELETE /api/v1/namespaces/other/pods/a":                  "does not allow write in the namespace other",
		"GET /api/v1/pods":                                        "does not allow read in all namespaces",
		"GET /api/v1/configmaps":                                  "does not allow read in all namespaces",
		"GET /apis/acme.example/v1/things/a":                      "name one in the path",
		"GET /api/v1/watch/pods":                                  "may not open streams",
		"POST /api/v1/namespaces":                                 "belongs to no namespace",
		"DELETE /api/v1/namespaces/agents":                        "belongs to no namespace",
		"PUT /api/v1/namespaces/agents/finalize":                  "only log, status",
		"PATCH /api/v1/nodes/n1":                                  "belongs to no namespace",
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews": "belongs to no namespace",
		"POST /apis/authentication.k8s.io/v1/tokenreviews":        "belongs to no namespace",
		"POST /version":                                           "only GET",
		"GET /metrics":                                            "below /api and /apis",
		"GET /logs/kube-apiserver.log":                            "below /api and /apis",
		"GET /readyz/etcd":                                        "below /api and /apis",
		// Credentials.
		"GET " + ns + "secrets":                                           "Secrets",
		"GET " + ns + "secrets/a":                                         "Secrets",
		"PATCH " + ns + "secrets/a":                                       "Secrets",
		"GET /api/v1/secrets":                                             "Secrets",
		"GET /apis/acme.example/v1/namespaces/agents/secrets":             "Secrets",
		"POST " + ns + "serviceaccounts/default/token":                    "tokens",
		"POST /apis/rbac.authorization.k8s.io/v1/namespaces/agents/roles": "change rights",
		"DELETE " + ns + "pods":                                           "only what they name",
		// Streams by requests.
		"POST " + ns + "pods/a/exec":                                        "may not open streams",
		"GET " + ns + "pods/a/exec":                                         "may not open streams",
		"GET " + ns + "pods/a/attach":                                       "may not open streams",
		"POST " + ns + "pods/a/portforward":                                 "may not open streams",
		"GET " + ns + "pods/a/proxy":                                        "may not open streams",
		"GET " + ns + "services/a:80/proxy/admin":                           "may not open streams",
		"GET /api/v1/nodes/n1/proxy/run":                                    "may not open streams",
		"GET /api/v1/proxy/nodes/n1":                                        "may not open streams",
		"PATCH " + ns + "pods/a/ephemeralcontainers":                        "only log, status",
		"GET /apis/subresources.kubevirt.io/v1/namespaces/agents/vms/a/vnc": "only log, status",
	} {
		method, path, _ := strings.Cut(request, " ")
		_, err := g.kubeRequest("lab", method, path)
		if code := sdk.CodeOf(err); code != sdk.Invalid && code != sdk.Unauthorized || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", request, err, want)
		}
	}
	for _, a := range audits {
		if !a.Refused || a.Permission != "" || a.Status != 0 {
			t.Errorf("%+v", a)
		}
	}
}

func TestContextRefused(t *testing.T) {
	t.Parallel()
	g := kubeWorld(untouched(t), nil).guest(t)
	pods := "/api/v1/namespaces/agents/pods"
	for name, want := range map[string]sdk.Code{
		"prod": sdk.Unauthorized, "mylab": sdk.Unauthorized, "arn:aws:eks/other": sdk.Unauthorized, "-lab": sdk.Invalid, "lab\nx": sdk.Invalid, strings.Repeat("lab", 300): sdk.Invalid, "lab\xff": sdk.Invalid,
	} {
		_, err := g.kubeRequest(name, "GET", pods)
		testkit.WantCode(t, err, want, "")
	}
	every := kubeWorld(&cluster{do: func(context.Context, string, sdk.KubeRequest, []byte) (*http.Response, error) {
		return said(200, "{}"), nil
	}}, nil)
	every.manifest.Permissions.Kube[0].Namespaces = []string{"?", "*"}
	if _, err := every.guest(t).kubeRequest("lab", "GET", "/api/v1/pods"); err != nil {
		t.Errorf("pods of all namespaces: %v", err)
	}
	every.manifest.Permissions.Kube[0].Namespaces = []string{"?", "a*", "*-*"}
	_, err := every.guest(t).kubeRequest("lab", "GET", "/api/v1/pods")
	testkit.WantCode(t, err, sdk.Unauthorized, "does not allow read in all namespaces")
	_, err = g.kubeRequest("lab-2", "GET", "/api/v1/nodes")
	testkit.WantCode(t, err, sdk.Unauthorized, "does not allow cluster of the context lab-2")
	withheld := granted(kubeWorld(untouched(t), nil), func(line string) bool { return line != "kube context lab* namespace agents read" }).guest(t)
	for _, name := range []string{"lab", ""} {
		_, err = withheld.kubeRequest(name, "GET", pods)
		testkit.WantCode(t, err, sdk.Unauthorized, "`kube context lab* namespace agents read`, but it was not granted")
	}
	limited := kubeWorld(untouched(t), nil)
	limited.options = func(o *Options) { o.Kube, o.Destinations = untouched(t), []string{"*.example.org"} }
	_, err = limited.guest(t).kubeRequest("lab", "GET", pods)
	testkit.WantCode(t, err, sdk.Unauthorized, "plugins.destinations")
	without := kubeWorld(nil, nil)
	without.options = nil
	_, err = without.guest(t).kubeRequest("lab", "GET", pods)
	testkit.WantCode(t, err, sdk.Unsupported, "this program reaches no clusters")
	_, err = g.kube(sdk.KubeOpen{Context: "lab"}, "")
	testkit.WantCode(t, err, sdk.Invalid, "either a request or a command")
}

func TestClusterLimits(t *testing.T) {
	t.Parallel()
	const pods = "/api/v1/namespaces/agents/pods"
	large := bytes.Repeat([]byte("x"), 17<<20)
	c := &cluster{
		do: func(context.Context, string, sdk.KubeRequest, []byte) (*http.Response, error) {
			return said(200, string(large)), nil
		},
		exec: func(context.Context, string, sdk.KubeExec, []byte) (KubeResult, error) {
			return KubeResult{Stdout: large}, nil
		},
	}
	w := kubeWorld(c, nil)
	w.limits.ResponseMB = 16
	g := w.guest(t)
	_, err := g.kubeRequest("lab", "GET", pods)
	testkit.WantCode(t, err, sdk.Invalid, "GET "+pods+" in the context lab is larger than 16 MiB")
	_, err = g.kube(sdk.KubeOpen{Context: "lab", Request: &sdk.KubeRequest{Method: "POST", Path: pods}, Body: true}, string(large[:4<<20]))
	testkit.WantCode(t, err, sdk.Invalid, "has more than 3145728 bytes")
	_, err = g.kube(sdk.KubeOpen{Context: "lab", Exec: &sdk.KubeExec{Namespace: "agents", Pod: "p", Container: "c", Argv: []string{"yes"}}}, "")
	testkit.WantCode(t, err, sdk.Invalid, "more than 16777216 bytes")
	for _, r := range []sdk.KubeRequest{
		{Method: "GET", Path: pods, Query: map[string][]string{"labelSelector": {strings.Repeat("x", 17<<10)}}},
		{Method: "POST", Path: pods, ContentType: "application/json\r\nAuthorization: x"},
		{Method: "POST", Path: pods, ContentType: "application/x-www-form-urlencoded"},
	} {
		_, err := g.kube(sdk.KubeOpen{Context: "lab", Request: &r}, "")
		testkit.WantCode(t, err, sdk.Invalid, "")
	}
	_, err = g.kube(sdk.KubeOpen{Context: "lab", Request: &sdk.KubeRequest{Method: "GET", Path: pods}, Body: true}, "{}")
	testkit.WantCode(t, err, sdk.Invalid, "no body")
}

// A request that has no end of its own gets one.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{"watch": longestWatch, "follow": longestWatch, "limit": 0} {
		var deadline time.Time
		c := &cluster{do: func(ctx context.Context, _ string, _ sdk.KubeRequest, _ []byte) (*http.Response, error) {
			deadline, _ = ctx.Deadline()
			return said(200, ""), nil
		}}
		g := kubeWorld(c, nil).guest(t)
		in := sdk.KubeOpen{Context: "lab", Request: &sdk.KubeRequest{Method: "GET", Path: "/api/v1/namespaces/agents/pods", Query: map[string][]string{query: {"1"}}}}
		if _, err := g.kube(in, ""); err != nil || deadline.IsZero() != (want == 0) || want > 0 && time.Until(deadline) > want {
			t.Errorf("%s ends at %v: %v", query, deadline, err)
		}
	}
}

func TestCommandInAPod(t *testing.T) {
	t.Parallel()
	var audits []Audit
	c := &cluster{exec: func(_ context.Context, name string, e sdk.KubeExec, stdin []byte) (KubeResult, error) {
		return KubeResult{Stdout: stdin, Stderr: []byte(name + strings.Repeat("x", 5000) + "end"), Code: 3}, nil
	}}
	g := kubeWorld(c, &audits).guest(t)
	exec := sdk.KubeExec{Namespace: "agents", Pod: "seer-1", Container: "seer", Argv: []string{sdk.SSHProgram, "facts"}}
	a, err := g.kube(sdk.KubeOpen{Context: "lab", Exec: &exec, Body: true}, "{}")
	if err != nil || a.body != "{}" || a.end.Code != 3 || len(a.end.Message) != 4<<10 || !strings.HasSuffix(a.end.Message, "end") {
		t.Errorf("%q %+v, %v", a.body, a.end.Code, err)
	}
	if a := audits[0]; a.Destination != "kube://lab" || a.Method != "EXEC" || a.Path != "/agents/seer-1/seer {seer-runtime} facts" ||
		a.Permission != "kube context lab* namespace agents exec" || a.Status != 3 || a.Sent != 2 {
		t.Errorf("%+v", a)
	}
	for _, e := range []sdk.KubeExec{
		{Namespace: "kube-system", Pod: "p", Container: "c", Argv: []string{"id"}},
		{Namespace: "", Pod: "p", Container: "c", Argv: []string{"id"}},
		{Namespace: "agents", Pod: "-p", Container: "c", Argv: []string{"id"}},
		{Namespace: "agents", Pod: "p/exec", Container: "c", Argv: []string{"id"}},
		{Namespace: "agents", Pod: "a..b", Container: "c", Argv: []string{"id"}},
		{Namespace: "agents", Pod: "p", Container: "--help", Argv: []string{"id"}},
		{Namespace: "agents", Pod: "p", Container: "c"},
		{Namespace: "agents", Pod: "p", Container: "c", Argv: []string{"a\x00b"}},
		{Namespace: "agents", Pod: "p", Container: "c", Argv: []string{strings.Repeat("x", 70<<10)}},
	} {
		if _, err := kubeWorld(untouched(t), nil).guest(t).kube(sdk.KubeOpen{Context: "lab", Exec: &e}, ""); sdk.CodeOf(err) != sdk.Invalid && sdk.CodeOf(err) != sdk.Unauthorized {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// A plugin that gives a request up, and a call that ends, end what waits in the cluster.
func TestClusterGivenUp(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan error)
	c := &cluster{do: func(ctx context.Context, _ string, _ sdk.KubeRequest, _ []byte) (*http.Response, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}
	in := sdk.KubeOpen{Context: "lab", Request: &sdk.KubeRequest{Method: "GET", Path: "/api/v1/namespaces/agents/pods"}}
	g := kubeWorld(c, nil).guest(t)
	o, err := g.s.OpenKube(in)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	g.s.Send(o.Stream, nil, sdk.SendCancel)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := g.s.OpenKube(in); err != nil {
		t.Fatal(err)
	}
	<-began
	go g.s.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	slow := kubeWorld(&cluster{do: func(ctx context.Context, _ string, _ sdk.KubeRequest, _ []byte) (*http.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, nil).guest(t)
	in.TimeoutSeconds = 0.05
	_, err = slow.kube(in, "")
	testkit.WantCode(t, err, sdk.Unavailable, "took too long")
}

func TestKubeRoutesNeedAPermission(t *testing.T) {
	t.Parallel()
	g := kubeWorld(untouched(t), nil).gateway(t)
	route := sdk.KubeRoute{Context: "lab", Namespace: "agents", Pod: "seer-1", Container: "seer", Target: "tcp:8717"}
	if err := g.AllowRoute(t.Context(), sdk.Route{Kube: &route}); err != nil {
		t.Error(err)
	}
	route.Namespace = "team-a"
	testkit.WantCode(t, g.AllowRoute(t.Context(), sdk.Route{Kube: &route}), sdk.Unauthorized, "does not allow forward in the namespace team-a")
	route.Context = ""
	testkit.WantCode(t, g.AllowRoute(t.Context(), sdk.Route{Kube: &route}), sdk.Invalid, "not a name of a context")
}

func TestContexts(t *testing.T) {
	t.Parallel()
	c := &cluster{used: []sdk.KubeContext{{Name: "old", Namespace: "agents"}}}
	got, err := kubeWorld(c, nil).guest(t).s.KubeContexts(sdk.KubeContextsInput{})
	if err != nil || got.Current != (sdk.KubeContext{Name: "lab", Namespace: "agents"}) || !slices.Equal(got.Used, c.used) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = kubeWorld(&cluster{none: true}, nil).guest(t).s.KubeContexts(sdk.KubeContextsInput{})
	if err != nil || got.Current != (sdk.KubeContext{}) || got.Used == nil {
		t.Errorf("without a kubeconfig: %+v, %v", got, err)
	}
	got, err = kubeWorld(c, nil).guest(t).s.KubeContexts(sdk.KubeContextsInput{Name: "lab2"})
	if err != nil || got.Named != (sdk.KubeContext{Name: "lab2", Namespace: "agents"}) || got.Current.Name != "lab" {
		t.Errorf("with a name: %+v, %v", got, err)
	}
	for name, want := range map[string]sdk.Code{"lab-x": sdk.Invalid, "other": sdk.Unauthorized, "-lab": sdk.Invalid} {
		if _, err = kubeWorld(c, nil).guest(t).s.KubeContexts(sdk.KubeContextsInput{Name: name}); sdk.CodeOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = world{manifest: cloud()}.guest(t).s.KubeContexts(sdk.KubeContextsInput{})
	testkit.WantCode(t, err, sdk.Unauthorized, "asks for no cluster")
	_, err = granted(kubeWorld(c, nil), func(line string) bool { return !strings.HasPrefix(line, "kube ") }).guest(t).s.KubeContexts(sdk.KubeContextsInput{})
	testkit.WantCode(t, err, sdk.Unauthorized, "`kube context lab* namespace agents read`, but it was not granted")
}

func TestCheckKube(t *testing.T) {
	t.Parallel()
	m := kubeManifest()
	m.Permissions.Kube = append(m.Permissions.Kube,
		sdk.KubePermission{Contexts: []string{"", "a b", "lab-[", "eks/a*", "{no}"}, Namespaces: []string{"Team", "a/b"}, Use: []string{"red", "read"}},
		sdk.KubePermission{Reason: "x"},
		sdk.KubePermission{Contexts: []string{"*"}, Namespaces: []string{"a"}, Use: []string{sdk.KubeCluster}, Reason: "x"},
		sdk.KubePermission{Contexts: []string{"*"}, Namespaces: []string{"a"}, Use: []string{sdk.KubeCluster, sdk.KubeRead}, Reason: "x"},
		sdk.KubePermission{Contexts: []string{"*"}, Use: []string{sdk.KubeRead}, Reason: "x"})
	var at []string
	for _, p := range Check(m) {
		at = append(at, strings.TrimPrefix(p.At, "permissions.kube."))
		if p.At == "permissions.kube.3.use.0" && !strings.HasSuffix(p.Text, "did you mean read?") {
			t.Errorf("%s", p.Text)
		}
	}
	slices.Sort(at)
	want := []string{"3.contexts.0", "3.contexts.1", "3.contexts.2", "3.contexts.4", "3.namespaces.0", "3.namespaces.1", "3.reason", "3.use.0",
		"4.contexts", "4.use", "5.namespaces", "6.use", "7.namespaces"}
	if !slices.Equal(at, want) {
		t.Errorf("mistakes at %q", at)
	}
}

// What is let through is a path that names at most one namespace, and no way to a credential.
func FuzzKubePath(f *testing.F) {
	for _, path := range []string{"/api/v1/namespaces/agents/pods", "/apis/apps/v1/namespaces/a/secrets/x", "/api/v1/nodes/n/proxy", "/version", "//", "/api/v1/namespaces/a/%2e%2e/b"} {
		f.Add("GET", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		need, err := kubePathNeed(method, path)
		if err != nil {
			return
		}
		segments := strings.Split(path, "/")
		if strings.ContainsAny(path, "%\\?#;") || slices.Contains(segments[1:], "") || slices.Contains(segments, "..") || path != strings.ToLower(path) {
			t.Errorf("%s %q is let through", method, path)
		}
		if need.namespace == everyNamespace && (method != http.MethodGet || len(segments) > 6) {
			t.Errorf("%s %q is in all namespaces", method, path)
		}
		if need.namespace != "" && need.namespace != everyNamespace && !strings.Contains(path, "/namespaces/"+need.namespace+"/") {
			t.Errorf("%s %q is in %s", method, path, need.namespace)
		}
		if need.namespace == "" && method != http.MethodGet && !strings.Contains(path, "/selfsubject") {
			t.Errorf("%s %q changes something outside of namespaces", method, path)
		}
	})
}
