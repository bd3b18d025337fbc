package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/seer-engine/seer/internal/bootid"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// signed is a server whose addresses are good for some requests.
func signed(t *testing.T, uses int64) (*origin, func(context.Context, File) (Source, error), *atomic.Int64) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 24*block)})
	var signature, used atomic.Int64
	signature.Store(1)
	o.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if r.URL.RawQuery != fmt.Sprint(signature.Load()) || used.Add(1) > uses {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	return o, func(_ context.Context, f File) (Source, error) {
		next := signature.Add(1)
		used.Store(0)
		return Whole(fmt.Sprintf("%s/f?%d", o.URL, next), nil, f.Size), nil
	}, &signature
}

func TestSignatureExpires(t *testing.T) {
	o, renew, signature := signed(t, firstConnections+1) // so some of the first requests have ended
	f := o.file("f")
	f.Source = Whole(o.URL+"/f?1", nil, f.Size)
	dir, opt := t.TempDir(), Options{}
	var paused *PausedError
	err := get(t, dir, f)
	if !errors.As(err, &paused) || paused.Done == 0 || paused.Total != f.Size || sdk.CodeOf(err) != sdk.Unavailable {
		t.Fatalf("error = %v", err)
	}
	sent := o.sent.Load()
	opt = options(dir)
	opt.Renew = renew
	f.Source = Source{}
	if err := Download(context.Background(), []File{f}, opt); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
	if signature.Load() < 3 {
		t.Errorf("the address was renewed %d times", signature.Load()-1)
	}
	if again := o.sent.Load() - sent; again > f.Size-paused.Done+4*bufferSize {
		t.Errorf("%d bytes were sent after the pause, and %d were missing", again, f.Size-paused.Done)
	}
}

func TestTimeIsOver(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 1000)})
	f, clock := o.file("f"), newClock()
	f.Source.Expires = clock.Now()
	err := Download(context.Background(), []File{f}, Options{Dir: t.TempDir(), Stall: fakeStall, block: block, clock: clock})
	if paused := (*PausedError)(nil); !errors.As(err, &paused) || o.requests.Load() != 0 {
		t.Errorf("%d requests, error = %v", o.requests.Load(), err)
	}
	renewed := 0
	err = Download(context.Background(), []File{f}, Options{Dir: t.TempDir(), Stall: fakeStall, block: block, clock: clock, Renew: func(_ context.Context, f File) (Source, error) {
		if renewed++; renewed == 1 {
			return Source{}, sdk.Errorf(sdk.Unavailable, "not now")
		}
		return o.file("f").Source, nil
	}})
	if err != nil || renewed != 2 {
		t.Errorf("renewed %d times, error = %v", renewed, err)
	}
}

// TestRefusedForGood has a server accept no new address.
func TestRefusedForGood(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 8*block)})
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		if n > 1 {
			w.WriteHeader(http.StatusForbidden)
		}
		return n > 1
	}
	opt := options(t.TempDir())
	opt.Renew = func(context.Context, File) (Source, error) { return o.file("f").Source, nil }
	if err := Download(context.Background(), []File{o.file("f")}, opt); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("error = %v", err)
	}
}

func TestCancelKeepsWhatHasArrived(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 8*block)})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		switch {
		case n <= 2:
			return false
		case n == firstConnections+1: // so one of the first two is complete
			cancel()
		}
		<-r.Context().Done()
		return true
	}
	dir := t.TempDir()
	if err := Download(ctx, []File{o.file("f")}, options(dir)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("an incomplete file has its name")
	}
	s := newSidecar(filepath.Join(dir, "f.incomplete.ranges"), o.file("f"))
	if err := s.load(); err != nil || len(s.recorded) == 0 {
		t.Fatalf("nothing is recorded: %v", err)
	}
	testkit.Eventually(t, "the cancelled requests ended", func() bool { return o.running.Load() == 0 })
	o.fault = nil
	before := o.sent.Load()
	if err := get(t, dir, o.file("f")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, o.files)
	if sent := o.sent.Load() - before; sent != 8*block-s.recorded.bytes() {
		t.Errorf("%d bytes were sent, and %d were missing", sent, 8*block-s.recorded.bytes())
	}
}

// TestWrittenBeforeTheSystemStarted downloads again what may not have reached the disk, and
// only that.
func TestWrittenBeforeTheSystemStarted(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 4*block)})
	f := o.file("f")
	for boot, want := range map[string]int64{bootid.Read(): block, "0123abcd": 3 * block} {
		s := newSidecar("", f)
		lines := string(s.header) + string(formatLine(span{0, block}, "")) + string(formatLine(span{block, 3 * block}, boot))
		dir := t.TempDir()
		err := errors.Join(os.WriteFile(dir+"/f.incomplete", o.files["f"][:3*block], 0o600), os.WriteFile(dir+"/f.incomplete.ranges", []byte(lines), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		before := o.sent.Load()
		if err := get(t, dir, f); err != nil {
			t.Fatal(err)
		}
		wantFiles(t, dir, o.files)
		if sent := o.sent.Load() - before; sent != want {
			t.Errorf("start %q: %d bytes were sent, want %d", boot, sent, want)
		}
	}
}

// TestDamagedLeftovers continues from files that do not fit, and ends with the right one.
func TestDamagedLeftovers(t *testing.T) {
	o := newOrigin(t, map[string][]byte{"f": content("f", 2*block)})
	f := o.file("f")
	full := newSidecar("", f)
	done := string(full.header) + string(formatLine(span{0, 2 * block}, ""))
	half := string(full.header) + string(formatLine(span{0, block}, ""))
	other := newSidecar("", File{Size: f.Size})
	for name, tc := range map[string]struct{ data, sidecar string }{
		"wrong bytes":      {string(content("g", 2*block)), done},
		"half of the file": {string(o.files["f"][:block]), done},
		"too long":         {string(content("f", 3*block)), half},
		"of another file":  {string(content("g", 2*block)), string(other.header) + string(formatLine(span{0, block}, ""))},
		"torn record":      {string(o.files["f"][:block]), half + "262144 52"},
		"false record":     {string(content("g", 2*block)), string(full.header) + "0 524288 00000000\n"},
		"no record":        {string(o.files["f"][:block]), ""},
		"garbage":          {"x", "garbage\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := errors.Join(os.WriteFile(dir+"/f.incomplete", []byte(tc.data), 0o600), os.WriteFile(dir+"/f.incomplete.ranges", []byte(tc.sidecar), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			if err := get(t, dir, f); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, o.files)
		})
	}
}

// A file in the folder counts if its size is right, or, in doubt, if its content is.
func TestDoubt(t *testing.T) {
	data := content("doubt", 3*block)
	for name, tc := range map[string]struct {
		there   []byte
		doubt   bool
		fetched bool
	}{
		"right":           {data, true, false},
		"wrong":           {make([]byte, len(data)), true, true},
		"wrong, no doubt": {make([]byte, len(data)), false, false},
		"another size":    {data[1:], true, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, map[string][]byte{"a": data, "git": data})
			dir := t.TempDir()
			plan := []File{o.file("a"), gitFile(o.file("git"), data)}
			for _, f := range plan {
				if err := os.WriteFile(filepath.Join(dir, f.Path), tc.there, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Download(t.Context(), plan, Options{Dir: dir, Doubt: tc.doubt}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, "a"))
			if err != nil || bytes.Equal(got, data) == (name == "wrong, no doubt") {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if fetched := o.sent.Load() > 0; fetched != tc.fetched {
				t.Errorf("%d bytes were sent", o.sent.Load())
			}
		})
	}
}
