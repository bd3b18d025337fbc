// Package modal rents machines on Modal: a sandbox of Modal's is a machine, an
// image of Modal's is a file system. It works with Modal's own SDK; where the SDK
// would wait long (builds, queues, snapshots) it asks in short steps instead.
package modal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/seer-engine/seer/sdk"
)

// Name is the value of `provider:` in an experiment.
const Name = "modal"

// Provider implements [sdk.Provider] and [sdk.Snapshotter]. It is safe for
// concurrent use. Its connection is made at the first call that needs one.
type Provider struct {
	// Settings are the values of the manifest's settings.
	Settings func() (map[string]string, error)
	// Dial gives the connection to a server, https://host[:port] or http://host:port.
	// It is asked once for Modal itself, and for the machine's host at each snapshot.
	// The hosts of a fake Modal speak without TLS, whatever their addresses say.
	Dial func(target string) (grpc.ClientConnInterface, error)
	// Logger gets what the SDK and Modal have to say; nil = nobody.
	Logger *slog.Logger
	// Now is the time; nil is the clock.
	Now func() time.Time

	mu      sync.Mutex
	session *session
}

var (
	_ sdk.Provider    = (*Provider)(nil)
	_ sdk.Snapshotter = (*Provider)(nil)
)

const (
	callTime       = 10 * time.Second // for one call of the contract, but for what follows
	createTime     = 10 * time.Minute // for a creation, which may be answered only when the machine has its place
	maxLifeSeconds = 24 * 60 * 60     // Modal's own limit
)

// Describe implements [sdk.Provider].
func (p *Provider) Describe(context.Context) (sdk.ProviderInfo, error) {
	list, err := builtIn()
	if err != nil {
		return sdk.ProviderInfo{}, err
	}
	return sdk.ProviderInfo{
		Name:  Name,
		Title: "Modal",
		Features: []sdk.Feature{
			sdk.FeatureBuild, sdk.FeatureTags, sdk.FeatureVolumes, sdk.FeatureSnapshot, sdk.FeatureSelfEnd,
		},
		GPUs:              list.names(),
		PollSeconds:       1,
		MaxTimeoutSeconds: maxLifeSeconds,
	}, nil
}

// open returns the connection to Modal.
func (p *Provider) open() (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		return p.session, nil
	}
	values, err := p.Settings()
	if err != nil {
		return nil, err
	}
	set, err := parseSettings(values)
	if err != nil {
		return nil, err
	}
	s := &session{settings: set, dial: p.Dial, now: p.Now}
	if s.now == nil {
		s.now = time.Now
	}
	logger := p.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if err := s.connect(logger); err != nil {
		return nil, err
	}
	p.session = s
	return s, nil
}
