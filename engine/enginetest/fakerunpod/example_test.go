package fakerunpod_test

import (
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

// A pod is made although RunPod answers that something went wrong.
func Example() {
	cloud, err := fakerunpod.New(fakerunpod.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	cloud.Inject(fakerunpod.Fault{Method: "POST", Path: "/v2/pods", After: true, Status: 500, Times: 1})

	body := `{"name":"p","image":"python:3.12","gpu":{"id":"NVIDIA L4","count":1}}`
	req, err := http.NewRequest("POST", cloud.Env()["RUNPOD_API_BASE_URL"]+"/v2/pods", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+cloud.Env()["RUNPOD_API_KEY"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, len(cloud.Live()))
	// Output: 500 1
}
