package fakerunpod_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestWhoMayCome(t *testing.T) {
	r := start(t)
	if a := r.send("", "GET", "/v2/pods", nil); a.status != 401 || a.body["detail"] != "missing bearer token" || a.header.Get("X-Request-Id") == "" {
		t.Errorf("no key: %+v", a)
	}
	if a := r.send("rpa_other", "GET", "/v2/pods", nil); a.status != 401 {
		t.Errorf("an unknown key: %+v", a)
	}
	for _, agent := range []string{"", "Python-urllib/3.12"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.URL()+"/v2/pods", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", agent)
		req.Header.Set("Authorization", "Bearer "+r.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 403 || !strings.Contains(string(text), "1010") {
			t.Errorf("agent %q: %d %s", agent, resp.StatusCode, text)
		}
	}
	r.SetKey(r.key, false)
	r.do(401, "GET", "/v2/pods", nil)
	r.SetKey(r.key, true)
	r.do(200, "GET", "/v2/pods", nil)
}

func TestPathsAndMethods(t *testing.T) {
	r := start(t)
	for _, path := range []string{"/v2", "/v1/pods", "/v2/pods/", "/v2/serverless", "/v2/pods/abc/def", "/v2/network-volumes/none", "/v2/templates/none", "/v2/registries/none", "/v2/catalog/gpus/none", "/v2/catalog/cpus/none", "/v2/catalog/datacenters/none"} {
		r.do(404, "GET", path, nil)
	}
	if a := r.send(r.key, "PUT", "/v2/pods", nil); a.status != 405 || a.header.Get("Allow") != "GET, POST" || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%+v", a)
	}
	if n := r.Requests()["GET /v2/templates/{id}"]; n != 1 {
		t.Errorf("requests: %v", r.Requests())
	}
}

func TestBodiesAreStrict(t *testing.T) {
	r := start(t)
	gpu := func(v object) object { return object{"gpu": v} }
	for name, c := range map[string]struct {
		method, path string
		body         any
		want         string
	}{
		"unknown field":     {"POST", "/v2/pods", request(object{"gpuTypeId": "x"}), "$: additional properties 'gpuTypeId' not allowed"},
		"no name":           {"POST", "/v2/pods", request(object{"name": nil}), "$: missing property 'name'"},
		"no image":          {"POST", "/v2/pods", request(object{"image": nil}), "$: missing property 'image'"},
		"empty name":        {"POST", "/v2/pods", request(object{"name": ""}), "$.name: "},
		"type":              {"POST", "/v2/pods", request(object{"disk": "40"}), "$.disk: "},
		"small disk":        {"POST", "/v2/pods", request(object{"disk": 0}), "$.disk: "},
		"args as list":      {"POST", "/v2/pods", request(object{"args": []string{"a"}}), "$.args: "},
		"env number":        {"POST", "/v2/pods", request(object{"env": object{"A": 1}}), "$.env.A: "},
		"gpu field":         {"POST", "/v2/pods", request(gpu(object{"id": "NVIDIA L4", "count": 1, "kind": 2})), "$.gpu: additional properties 'kind' not allowed"},
		"no gpu count":      {"POST", "/v2/pods", request(gpu(object{"id": "NVIDIA L4", "count": 0})), "$.gpu.count: "},
		"cuda":              {"POST", "/v2/pods", request(gpu(object{"id": "NVIDIA L4", "count": 1, "minCudaVersion": "12"})), "$.gpu.minCudaVersion: "},
		"cloud":             {"POST", "/v2/pods", request(object{"cloud": "ALL"}), "$.cloud: "},
		"partial mount":     {"POST", "/v2/pods", request(object{"mounts": object{"network": []object{{"volumeId": "x"}}}}), "$.mounts.network.0: missing property 'path'"},
		"two networks":      {"POST", "/v2/pods", request(object{"mounts": object{"network": []object{{"volumeId": "x", "path": "/a"}, {"volumeId": "y", "path": "/b"}}}}), "$.mounts.network: "},
		"small volume":      {"POST", "/v2/network-volumes", object{"name": "v", "size": 9, "dataCenter": "EU-RO-1"}, "$.size: "},
		"empty patch":       {"PATCH", "/v2/network-volumes/x", object{}, "$: "},
		"registry":          {"POST", "/v2/registries", object{"name": "r", "username": "u"}, "$: missing property 'password'"},
		"template network":  {"POST", "/v2/templates", object{"name": "t", "image": "i", "mounts": object{"network": []any{}}}, "$.mounts: additional properties 'network' not allowed"},
		"action":            {"POST", "/v2/pods/x/action", object{"action": "reset"}, "$.action: "},
		"key":               {"PUT", "/v2/account/ssh-keys", object{"keys": []string{"AAAA"}}, "$.keys.0: "},
		"not an object":     {"POST", "/v2/pods", []int{1}, "$: "},
		"patch without use": {"PATCH", "/v2/pods/x", object{"gpu": object{"id": "NVIDIA L4"}}, "$: additional properties 'gpu' not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			a := r.send(r.key, c.method, c.path, c.body)
			errs, _ := a.body["errors"].([]any)
			found := slices.ContainsFunc(errs, func(e any) bool { return strings.HasPrefix(e.(string), c.want) })
			if a.status != 422 || a.body["detail"] != "Request validation failed." || !found {
				t.Errorf("%d %v", a.status, a.body)
			}
		})
	}
	if len(r.Pods()) != 0 {
		t.Errorf("pods were made: %+v", r.Pods())
	}
}

