package fakerunpod_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestLifeOfAPod(t *testing.T) {
	r := start(t)
	made := r.do(http.StatusCreated, "POST", "/v2/pods", request(object{"env": object{"K": "V"}}))
	id := made["id"].(string)
	if made["status"] != "PROVISIONING" || made["runtime"] != nil || made["startedAt"] != nil || made["cost"] != 0.43 || made["dataCenterId"] != "US-KS-2" {
		t.Errorf("made: %v", made)
	}
	if strings.ToLower(id) != id || len(id) < 10 || len(id) > 14 {
		t.Errorf("id %q", id)
	}
	r.awaitUp(id)
	p := r.pod(id)
	if p["status"] != "RUNNING" || p["startedAt"] == nil || p["env"].(object)["K"] != "V" || len(p["actions"].([]any)) != 3 {
		t.Errorf("running: %v", p)
	}
	if list := r.do(200, "GET", "/v2/pods", nil)["pods"].([]any); len(list) != 1 || list[0].(object)["id"] != id {
		t.Errorf("list: %v", list)
	}
	stopped := r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "stop"})
	if stopped["status"] != "EXITED" || stopped["cost"] != 0.0 || stopped["runtime"] != nil || len(r.Live()) != 0 {
		t.Errorf("stopped: %v", stopped)
	}
	r.do(http.StatusConflict, "POST", "/v2/pods/"+id+"/action", object{"action": "stop"})
	r.do(http.StatusConflict, "POST", "/v2/pods/"+id+"/action", object{"action": "restart"})
	r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "start"})
	r.awaitUp(id)
	r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "restart"})
	r.awaitUp(id)
	r.do(http.StatusNoContent, "DELETE", "/v2/pods/"+id, nil)
	r.do(http.StatusNotFound, "GET", "/v2/pods/"+id, nil)
	r.do(http.StatusNotFound, "DELETE", "/v2/pods/"+id, nil)
	if pods := r.Pods(); len(pods) != 1 || pods[0].Status != "TERMINATED" || pods[0].Live() || pods[0].Billed <= 0 {
		t.Errorf("pods: %+v", pods)
	}
}

func TestStatesTakeTime(t *testing.T) {
	order := []string{"PROVISIONING", "STARTING", "RUNNING", "up"}
	for each := 30 * time.Millisecond; ; each *= 8 { // a slow computer may not look in it
		r := start(t, func(o *fakerunpod.Options) { o.Delays.Provision, o.Delays.Start, o.Delays.Pull = each, each, each })
		id := r.create(nil)
		var seen []string
		testkit.Eventually(t, "it runs", func() bool {
			p := r.pod(id)
			state := p["status"].(string)
			if p["runtime"] != nil {
				state = "up"
			}
			if !slices.Contains(seen, state) {
				seen = append(seen, state)
			}
			return state == "up"
		})
		if slices.Equal(seen, order) {
			return
		}
		if each > 10*time.Second || !slices.IsSortedFunc(seen, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) {
			t.Fatalf("states of %v each: %q", each, seen)
		}
	}
}
