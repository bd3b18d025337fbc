package kubernetes

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	k := newKube()
	k.node("n1", "NVIDIA-A100-SXM4-40GB", 8)
	full := `pods "x" is forbidden: exceeded quota: gpu-quota, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4`
	sdktest.Provider(t, sdktest.ProviderKit{
		Open:     func(c *http.Client) sdk.Provider { return &Provider{&wired{client: c, exec: k.probe}} },
		World:    sdktest.NewWorld(direct{k}),
		Query:    sdk.OfferQuery{CPU: 2},
		Supports: []sdktest.Part{sdktest.PartDisk, sdktest.PartPorts, sdktest.PartImage, sdktest.PartPython, sdktest.PartNetwork},
		Machines: k.machines,
		SoldOut: func() func() {
			set := func(f func(string, string, object) (int, object)) {
				k.mu.Lock()
				defer k.mu.Unlock()
				k.refuse = f
			}
			set(func(method, path string, _ object) (int, object) {
				if method == "POST" && strings.HasSuffix(path, "/pods") {
					return failure(403, "Forbidden", full)
				}
				return 0, nil
			})
			return func() { set(nil) }
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			k.mu.Lock()
			k.now = k.now.Add(d)
			k.mu.Unlock()
			return ctx.Err()
		},
		Quick: os.Getenv("SEER_SOAK") == "",
	})
	if left := append(k.has("pods"), k.has("networkpolicies")...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// machines are the pods as the kit knows them.
func (k *kube) machines() (all []sdktest.Machine) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, o := range k.objects {
		if !strings.HasPrefix(path, namespacePath+"/pods/") {
			continue
		}
		c := o["spec"].(object)["containers"].([]any)[0].(object)
		m := sdktest.Machine{Handle: "agents/" + o["metadata"].(object)["name"].(string) + "@lab", Env: map[string]string{}, Live: true}
		for _, word := range c["command"].([]any) {
			m.Command = append(m.Command, word.(string))
		}
		for _, v := range c["env"].([]any) {
			value, _ := v.(object)["value"].(string)
			m.Env[v.(object)["name"].(string)] = value
		}
		m.Port = int(c["ports"].([]any)[0].(object)["containerPort"].(float64))
		all = append(all, m)
	}
	return all
}
