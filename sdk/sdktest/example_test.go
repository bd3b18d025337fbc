package sdktest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// The whole conformance test of a provider: how it is opened, and what simulates its backend.
func ExampleProvider() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		simulator := &cloud{}
		sdktest.Provider(t, sdktest.ProviderKit{
			Open:     func(c *http.Client) sdk.Provider { return &sample{http: c} },
			Cloud:    simulator,
			Headers:  http.Header{"Authorization": {cloudKey}}, // what the host would add
			Machines: simulator.Machines,                       // what it has got, to look behind the provider's back
			SoldOut:  simulator.SoldOut,
		})
	}
}

// One request goes wrong: the third, after the backend has done its work.
func ExampleWorld_Inject() {
	world := sdktest.NewWorld(sdktest.Serve(http.HandlerFunc(hub)))
	remove := world.Inject(sdktest.Fault{After: 2, Times: 1, Effect: sdktest.AnswerLost()})
	defer remove()
	for range 4 {
		resp, err := world.Client(nil).Get("https://hub.example/models/tiny")
		if err != nil {
			fmt.Println(sdk.CodeOf(err))
			continue
		}
		fmt.Println(resp.StatusCode)
		_ = resp.Body.Close()
	}
	// Output:
	// 200
	// 200
	// unavailable
	// 200
}