func TestRules(t *testing.T) {
	r := start(t)
	l4 := func(more object) object {
		g := object{"id": "NVIDIA L4", "count": 1}
		for k, v := range more {
			g[k] = v
		}
		return object{"gpu": g}
	}
	many := object{}
	for _, c := range strings.Split(strings.Repeat("ab ", 51), " ") {
		many[c+string(rune('A'+len(many)))] = "v"
	}
	network := object{"network": []object{{"volumeId": "none", "path": "/w"}}}
	persistent := object{"persistent": object{"size": 10, "path": "/w"}}
	cpu := object{"id": "cpu5c", "vcpuCount": 4}
	for name, c := range map[string]struct {
		status int
		body   object
	}{
		"both":            {400, object{"cpu": cpu}},
		"neither":         {400, object{"gpu": nil}},
		"two mounts":      {400, object{"mounts": object{"persistent": persistent["persistent"], "network": network["network"]}}},
		"cpu persistent":  {400, object{"gpu": nil, "cpu": cpu, "mounts": persistent}},
		"odd cpus":        {400, object{"gpu": nil, "cpu": object{"id": "cpu5c", "vcpuCount": 6}}},
		"unknown cpu":     {400, object{"gpu": nil, "cpu": object{"id": "cpu9x", "vcpuCount": 4}}},
		"unknown gpu":     {400, object{"gpu": object{"id": "NVIDIA A10G", "count": 1}}},
		"both cudas":      {400, l4(object{"minCudaVersion": "12.4", "allowedCudaVersions": []string{"12.4"}})},
		"unknown place":   {400, object{"dataCenterIds": []string{"EU-XX-1"}}},
		"port":            {400, object{"ports": []string{"8888"}}},
		"port protocol":   {400, object{"ports": []string{"8888/udp"}}},
		"many variables":  {400, object{"env": many}},
		"long name":       {400, object{"name": strings.Repeat("n", 192)}},
		"community":       {400, object{"cloud": "COMMUNITY", "mounts": network}},
		"unknown volume":  {404, object{"mounts": network}},
		"unknown secret":  {404, object{"registry": "none"}},
		"unknown model":   {404, object{"templateId": "none"}},
		"image not there": {422, object{"image": "ghcr.io/x/no-such:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if a := r.send(r.key, "POST", "/v2/pods", request(c.body)); a.status != c.status || a.body["detail"] == "" {
				t.Errorf("%d %v", a.status, a.body)
			}
		})
	}
}
