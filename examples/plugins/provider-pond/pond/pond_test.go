package pond_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/examples/plugins/pond-simulator/pondcloud"
	"github.com/seer-engine/seer/examples/plugins/provider-pond/pond"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guesthttp"
	"github.com/seer-engine/seer/sdk/sdktest"
)

const key = "seer-0123456789abcdefghij"

// authorized is the host's part: it adds the key.
type authorized string

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(a))
	return http.DefaultTransport.RoundTrip(r)
}

func start(t *testing.T, o pondcloud.Options) (*pond.Provider, *pondcloud.Cloud) {
	t.Helper()
	o.Dir = t.TempDir()
	cloud, err := pondcloud.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	p := pond.New(server.URL)
	p.API.Sender = guesthttp.Over(authorized("pond-key"))
	return p, cloud
}

func spec() sdk.MachineSpec {
	return sdk.MachineSpec{Key: key, Owner: "seer-owner", Command: []string{"sleep", "1000"}, Port: 8080, EndUnix: time.Now().Add(time.Hour).Unix()}
}

// rent makes a machine of an offer.
func rent(t *testing.T, p *pond.Provider, offer string) (sdk.MachineSpec, string) {
	t.Helper()
	s := spec()
	s.Offer = offer
	step, err := p.Create(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, step.Handle
}

// A machine that waits for its turn is pending, and does not run.
func TestAMachineThatIsQueued(t *testing.T) {
	p, _ := start(t, pondcloud.Options{Queue: time.Hour})
	offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "H100"})
	if err != nil || len(offers) != 1 {
		t.Fatalf("%+v, %v", offers, err)
	}
	_, handle := rent(t, p, offers[0].ID)
	if seen, err := p.Observe(t.Context(), []string{handle}); err != nil || len(seen) != 1 || seen[0].State != sdk.Pending {
		t.Errorf("%+v, %v", seen, err)
	}
	if err := p.Terminate(t.Context(), handle); err != nil {
		t.Error(err)
	}
}

func TestAMachineFromItsOfferToItsEnd(t *testing.T) {
	p, cloud := start(t, pondcloud.Options{Queue: 50 * time.Millisecond, Boot: 50 * time.Millisecond})
	offers, err := p.Offers(t.Context(), sdk.OfferQuery{GPU: "H100"})
	if err != nil || len(offers) != 1 || offers[0].GPU != "H100-SXM" || offers[0].CostPerHour != 3.10 || offers[0].ID != "lake" {
		t.Fatalf("%+v, %v", offers, err)
	}
	s, handle := rent(t, p, offers[0].ID)
	again, err := p.Create(t.Context(), s, nil)
	if err != nil || again.Handle != handle || len(cloud.Machines()) != 1 {
		t.Errorf("one key gave %q and %q, %v", handle, again.Handle, err)
	}
	var states []sdk.State
	for deadline := time.Now().Add(time.Minute); !slices.Contains(states, sdk.Running); {
		seen, err := p.Observe(t.Context(), []string{handle, "m-404"})
		if err != nil || len(seen) != 2 || seen[1].State != sdk.Stopped {
			t.Fatalf("%+v, %v", seen, err)
		}
		if states = append(states, seen[0].State); seen[0].State == sdk.Running && (len(seen[0].Endpoints) != 1 || seen[0].Endpoints[0].Port != 8080 || seen[0].CostPerHour != 3.10) {
			t.Errorf("%+v", seen[0])
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v", states)
		}
		time.Sleep(20 * time.Millisecond)
	}
	listed, err := p.List(t.Context(), "seer-owner")
	if err != nil || len(listed) != 1 || listed[0].Key != key || listed[0].EndUnix != s.EndUnix || listed[0].State != sdk.Running {
		t.Errorf("%+v, %v", listed, err)
	}
	if others, err := p.List(t.Context(), "seer-other"); err != nil || len(others) != 0 {
		t.Errorf("%+v, %v", others, err)
	}
	for range 2 {
		if err := p.Terminate(t.Context(), handle); err != nil {
			t.Error(err)
		}
	}
	if err := p.Terminate(t.Context(), "m-404"); err != nil {
		t.Error(err)
	}
	if bill := cloud.Bill(); len(bill.Billing) > 0 || bill.USD <= 0 {
		t.Errorf("%+v", bill)
	}
}

