package modal_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/plugins/provider-modal/modal"
	"github.com/seer-engine/seer/sdk"
)

// newCloud is a fake Modal, which ends with the test.
func newCloud(t *testing.T, o fakemodal.Options) *fakemodal.Cloud {
	t.Helper()
	o.Dir = t.TempDir()
	o.Grace = 100 * time.Millisecond
	cloud := fakemodal.New(o)
	testkit.Start(t, cloud)
	return cloud
}

// newProvider is one that reaches the cloud as the host would let it: with the token
// put in, and to hosts of machines without TLS.
func newProvider(t *testing.T, cloud *fakemodal.Cloud, settings ...string) *modal.Provider {
	t.Helper()
	values := map[string]string{"server_url": cloud.URL(), "sandbox_v2": "true", "snapshot_days": "30"}
	for i := 0; i < len(settings); i += 2 {
		values[settings[i]] = settings[i+1]
	}
	d := newDialer(t, cloud.Env())
	return &modal.Provider{Settings: func() (map[string]string, error) { return values, nil }, Dial: d.dial}
}

// withToken is a provider for which the host puts in another token.
func withToken(t *testing.T, cloud *fakemodal.Cloud, token fakemodal.Token) *modal.Provider {
	t.Helper()
	p := newProvider(t, cloud)
	p.Dial = newDialer(t, map[string]string{"MODAL_TOKEN_ID": token.ID, "MODAL_TOKEN_SECRET": token.Secret}).dial
	return p
}

func newDialer(t *testing.T, env map[string]string) *dialer {
	d := &dialer{env: env, conns: map[string]*grpc.ClientConn{}}
	t.Cleanup(d.close)
	return d
}

// slow is a server that answers a method only after some time. Who leaves earlier gets
// nothing, and neither does a machine or copy come of it. No time passes in a test.
type slow struct {
	grpc.ClientConnInterface
	method string
	takes  time.Duration
}

func (s slow) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if deadline, ok := ctx.Deadline(); ok && strings.HasSuffix(method, "/"+s.method) && time.Until(deadline) < s.takes {
		return status.Error(codes.DeadlineExceeded, "the caller has left")
	}
	return s.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

// slowly makes the provider's server slow at a method.
func slowly(p *modal.Provider, method string, takes time.Duration) {
	dial := p.Dial
	p.Dial = func(target string) (grpc.ClientConnInterface, error) {
		conn, err := dial(target)
		return slow{conn, method, takes}, err
	}
}

type dialer struct {
	env   map[string]string
	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

func (d *dialer) dial(target string) (grpc.ClientConnInterface, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if conn := d.conns[target]; conn != nil {
		return conn, nil
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return next(d.authorize(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return next(d.authorize(ctx), desc, cc, method, opts...)
		}))
	d.conns[target] = conn
	return conn, err
}

// authorize does the host's part.
func (d *dialer) authorize(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy()
	if len(md.Get("x-modal-token-id")) > 0 {
		md.Set("x-modal-token-id", d.env["MODAL_TOKEN_ID"])
		md.Set("x-modal-token-secret", d.env["MODAL_TOKEN_SECRET"])
	}
	return metadata.NewOutgoingContext(ctx, md)
}

func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range d.conns {
		_ = conn.Close()
	}
}

// newSpec is a machine that does nothing for a while.
func newSpec() sdk.MachineSpec {
	return sdk.MachineSpec{
		Key: "seer-" + strings.ToLower(rand.Text()[:20]), Owner: "owner-1", Name: "trial",
		Command: []string{"python3", "-c", "import time; time.sleep(600)"},
		Env:     map[string]string{"SEER_TRIAL": "1"},
		Port:    8000, TimeoutSeconds: 600, EndUnix: time.Now().Add(10 * time.Minute).Unix(),
	}
}

func live(cloud *fakemodal.Cloud) (out []fakemodal.Machine) {
	for _, m := range cloud.Machines() {
		if m.State != fakemodal.Ended && m.State != fakemodal.Ending {
			out = append(out, m)
		}
	}
	return out
}

func setFaults(t *testing.T, cloud *fakemodal.Cloud, f fakemodal.Faults) {
	t.Helper()
	if err := cloud.SetFaults(f); err != nil {
		t.Fatal(err)
	}
}
