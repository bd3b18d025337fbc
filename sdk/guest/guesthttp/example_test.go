package guesthttp_test

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
)

// An implementation takes its client, so that it is tested natively with another.
func Example() {
	type machine struct{ ID string }
	list := func(ctx context.Context, client *http.Client, server string) ([]machine, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/v1/machines", nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, sdk.Errorf(sdk.Internal, "listing machines: %s", resp.Status)
		}
		var all []machine
		return all, json.NewDecoder(resp.Body).Decode(&all)
	}
	_, _ = list(context.Background(), &http.Client{Transport: guesthttp.Transport{}}, "https://api.example.org")
}
