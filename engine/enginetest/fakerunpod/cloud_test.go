package fakerunpod_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
)

// rig is a cloud and an account there.
type rig struct {
	*fakerunpod.Cloud
	t   *testing.T
	key string
}

func start(t *testing.T, change ...func(*fakerunpod.Options)) *rig {
	t.Helper()
	o := fakerunpod.Options{
		Dir: t.TempDir(), Python: "/usr/bin/python3", Keys: []string{"rpa_test"}, Limits: []fakerunpod.Window{},
		Delays: fakerunpod.Delays{Stop: 100 * time.Millisecond, Restart: time.Millisecond},
	}
	for _, f := range change {
		f(&o)
	}
	c, err := fakerunpod.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &rig{c, t, o.Keys[0]}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   object
}

type object = map[string]any

// send makes a request with a key and gives what came of it.
func (r *rig) send(key, method, path string, body any) answer {
	r.t.Helper()
	a, err := r.try(key, method, path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) try(key, method, path string, body any) (answer, error) {
	r.t.Helper()
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			r.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL()+path, reader)
	if err != nil {
		r.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if err := json.NewDecoder(resp.Body).Decode(&a.body); err != nil {
			r.t.Fatal(err)
		}
	}
	return a, nil
}

// do makes a request of the account's and wants a status.
func (r *rig) do(want int, method, path string, body any) object {
	r.t.Helper()
	a := r.send(r.key, method, path, body)
	if a.status != want {
		r.t.Fatalf("%s %s: %d %v, want %d", method, path, a.status, a.body, want)
	}
	if a.status >= 400 && (a.body["status"] != float64(want) || a.body["detail"] == "" || a.body["title"] != http.StatusText(want)) {
		r.t.Errorf("%s %s: %v is not a problem", method, path, a.body)
	}
	return a.body
}

// request is a body that is accepted, with changes; nil takes a field away.
func request(changes object) object {
	body := object{"name": "p", "image": "python:3.12", "gpu": object{"id": "NVIDIA L4", "count": 1}, "ports": []string{"8717/http"}}
	for k, v := range changes {
		if v == nil {
			delete(body, k)
		} else {
			body[k] = v
		}
	}
	return body
}

func (r *rig) create(changes object) string {
	r.t.Helper()
	id, ok := r.do(http.StatusCreated, "POST", "/v2/pods", request(changes))["id"].(string)
	if !ok {
		r.t.Fatal("a pod without an id")
	}
	return id
}

func (r *rig) pod(id string) object {
	r.t.Helper()
	return r.do(http.StatusOK, "GET", "/v2/pods/"+id, nil)
}

func (r *rig) awaitStatus(id, status string) {
	r.t.Helper()
	testkit.Eventually(r.t, id+" is "+status, func() bool { return r.pod(id)["status"] == status })
}

// awaitUp waits until the pod's program has been started.
func (r *rig) awaitUp(id string) {
	r.t.Helper()
	testkit.Eventually(r.t, id+" runs", func() bool { return r.pod(id)["runtime"] != nil })
}

// at is where a port of a pod is.
func (r *rig) at(id, port string) string {
	return strings.NewReplacer("{pod}", id, "{port}", port).Replace(r.ProxyURL())
}
