// Package runpod rents machines on RunPod, through its REST API v2: a pod is a
// machine, a network volume is a volume. RunPod builds no images and keeps no tags;
// what has to be found again is in the name of the pod.
package runpod

import (
	"context"
	"net/http"
	"time"

	"github.com/seer-engine/seer/sdk"
)

const (
	// Name is the value of `provider:` in an experiment.
	Name = "runpod"
	// Version is that of the plugin.
	Version = "0.1.0"
)

// Provider implements [sdk.Provider]. It is safe for concurrent use. It remembers
// nothing but what RunPod last said of the limit on requests.
type Provider struct {
	// Settings are the values of the manifest's settings.
	Settings func() (map[string]string, error)
	// Transport makes the requests, and adds the API key to them.
	Transport http.RoundTripper
	// Now is the time; nil is the clock.
	Now func() time.Time

	limits limiter
}

var _ sdk.Provider = (*Provider)(nil)

const (
	callTime = 25 * time.Second // for one call of the contract; the host's limit is 30
	pollTime = 5                // seconds; 60 requests a minute are for all machines of a key
)

// Describe implements [sdk.Provider].
func (p *Provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	return sdk.ProviderInfo{
		Name:        Name,
		Title:       "RunPod",
		Features:    []sdk.Feature{sdk.FeatureVolumes, sdk.FeatureSelfEnd},
		PollSeconds: pollTime,
	}, nil
}

// open reads the settings, which the user may have changed since the last call.
func (p *Provider) open() (*client, error) {
	values, err := p.Settings()
	if err != nil {
		return nil, err
	}
	set, err := parseSettings(values)
	if err != nil {
		return nil, err
	}
	now := p.Now
	if now == nil {
		now = time.Now
	}
	return &client{
		settings: set,
		limits:   &p.limits,
		now:      now,
		// The host follows the redirects that are allowed. What comes through is an answer.
		http: &http.Client{
			Transport:     p.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}
