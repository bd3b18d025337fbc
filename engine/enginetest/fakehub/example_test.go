package fakehub_test

import (
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

// A client sees what it does when the Hub limits it.
func Example() {
	hub, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{{
		ID: "org/name",
		Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"model.safetensors": {Content: fakehub.Random(1<<20, 1), Kind: fakehub.Xet},
		}}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer hub.Close()
	hub.Inject(fakehub.Fault{Call: fakehub.Resolve, Status: 429, Times: 1})

	for range 2 {
		resp, err := http.Get(hub.URL(fakehub.API) + "/org/name/resolve/main/model.safetensors")
		if err != nil {
			log.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil {
			log.Fatal(err)
		}
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, n)
	}
	fmt.Println(hub.Count(fakehub.CDN).Bytes)
	// Output:
	// 429 24
	// 200 1048576
	// 1048576
}
