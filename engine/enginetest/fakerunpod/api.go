package fakerunpod

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// request is one call of the API.
type request struct {
	*http.Request
	w      http.ResponseWriter
	params map[string]string // of the path
	pod    *pod              // whose own key was used; nil = the account's
}

// reply is an answer; one without a status has been written already.
type reply struct {
	status int
	body   any
}

func ok(body any) (reply, error)      { return reply{http.StatusOK, body}, nil }
func created(body any) (reply, error) { return reply{http.StatusCreated, body}, nil }
func nothing() (reply, error)         { return reply{status: http.StatusNoContent}, nil }

type handler func(*Cloud, *request) (reply, error)

// routes are the paths of the API and their methods.
func routes() map[string]map[string]handler {
	return map[string]map[string]handler{
		"/graphql":                     {"POST": graphql},
		"/v2/account/ssh-keys":         {"GET": locked(getSSHKeys), "PUT": given("sshKeys", putSSHKeys)},
		"/v2/pods":                     {"GET": listPods, "POST": given("createPod", createPod)},
		"/v2/pods/{id}":                {"GET": about((*Cloud).lookup, getPod), "PATCH": change("updatePod", (*Cloud).lookup, patchPod), "DELETE": about((*Cloud).lookup, deletePod)},
		"/v2/pods/{id}/action":         {"POST": change("podAction", (*Cloud).lookup, podAction)},
		"/v2/pods/{id}/logs":           {"GET": podLogs},
		"/v2/network-volumes":          {"GET": locked(listVolumes), "POST": given("createVolume", createVolume)},
		"/v2/network-volumes/{id}":     {"GET": about((*Cloud).volume, getVolume), "PATCH": change("updateVolume", (*Cloud).volume, patchVolume), "DELETE": about((*Cloud).volume, deleteVolume)},
		"/v2/templates":                {"GET": locked(listTemplates), "POST": given("createTemplate", createTemplate)},
		"/v2/templates/{id}":           {"GET": about((*Cloud).template, getTemplate), "PATCH": change("updateTemplate", (*Cloud).template, patchTemplate), "DELETE": about((*Cloud).template, deleteTemplate)},
		"/v2/registries":               {"GET": locked(listRegistries), "POST": given("createRegistry", createRegistry)},
		"/v2/registries/{id}":          {"GET": about((*Cloud).registry, getRegistry), "DELETE": about((*Cloud).registry, deleteRegistry)},
		"/v2/catalog/gpus":             {"GET": asked(gpuQuery, listGPUs)},
		"/v2/catalog/gpus/{id}":        {"GET": asked(gpuQuery, getGPU)},
		"/v2/catalog/cpus":             {"GET": asked(cpuQuery, listCPUs)},
		"/v2/catalog/cpus/{id}":        {"GET": asked(cpuQuery, getCPU)},
		"/v2/catalog/datacenters":      {"GET": listDataCenters},
		"/v2/catalog/datacenters/{id}": {"GET": getDataCenter},
		"/v2/catalog/templates":        {"GET": listPublicTemplates},
		"/v2/billing/pods":             {"GET": billPods},
	}
}

// match finds the pattern of a path, and what its {…} stand for.
func (c *Cloud) match(path string) (pattern string, params map[string]string) {
	parts := strings.Split(path, "/")
next:
	for pattern := range c.routes {
		want := strings.Split(pattern, "/")
		if len(want) != len(parts) {
			continue
		}
		params := map[string]string{}
		for i, w := range want {
			value, err := url.PathUnescape(parts[i])
			switch {
			case w == "{id}" && err == nil && value != "":
				params["id"] = value
			case w != parts[i]:
				continue next
			}
		}
		return pattern, params
	}
	return "", nil
}

func (c *Cloud) serveAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", random(20))
	if agent := r.UserAgent(); agent == "" || strings.HasPrefix(agent, "Python-urllib/") {
		http.Error(w, "error code: 1010", http.StatusForbidden) // the edge before RunPod
		return
	}
	c.due()
	pattern, params := c.match(r.URL.EscapedPath())
	c.count(r.Method, pattern)
	fault := c.fault(r)
	if fault != nil && !fault.After && fault.fails() {
		fault.answer(w, r)
		return
	}
	req := &request{Request: r, w: w, params: params}
	if fault != nil && fault.After && fault.Later > 0 && fault.fails() {
		c.defers(req, pattern, fault.Later)
		fault.answer(w, r)
		return
	}
	rep, err := c.handle(req, pattern)
	if fault != nil && fault.After && fault.fails() {
		fault.answer(w, r)
		return
	}
	c.write(w, rep, err)
}

func (c *Cloud) count(method, pattern string) {
	if pattern == "" {
		pattern = "other"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[method+" "+pattern]++
}

func (c *Cloud) handle(r *request, pattern string) (reply, error) {
	if err := c.authorize(r); err != nil {
		return reply{}, err
	}
	methods := c.routes[pattern]
	if methods == nil {
		return reply{}, notFound("resource")
	}
	h := methods[r.Method]
	if h == nil {
		r.w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
		return reply{}, problemf(http.StatusMethodNotAllowed, "The requested method is not allowed for this path.")
	}
	if r.pod != nil && r.params["id"] != r.pod.id {
		return reply{}, problemf(http.StatusForbidden, "access denied")
	}
	return h(c, r)
}

// authorize knows the keys of the account and those of its pods, and counts.
func (c *Cloud) authorize(r *request) error {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || token == "" {
		return problemf(http.StatusUnauthorized, "missing bearer token")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.keys[token] {
		i := slices.IndexFunc(c.pods, func(p *pod) bool { return p.key == token && p.status != terminated })
		if i < 0 {
			return problemf(http.StatusUnauthorized, "invalid bearer token")
		}
		r.pod = c.pods[i]
	}
	return c.limits.take(c.now(), r.w.Header())
}

func (c *Cloud) write(w http.ResponseWriter, rep reply, err error) {
	if err != nil {
		writeProblem(w, err)
		return
	}
	if rep.status == 0 {
		return
	}
	if rep.body == nil {
		w.WriteHeader(rep.status)
		return
	}
	data, err := json.Marshal(rep.body)
	if err == nil && c.behaving().UnknownFields {
		data, err = addUnknown(data)
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(rep.status)
	_, _ = w.Write(data) // the client has gone
}
