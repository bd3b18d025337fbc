package fakerunpod_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
)

// sh is a request whose pod runs a shell script.
func sh(script string, more object) object {
	body := object{"args": "sh -c " + quote(script)}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// file waits for what a pod has written to its working folder.
func (r *rig) file(id, name string) string {
	r.t.Helper()
	var data []byte
	testkit.Eventually(r.t, name+" of "+id, func() bool {
		m := r.Machine(id)
		if m == nil {
			return false
		}
		var err error
		data, err = os.ReadFile(m.Folder("/workspace/" + name))
		return err == nil
	})
	return string(data)
}

func TestVariablesOfAPod(t *testing.T) {
	r := start(t)
	r.do(200, "PUT", "/v2/account/ssh-keys", object{"keys": []string{"ssh-ed25519 AAAA me"}})
	id := r.create(sh("env > t; mv t env; sleep 1000", object{
		"env":      object{"MINE": "1", "RUNPOD_POD_ID": "forged", "RUNPOD_API_KEY": "forged"},
		"startSsh": true,
	}))
	env := "\n" + r.file(id, "env")
	for _, want := range []string{"MINE=1", "RUNPOD_POD_ID=" + id, "RUNPOD_DC_ID=US-KS-2", "RUNPOD_GPU_COUNT=1", "PUBLIC_KEY=ssh-ed25519 AAAA me", "RUNPOD_API_KEY=rpa_"} {
		if !strings.Contains(env, "\n"+want) {
			t.Errorf("no %s in %s", want, env)
		}
	}
	if strings.Contains(env, r.key) || strings.Contains(env, "forged") {
		t.Errorf("the account's key, or forged values: %s", env)
	}
	if v := r.pod(id)["env"].(object); v["RUNPOD_POD_ID"] != "forged" || v["PUBLIC_KEY"] != nil {
		t.Errorf("the request is shown as %v", v)
	}
}

// A program that ends is started again, on the same disk; a pod that is stopped and
// started has a new one.
func TestProgramsAreStartedAgain(t *testing.T) {
	r := start(t)
	id := r.create(sh("echo x >> runs; sleep 0.01; exit 3", nil))
	testkit.Eventually(t, "it was started again twice", func() bool { return r.Pods()[0].Restarts >= 2 })
	if p := r.Pods()[0]; p.Status != "RUNNING" || !p.Live() {
		t.Errorf("%+v", p)
	}
	if n := strings.Count(r.file(id, "runs"), "x"); n < 2 {
		t.Errorf("%d runs on this disk", n)
	}
	sleeper := r.create(sh("echo x >> runs; sleep 1000", nil))
	testkit.Eventually(t, "it ran", func() bool { return r.file(sleeper, "runs") == "x\n" })
	r.Kill(sleeper)
	testkit.Eventually(t, "it was started again", func() bool { return r.Pods()[1].Restarts == 1 })
	testkit.Eventually(t, "it ran again on its disk", func() bool { return strings.Count(r.file(sleeper, "runs"), "x") == 2 })
	before := r.Machine(sleeper).Folder("/workspace")
	r.do(200, "POST", "/v2/pods/"+sleeper+"/action", object{"action": "stop"})
	r.do(200, "POST", "/v2/pods/"+sleeper+"/action", object{"action": "start"})
	testkit.Eventually(t, "another machine", func() bool { m := r.Machine(sleeper); return m != nil && m.Folder("/workspace") != before })
	testkit.Eventually(t, "it ran on a new disk", func() bool { return r.file(sleeper, "runs") == "x\n" })
}

const deleteItself = `
import os, urllib.request
def call(method, pod):
    req = urllib.request.Request(os.environ["API"] + "/v2/pods/" + pod, method=method)
    req.add_header("Authorization", "Bearer " + os.environ["RUNPOD_API_KEY"])
    req.add_header("User-Agent", "seer")
    try:
        return urllib.request.urlopen(req).status
    except urllib.error.HTTPError as e:
        return e.code
print(call("DELETE", os.environ["OTHER"]), call("GET", ""), call("GET", os.environ["RUNPOD_POD_ID"]), flush=True)
open("said", "w").write("yes")
call("DELETE", os.environ["RUNPOD_POD_ID"])
import time
time.sleep(1000)
`

func TestAPodEndsItself(t *testing.T) {
	r := start(t)
	other := r.create(nil)
	id := r.create(object{"args": "python3 -c " + quote(deleteItself), "env": object{"API": r.URL(), "OTHER": other}})
	testkit.Eventually(t, "it is gone", func() bool { return len(r.Live()) == 1 && r.Machine(id) == nil })
	if r.Live()[0].ID != other {
		t.Error("it ended another")
	}
}

func TestTheKeyOfAPod(t *testing.T) {
	r := start(t)
	id, other := r.create(sh("echo $RUNPOD_API_KEY > t; mv t key; sleep 1000", nil)), r.create(nil)
	key := strings.TrimSpace(r.file(id, "key"))
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/v2/pods/" + id, 200},
		{"GET", "/v2/pods/" + other, 403},
		{"DELETE", "/v2/pods/" + other, 403},
		{"GET", "/v2/pods", 403},
		{"POST", "/v2/pods", 403},
		{"GET", "/v2/catalog/gpus", 403},
		{"DELETE", "/v2/pods/" + id, 204},
		{"DELETE", "/v2/pods/" + id, 401},
	} {
		if a := r.send(key, c.method, c.path, nil); a.status != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, a.status, c.want)
		}
	}
}

