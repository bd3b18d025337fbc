package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// object is one of the API, as JSON has it.
type object = map[string]any

// kube is the API of a cluster with one namespace, as unfriendly as the real one may be: lists in
// any order, in pages, and late. Pods start by themselves.
type kube struct {
	mu      sync.Mutex
	objects map[string]object // by path
	order   []string          // paths, as they were made
	late    int               // how many of the last ones lists do not have
	noNode  bool              // pods stay pending
	noKueue bool              // nothing manages queues
	stuck   bool              // pods that are deleted stay
	now     time.Time
	uids    int
	asked   []string // METHOD path
	bodies  []string

	// refuse answers in the place of the cluster.
	refuse func(method, path string, body object) (status int, answer object)
}

const namespacePath = "/api/v1/namespaces/agents"

func newKube() *kube {
	k := &kube{objects: map[string]object{}, now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)} // not the time of this computer
	k.put(namespacePath, object{"metadata": object{"name": "agents"}})
	k.put("/version", object{"gitVersion": "v1.31.0", "metadata": object{}})
	return k
}

func (k *kube) put(path string, o object) {
	k.objects[path] = o
	k.order = append(k.order, path)
}

// node adds a node with GPUs.
func (k *kube) node(name, product string, gpus int) {
	k.put("/api/v1/nodes/"+name, object{
		"metadata": object{"name": name, "labels": object{"nvidia.com/gpu.product": product, "nvidia.com/gpu.memory": "40960", "pool": name}},
		"spec":     object{},
		"status": object{
			"allocatable": object{"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": strconv.Itoa(gpus)},
			"conditions":  []object{{"type": "Ready", "status": "True"}},
		},
	})
}

// failure is an answer that is an error.
func failure(status int, reason, message string) (int, object) {
	return status, object{"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": status}
}