func TestWhatIsNotThereIsRefused(t *testing.T) {
	p, cloud := start(t, pondcloud.Options{})
	for what, change := range map[string]func(*sdk.MachineSpec){
		"disk":      func(s *sdk.MachineSpec) { s.DiskGB = 1 },
		"port":      func(s *sdk.MachineSpec) { s.Ports = []int{1} },
		"volume":    func(s *sdk.MachineSpec) { s.Volumes = []sdk.Volume{{Name: "v"}} },
		"image":     func(s *sdk.MachineSpec) { s.Image = &sdk.Image{Base: "x"} },
		"python":    func(s *sdk.MachineSpec) { s.Image = &sdk.Image{PythonVersion: "3.12"} },
		"network":   func(s *sdk.MachineSpec) { s.Network = "none" },
		"isolation": func(s *sdk.MachineSpec) { s.Isolation = "gvisor" },
		"mount":     func(s *sdk.MachineSpec) { s.Mounts = []sdk.Mount{{Source: "/x"}} },
	} {
		s := spec()
		change(&s)
		if _, err := p.Create(t.Context(), s, nil); sdk.CodeOf(err) != sdk.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, q := range []sdk.OfferQuery{{GPU: "B200"}, {GPU: "*", GPUCount: 2}, {CPU: 999}, {MemoryGB: 999}, {Regions: []string{"west"}}, {DiskGB: 10}} {
		if offers, err := p.Offers(t.Context(), q); err != nil || len(offers) > 0 {
			t.Errorf("%+v: %+v, %v", q, offers, err)
		}
	}
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{Options: []byte(`{"turbo":true}`)}); sdk.CodeOf(err) != sdk.Invalid {
		t.Error(err)
	}
	s := spec()
	s.GPU = "B200"
	if _, err := p.Create(t.Context(), s, nil); sdk.CodeOf(err) != sdk.NoCapacity {
		t.Error(err)
	}
	s.Offer = "lake"
	first, s2 := s, s
	first.Key = key + "x"
	if _, err := p.Create(t.Context(), first, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Create(t.Context(), s2, nil); sdk.CodeOf(err) != sdk.NoCapacity {
		t.Errorf("sold out: %v", err)
	}
	if n := len(cloud.Machines()); n != 1 {
		t.Errorf("%d machines", n)
	}
	p.API.Sender = guesthttp.Over(authorized("wrong"))
	if _, err := p.Offers(t.Context(), sdk.OfferQuery{}); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "https://pond.example/keys") {
		t.Errorf("wrong key: %v", err)
	}
}

// A creation whose answer is lost is made again, and gives the same machine.
func TestALostAnswerCostsNothing(t *testing.T) {
	p, cloud := start(t, pondcloud.Options{Faults: []pondcloud.Fault{{Kind: "lost", Every: 3}, {Kind: "trouble", Every: 4}, {Kind: "cut", Every: 5}}})
	s := spec()
	s.Offer = "puddle"
	got := map[string]bool{}
	for range 12 {
		step, err := p.Create(t.Context(), s, nil)
		if code := sdk.CodeOf(err); err != nil && code != sdk.Unavailable {
			t.Errorf("%v (%s)", err, code)
		}
		if err == nil {
			got[step.Handle] = true
		}
	}
	if len(got) != 1 || len(cloud.Machines()) != 1 {
		t.Errorf("%v, %+v", got, cloud.Machines())
	}
}

func TestConformance(t *testing.T) {
	cloud, err := pondcloud.New(pondcloud.Options{Dir: t.TempDir(), Key: "*", Requests: 1 << 20, Dry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	sdktest.Provider(t, sdktest.ProviderKit{
		Open: func(c *http.Client) sdk.Provider {
			p := pond.New("https://api.pond.example")
			p.API.Sender = guesthttp.Over(c.Transport)
			return p
		},
		Cloud:   cloud,
		SoldOut: cloud.SellOut,
		Machines: func() (all []sdktest.Machine) {
			for _, m := range cloud.Machines() {
				all = append(all, sdktest.Machine{Handle: m.ID, Command: m.Command, Env: m.Env, Port: m.Port, Offer: m.Size, Live: m.State != "ended" && m.State != "failed"})
			}
			return all
		},
		Quick: true,
	})
	if bill := cloud.Bill(); len(bill.Billing) > 0 {
		t.Errorf("still billed: %v", bill.Billing)
	}
}

// The promise is that a provider is short: what counts is every line of both files that
// is neither blank nor a comment.
func TestItIsShort(t *testing.T) {
	lines := 0
	for _, file := range []string{"pond.go", "../main.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line != "" && (!strings.HasPrefix(line, "//") || strings.HasPrefix(line, "//go:")) {
				lines++
			}
		}
	}
	t.Logf("%d lines", lines)
	if lines > 120 {
		t.Errorf("%d lines of Go; the limit is 120", lines)
	}
}
