package fakerunpod_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

const l4 = "NVIDIA L4"

// noRoom checks that a request finds no machine.
func (r *rig) noRoom(changes object) {
	r.t.Helper()
	if p := r.do(400, "POST", "/v2/pods", request(changes)); !strings.Contains(p["detail"].(string), "no longer any instances available") {
		r.t.Errorf("%v", p)
	}
}

func TestCapacity(t *testing.T) {
	r := start(t)
	r.Stock(l4, "", 0)
	r.Stock(l4, "EU-RO-1", 2)
	r.noRoom(object{"dataCenterIds": []string{"US-KS-2"}})
	r.noRoom(object{"gpu": object{"id": l4, "count": 3}})
	r.noRoom(object{"gpu": object{"id": l4, "count": 1, "minCudaVersion": "12.11"}})
	r.noRoom(object{"gpu": object{"id": l4, "count": 1, "allowedCudaVersions": []string{"11.8"}}})
	r.noRoom(object{"gpu": object{"id": l4}}) // as users have seen
	r.noRoom(object{"cloud": "COMMUNITY"})    // not sold there
	id := r.create(object{"gpu": object{"id": l4, "count": 2, "allowedCudaVersions": []string{}, "minCudaVersion": "12.5"}})
	if p := r.pod(id); p["dataCenterId"] != "EU-RO-1" || p["cost"] != 0.86 || p["cudaVersion"] != "12.8" {
		t.Errorf("%v", p)
	}
	r.noRoom(nil)
	r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "stop"})
	other := r.create(nil)
	if p := r.do(400, "POST", "/v2/pods/"+id+"/action", object{"action": "start"}); !strings.Contains(p["detail"].(string), "not enough free GPUs") {
		t.Errorf("%v", p)
	}
	r.do(204, "DELETE", "/v2/pods/"+other, nil)
	r.do(200, "POST", "/v2/pods/"+id+"/action", object{"action": "start"})
	r.do(204, "DELETE", "/v2/pods/"+id, nil)
	r.do(204, "DELETE", "/v2/pods/"+r.create(object{"gpu": object{"id": l4, "count": 2}}), nil)
	r.SetBehaviour(fakerunpod.Behaviour{NoCapacity: true})
	r.noRoom(nil)
}

func TestCredit(t *testing.T) {
	r := start(t)
	volume := r.do(201, "POST", "/v2/network-volumes", object{"name": "v", "size": 10, "dataCenter": "EU-RO-1"})["id"]
	kept := r.create(object{"mounts": object{"network": []object{{"volumeId": volume, "path": "/workspace"}}}})
	r.create(nil)
	r.SetCredit(false)
	if len(r.Live()) != 0 || r.pod(kept)["status"] != "EXITED" || len(r.do(200, "GET", "/v2/pods", nil)["pods"].([]any)) != 1 {
		t.Errorf("%+v", r.Pods())
	}
	r.do(402, "POST", "/v2/pods", request(nil))
	r.do(402, "POST", "/v2/pods/"+kept+"/action", object{"action": "start"})
	r.SetCredit(true)
	r.do(200, "POST", "/v2/pods/"+kept+"/action", object{"action": "start"})
}

// byID finds an entry of a list.
func byID(t *testing.T, list any, id string) object {
	t.Helper()
	for _, e := range list.([]any) {
		if e.(object)["id"] == id {
			return e.(object)
		}
	}
	t.Fatalf("%s is not in the list", id)
	return nil
}

func TestCatalogue(t *testing.T) {
	r := start(t)
	plain := byID(t, r.do(200, "GET", "/v2/catalog/gpus", nil)["gpus"], l4)
	if plain["memory"] != 24.0 || plain["price"].(object)["secure"] != 0.43 || plain["manufacturer"] != "NVIDIA" || plain["availability"] != nil || plain["community"] != false {
		t.Errorf("%v", plain)
	}
	r.Stock(l4, "", 0)
	r.Stock(l4, "EU-RO-1", 3)
	const wanted = "?include=AVAILABILITY&product=POD"
	seen := r.do(200, "GET", "/v2/catalog/gpus/NVIDIA%20L4"+wanted, nil)
	places := seen["dataCenters"].([]any)
	if seen["availability"] != "LOW" || len(places) != 1 || places[0].(object)["id"] != "EU-RO-1" || seen["cudaVersions"] == nil {
		t.Errorf("%v", seen)
	}
	none := r.do(200, "GET", "/v2/catalog/gpus/NVIDIA%20L4"+wanted+"&count=4", nil)
	if _, listed := none["dataCenters"]; none["availability"] != "NONE" || listed {
		t.Errorf("%v", none)
	}
	if gpus := r.do(200, "GET", "/v2/catalog/gpus"+wanted+"&countryCodes=SE&cudaVersions=12.4,12.6", nil)["gpus"].([]any); len(gpus) < 10 {
		t.Errorf("in Sweden: %d", len(gpus))
	} else {
		for _, g := range gpus {
			if g.(object)["id"] == l4 {
				t.Error("there is no L4 in Sweden")
			}
		}
	}
	dc := byID(t, r.do(200, "GET", "/v2/catalog/datacenters?include=GPU_AVAILABILITY&regions=EUROPE", nil)["dataCenters"], "EU-RO-1")
	if byID(t, dc["gpuAvailability"], l4)["availability"] != "LOW" || dc["region"] != "EUROPE" {
		t.Errorf("%v", dc)
	}
	cpu := byID(t, r.do(200, "GET", "/v2/catalog/cpus"+wanted, nil)["cpus"], "cpu5c")
	if cpu["availability"] != "HIGH" || cpu["vcpu"].(object)["min"] != 2.0 {
		t.Errorf("%v", cpu)
	}
}

func TestCatalogueParameters(t *testing.T) {
	r := start(t)
	for query, want := range map[string]int{
		"include=AVAILABILITY":                                                 400,
		"product=POD":                                                          400,
		"count=2":                                                              400,
		"cudaVersions=12.4":                                                    400,
		"include=PRICES&product=POD":                                           422,
		"include=AVAILABILITY&product=VPS":                                     422,
		"include=AVAILABILITY&product=POD&count=0":                             422,
		"include=AVAILABILITY&product=POD&cudaVersions=12":                     422,
		"include=AVAILABILITY&product=POD&minCudaVersion=x":                    422,
		"include=AVAILABILITY&product=POD&countryCodes=se":                     422,
		"include=AVAILABILITY&product=POD&cloud=ALL":                           422,
		"include=AVAILABILITY&product=POD&cudaVersions=12.4&minCudaVersion=12": 400,
		"include=AVAILABILITY&product=POD,CLUSTER&minCudaVersion=12&count=8&cloud=SECURE": 200,
		"unknown=is+ignored": 200,
	} {
		if a := r.send(r.key, "GET", "/v2/catalog/gpus?"+query, nil); a.status != want {
			t.Errorf("%s: %d %v", query, a.status, a.body)
		}
	}
}

func TestCPUPod(t *testing.T) {
	r := start(t)
	p := r.do(201, "POST", "/v2/pods", request(object{"gpu": nil, "cpu": object{"id": "cpu5c", "vcpuCount": 4}}))
	if p["cpu"].(object)["memory"] != 8.0 || p["cost"] != 0.14 || p["gpu"] != nil {
		t.Errorf("%v", p)
	}
}