func TestNetworkVolume(t *testing.T) {
	r := start(t)
	r.do(400, "POST", "/v2/network-volumes", object{"name": "v", "size": 10, "dataCenter": "US-TX-3"})
	v := r.do(201, "POST", "/v2/network-volumes", object{"name": "v", "size": 10, "dataCenter": "EU-RO-1"})
	volume := v["id"].(string)
	if v["type"] != "STANDARD" {
		t.Errorf("%v", v)
	}
	mounts := object{"mounts": object{"network": []object{{"volumeId": volume, "path": "/workspace"}}}}
	r.noRoom(object{"mounts": mounts["mounts"], "dataCenterIds": []string{"US-KS-2"}})
	id := r.create(sh("echo $RUNPOD_VOLUME_ID > t; mv t here; sleep 1000", mounts))
	if p := r.pod(id); p["dataCenterId"] != "EU-RO-1" {
		t.Errorf("%v", p)
	}
	testkit.Eventually(t, "it runs", func() bool { return r.Machine(id) != nil })
	if got := r.Machine(id).Folder("/workspace"); got != r.VolumeDir(volume) {
		t.Errorf("/workspace is %s", got)
	}
	r.do(400, "DELETE", "/v2/network-volumes/"+volume, nil)
	if err := os.WriteFile(filepath.Join(r.VolumeDir(volume), "kept"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.do(204, "DELETE", "/v2/pods/"+id, nil)
	testkit.Eventually(t, "its machine is gone", func() bool { return r.Machine(id) == nil })
	if _, err := os.Stat(filepath.Join(r.VolumeDir(volume), "kept")); err != nil {
		t.Error(err)
	}
}

func TestImages(t *testing.T) {
	r := start(t, func(o *fakerunpod.Options) { o.LateImages = true })
	id := r.create(object{"image": "ghcr.io/x/no-such:1"})
	r.awaitStatus(id, "ERROR")
	if len(r.Live()) != 1 {
		t.Error("a pod in ERROR costs nothing")
	}
	bad := r.create(object{"args": "/no/such/program"})
	r.awaitStatus(bad, "ERROR")
	r.do(200, "POST", "/v2/pods/"+bad+"/action", object{"action": "start"})
	r.awaitStatus(bad, "ERROR")
	r.do(204, "DELETE", "/v2/pods/"+bad, nil)
}
