package fakerunpod_test

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestBilling(t *testing.T) {
	clock := enginetest.NewClock() // 03:04:05
	r := start(t, func(o *fakerunpod.Options) { o.Clock = clock })
	id := r.create(nil)
	cpu := r.create(object{"gpu": nil, "cpu": object{"id": "cpu3c", "vcpuCount": 2}})
	clock.Advance(time.Hour)
	r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "stop"})
	clock.Advance(10 * time.Hour)
	r.do(204, "DELETE", "/v2/pods/"+cpu, nil)
	r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "start"})
	clock.Advance(24 * time.Hour)
	near := func(what string, got any, want float64) {
		t.Helper()
		if math.Abs(got.(float64)-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, p := range r.Pods() {
		near("billed", p.Billed, map[string]float64{id: 25 * 0.43, cpu: 11 * 0.06}[p.ID])
	}
	bill := r.do(200, "GET", "/v2/billing/pods", nil)
	meta := bill["metadata"].(object)
	if meta["recordCount"] != 3.0 || meta["uniquePodCount"] != 2.0 {
		t.Errorf("%v", bill)
	}
	near("total", meta["totals"].(object)["totalAmount"], 25*0.43+11*0.06)
	near("CPU", meta["totals"].(object)["cpuAmount"], 11*0.06)
	today := r.do(200, "GET", "/v2/billing/pods?lastN=1&podId="+id, nil)
	if records := today["records"].([]any); len(records) != 1 || records[0].(object)["startTime"] != "2030-01-03T00:00:00Z" {
		t.Errorf("%v", today)
	}
	if hours := r.do(200, "GET", "/v2/billing/pods?bucketSize=hour&startTime=2030-01-02T00:30:00Z&endTime=2030-01-02T04:00:00Z&podId="+id, nil); len(hours["records"].([]any)) != 1 {
		t.Errorf("%v", hours)
	}
	r.do(400, "GET", "/v2/billing/pods?lastN=1&endTime=2030-01-02T00:00:00Z", nil)
	r.do(422, "GET", "/v2/billing/pods?lastN=0", nil)
	r.do(422, "GET", "/v2/billing/pods?bucketSize=decade", nil)
}

func TestTemplates(t *testing.T) {
	r := start(t)
	registry := r.do(201, "POST", "/v2/registries", object{"name": "r", "username": "u", "password": "p"})
	if registry["password"] != nil || registry["name"] != "r" {
		t.Errorf("%v", registry)
	}
	made := r.do(201, "POST", "/v2/templates", object{
		"name": "t", "image": "img", "env": object{"A": "1", "B": "1"}, "ports": []string{"80/http"}, "registry": registry["id"], "startSsh": false,
	})
	path := "/v2/templates/" + made["id"].(string)
	if made["category"] != "NVIDIA" || made["startJupyter"] != true || made["serverless"] != false {
		t.Errorf("%v", made)
	}
	pod := r.do(201, "POST", "/v2/pods", object{
		"name": "p", "templateId": made["id"], "gpu": object{"id": l4, "count": 1}, "env": object{"B": "2"}, "disk": 7,
	})
	env := pod["env"].(object)
	if pod["image"] != "img" || pod["disk"] != 7.0 || env["A"] != "1" || env["B"] != "2" || pod["template"] != nil || pod["registry"] != registry["id"] {
		t.Errorf("%v", pod)
	}
	r.do(400, "DELETE", "/v2/registries/"+registry["id"].(string), nil)
	r.do(204, "DELETE", "/v2/pods/"+pod["id"].(string), nil)
	r.do(204, "DELETE", "/v2/registries/"+registry["id"].(string), nil)
	if got := r.do(200, "GET", path, nil); got["registry"] != nil {
		t.Errorf("%v", got)
	}
	if got := r.do(200, "PATCH", path, object{"serverless": true, "env": object{}}); got["serverless"] != true || len(got["env"].(object)) != 0 || got["image"] != "img" {
		t.Errorf("%v", got)
	}
	r.do(422, "POST", "/v2/pods", request(object{"templateId": made["id"]}))
	r.do(204, "DELETE", path, nil)
	if list := r.do(200, "GET", "/v2/templates", nil)["templates"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

func TestVolumesCanOnlyGrow(t *testing.T) {
	r := start(t)
	path := "/v2/network-volumes/" + r.do(201, "POST", "/v2/network-volumes", object{"name": "v", "size": 20, "dataCenter": "EU-RO-1", "type": "HIGH_PERFORMANCE"})["id"].(string)
	r.do(400, "PATCH", path, object{"size": 19})
	if v := r.do(200, "PATCH", path, object{"size": 30, "name": "w"}); v["size"] != 30.0 || v["name"] != "w" {
		t.Errorf("%v", v)
	}
	r.do(204, "DELETE", path, nil)
	if list := r.do(200, "GET", "/v2/network-volumes", nil)["networkVolumes"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

func TestPatch(t *testing.T) {
	r := start(t)
	id := r.create(object{"mounts": object{"persistent": object{"size": 10, "path": "/workspace"}}})
	r.awaitUp(id)
	path := "/v2/pods/" + id
	before := r.Machine(id)
	if p := r.do(200, "PATCH", path, object{"name": "n", "locked": true}); p["name"] != "n" || p["locked"] != true {
		t.Errorf("%v", p)
	}
	r.do(409, "POST", path+"/action", object{"action": "stop"})
	r.do(200, "PATCH", path, object{"locked": false, "mounts": object{}})
	if r.Machine(id) != before {
		t.Error("a new name started another container")
	}
	r.do(200, "PATCH", path, object{"env": object{"A": "1"}})
	testkit.Eventually(t, "another container", func() bool { m := r.Machine(id); return m != nil && m != before })
	for name, c := range map[string]struct {
		mounts object
		want   int
	}{
		"larger":  {object{"persistent": object{"size": 20, "path": "/w"}}, 200},
		"cleared": {object{"network": []object{}}, 400},
		"kind":    {object{"network": []object{{"volumeId": "x", "path": "/w"}}}, 400},
	} {
		if a := r.send(r.key, "PATCH", path, object{"mounts": c.mounts}); a.status != c.want {
			t.Errorf("%s: %d %v", name, a.status, a.body)
		}
	}
	r.do(422, "PATCH", path, object{"image": "no-such"})
	r.do(404, "PATCH", path, object{"registry": "none"})
}

func (r *rig) stream(path string, header ...string) io.ReadCloser {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", r.URL()+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("%s: %s", path, resp.Status)
	}
	return resp.Body
}

// events reads a stream of logs until it has n of them.
func (r *rig) events(path string, n int, header ...string) (ids []string, lines []object) {
	r.t.Helper()
	stream := r.stream(path, header...)
	defer stream.Close()
	for s := bufio.NewScanner(stream); len(lines) < n && s.Scan(); {
		if id, found := strings.CutPrefix(s.Text(), "id: "); found {
			ids = append(ids, id)
		}
		if data, found := strings.CutPrefix(s.Text(), "data: "); found {
			var line object
			if err := json.Unmarshal([]byte(data), &line); err != nil {
				r.t.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
	return ids, lines
}

func TestLogs(t *testing.T) {
	r := start(t)
	id := r.create(sh("echo one; echo two >&2; echo three; sleep 1000", nil))
	path := "/v2/pods/" + id + "/logs"
	ids, lines := r.events(path+"?source=container", 3)
	if lines[0]["line"] != "one" || lines[2]["line"] != "three" || lines[0]["source"] != "container" || lines[0]["ts"] == nil {
		t.Errorf("%v", lines)
	}
	if _, again := r.events(path, 1, "Last-Event-ID", ids[1]); again[0]["line"] != "three" {
		t.Errorf("%v", again)
	}
	if _, last := r.events(path+"?tail=1&source=container", 1); last[0]["line"] != "three" {
		t.Errorf("%v", last)
	}
	if _, system := r.events(path+"?source=system", 1); !strings.Contains(system[0]["line"].(string), "start container") {
		t.Errorf("%v", system)
	}
	for _, query := range []string{"source=all", "tail=-1", "tail=5001", "since=yesterday"} {
		r.do(422, "GET", path+"?"+query, nil)
	}
	stream := r.stream(path)
	defer stream.Close()
	r.do(204, "DELETE", "/v2/pods/"+id, nil)
	if all, err := io.ReadAll(stream); err != nil || !strings.Contains(string(all), "three") {
		t.Errorf("until the pod had gone: %s, %v", all, err)
	}
}