func (k *kube) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = k.now.Add(time.Second)
	body := object{}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	k.asked, k.bodies = append(k.asked, r.Method+" "+r.URL.Path), append(k.bodies, string(raw))
	status, answer := 0, object(nil)
	if k.refuse != nil {
		status, answer = k.refuse(r.Method, r.URL.Path, body)
	}
	if status == 0 {
		status, answer = k.answer(r, body)
	}
	w.Header().Set("Date", k.now.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	if after, ok := answer["retryAfter"].(string); ok {
		w.Header().Set("Retry-After", after)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (k *kube) answer(r *http.Request, body object) (int, object) {
	p := r.URL.Path
	there, found := k.objects[p]
	switch {
	case strings.HasSuffix(p, "/selfsubjectaccessreviews"):
		return 201, object{"status": object{"allowed": true}}
	case strings.HasPrefix(p, "/api/v1/namespaces/") && !strings.HasPrefix(p, namespacePath):
		return failure(404, "NotFound", `namespaces "x" not found`)
	case r.Method == "POST":
		return k.create(r, body)
	case r.Method == "GET" && !found && isCollection(p):
		return k.list(r)
	case !found:
		return failure(404, "NotFound", fmt.Sprintf("%q not found", p))
	case r.Method == "PATCH":
		if r.Header.Get("Content-Type") != mergePatch {
			return failure(415, "UnsupportedMediaType", "a patch needs its type")
		}
		merge(there, body)
	case r.Method == "DELETE":
		return k.delete(p, there, body)
	}
	k.run(there)
	return 200, there
}

func isCollection(p string) bool {
	last := p[strings.LastIndexByte(p, '/')+1:]
	return slices.Contains([]string{"pods", "nodes", "networkpolicies", "persistentvolumeclaims", "events", "resourcequotas", "workloads", "localqueues"}, last)
}

func (k *kube) create(r *http.Request, body object) (int, object) {
	m := body["metadata"].(object)
	p := r.URL.Path + "/" + m["name"].(string)
	if k.objects[p] != nil {
		return failure(409, alreadyExists, fmt.Sprintf("%q already exists", p))
	}
	if labels, _ := m["labels"].(object); labels[labelQueue] != nil && !k.noKueue {
		labels[labelKueue] = "true"
	}
	if r.URL.Query().Get("dryRun") != "" {
		return 201, body
	}
	k.uids++
	m["uid"] = "uid-" + strconv.Itoa(k.uids)
	m["creationTimestamp"] = k.now.Format(time.RFC3339)
	if strings.HasSuffix(r.URL.Path, "/pods") {
		body["status"] = object{"phase": "Pending"}
	}
	k.put(p, body)
	return 201, body
}

// run lets a pod begin that somebody has looked at.
func (k *kube) run(o object) {
	s, ok := o["status"].(object)
	if !ok || s["phase"] != "Pending" || k.noNode {
		return
	}
	o["spec"].(object)["nodeName"] = "n1"
	o["status"] = object{
		"phase": "Running", "startTime": k.now.Format(time.RFC3339),
		"conditions":        []any{object{"type": "Ready", "status": "True"}, object{"type": "ContainersReady", "status": "True"}},
		"containerStatuses": []any{object{"name": containerName, "state": object{"running": object{"startedAt": k.now.Format(time.RFC3339)}}}},
	}
}

func (k *kube) list(r *http.Request) (int, object) {
	q := r.URL.Query()
	var names []string
	for _, p := range k.order[:max(0, len(k.order)-k.late)] {
		dir, _, _ := cutLast(p)
		if k.objects[p] != nil && (dir == r.URL.Path || r.URL.Path == "/api/v1/pods" && strings.HasSuffix(dir, "/pods")) && matches(k.objects[p], q.Get("labelSelector")) {
			names = append(names, p)
		}
	}
	from, _ := strconv.Atoi(q.Get("continue"))
	to := min(len(names), from+2) // small pages, whatever was asked for
	answer := object{"metadata": object{}, "items": []object{}}
	if to < len(names) {
		answer["metadata"] = object{"continue": strconv.Itoa(to)}
	}
	page := slices.Clone(names[min(from, to):to])
	rand.Shuffle(len(page), func(i, j int) { page[i], page[j] = page[j], page[i] })
	for _, p := range page {
		k.run(k.objects[p])
		answer["items"] = append(answer["items"].([]object), k.objects[p])
	}
	return 200, answer
}

func cutLast(p string) (dir, name string, ok bool) {
	at := strings.LastIndexByte(p, '/')
	return p[:at], p[at+1:], true
}

// matches understands a=b, a in (b,c) and a.
func matches(o object, selector string) bool {
	labels, _ := o["metadata"].(object)["labels"].(object)
	for selector != "" {
		var term string
		if i := strings.Index(selector, " in ("); i >= 0 && i < cmp.Or(strings.IndexByte(selector, ',')+1, len(selector)+1) {
			term, selector, _ = strings.Cut(selector, ")")
			selector = strings.TrimPrefix(selector, ",")
			key, values, _ := strings.Cut(term, " in (")
			if v, _ := labels[key].(string); !slices.Contains(strings.Split(values, ","), v) {
				return false
			}
			continue
		}
		term, selector, _ = strings.Cut(selector, ",")
		key, want, equal := strings.Cut(term, "=")
		if v, there := labels[key]; !there || equal && v != want {
			return false
		}
	}
	return true
}

func (k *kube) delete(p string, there, options object) (int, object) {
	if pre, ok := options["preconditions"].(object); ok && pre["uid"] != there["metadata"].(object)["uid"] {
		return failure(409, "Conflict", "the UID in the precondition is another one")
	}
	if grace, _ := options["gracePeriodSeconds"].(float64); k.stuck && grace > 0 {
		m := there["metadata"].(object)
		if m["deletionTimestamp"] == nil {
			m["deletionTimestamp"] = k.now.Add(time.Duration(grace) * time.Second).Format(time.RFC3339)
		}
		return 200, there
	}
	k.remove(p)
	for path, o := range k.objects { // what it owns goes with it
		owners, _ := o["metadata"].(object)["ownerReferences"].([]any)
		if len(owners) > 0 && owners[0].(object)["uid"] == there["metadata"].(object)["uid"] {
			k.remove(path)
		}
	}
	return 200, there
}

func (k *kube) remove(path string) {
	delete(k.objects, path)
	k.order = slices.DeleteFunc(k.order, func(p string) bool { return p == path })
}

func merge(into, patch object) {
	for key, v := range patch {
		inner, ok := v.(object)
		have, there := into[key].(object)
		if ok && there {
			merge(have, inner)
			continue
		}
		into[key] = v
	}
}

// reset forgets what was asked.
func (k *kube) reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.bodies = nil, nil
}

// has are the names of objects of a kind.
func (k *kube) has(kind string) (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range slices.Sorted(maps.Keys(k.objects)) {
		if strings.Contains(p, "/"+kind+"/") {
			_, name, _ := cutLast(p)
			names = append(names, name)
		}
	}
	return names
}

// at is an object, to be changed by f.
func (k *kube) at(path string, f func(object)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(k.objects[path])
}

const origin = "https://kube.example"

// wired is an [API] over HTTP, as the host makes one of a kubeconfig.
type wired struct {
	client *http.Client
	exec   func(sdk.KubeExec) (Ended, error)
	used   []sdk.KubeContext
}

func (w wired) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body []byte) (Answer, error) {
	if contextName == "gone" {
		return Answer{}, sdk.Errorf(sdk.Unavailable, "the cluster of the context gone cannot be reached")
	}
	if contextName != "lab" {
		return Answer{}, sdk.Errorf(sdk.Invalid, "the kubeconfig has no context %s", contextName)
	}
	path, err := url.PathUnescape(r.Path)
	if err != nil {
		return Answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, origin+path+"?"+url.Values(r.Query).Encode(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	resp, err := w.client.Do(request)
	if err != nil {
		return Answer{}, sdk.Errorf(sdk.Unavailable, "the cluster of the context %s does not answer", contextName)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return Answer{}, sdk.Errorf(sdk.Unavailable, "the answer of the context %s has broken off", contextName)
	}
	return Answer{resp.StatusCode, resp.Header, text}, nil
}

func (w wired) Exec(_ context.Context, _ string, e sdk.KubeExec) (Ended, error) {
	return w.exec(e)
}

func (w wired) Contexts(name string) (sdk.KubeContexts, error) {
	known := sdk.KubeContexts{Current: sdk.KubeContext{Name: "lab", Namespace: "agents"}, Used: w.used}
	switch name {
	case "other":
		known.Named = sdk.KubeContext{Name: name, Namespace: "team-a"}
	case "lob":
		return known, sdk.Errorf(sdk.Invalid, "the kubeconfig has no context lob; lab may have been meant")
	}
	return known, nil
}

// direct reaches the API without a network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func (k *kube) wired() *wired {
	return &wired{client: &http.Client{Transport: direct{k}}, exec: k.probe}
}

// probe is what the probe in a pod says in a cluster that enforces policies.
func (k *kube) probe(e sdk.KubeExec) (Ended, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.objects[policiesPath+"/"+e.Pod] != nil {
		return Ended{Stdout: []byte(probeClosed)}, nil
	}
	return Ended{Stdout: []byte(probeOpen)}, nil
}

const (
	policiesPath = "/apis/networking.k8s.io/v1/namespaces/agents/networkpolicies"
	probeClosed  = `{"tried":["DNS"],"reached":[],"self":true}`
	probeOpen    = `{"tried":["DNS"],"reached":["DNS"],"self":true}`
)

func (k *kube) provider() *Provider { return &Provider{k.wired()} }

func spec(change func(*sdk.MachineSpec)) sdk.MachineSpec {
	s := sdk.MachineSpec{
		Key: "seer-k1", Owner: "own-1", Command: []string{"python3", "-c", "pass"}, Env: map[string]string{"A": "$(B)"},
		Port: 8717, TimeoutSeconds: 1200, EndUnix: 1900000000,
	}
	if change != nil {
		change(&s)
	}
	return s
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func mustCreate(t *testing.T, p *Provider, s sdk.MachineSpec) string {
	t.Helper()
	step, err := p.Create(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return step.Handle
}

func observe(t *testing.T, p *Provider, handle string) sdk.Observation {
	t.Helper()
	seen, err := p.Observe(t.Context(), []string{handle})
	if err != nil || len(seen) != 1 || seen[0].Handle != handle {
		t.Fatalf("%+v, %v", seen, err)
	}
	return seen[0]
}
