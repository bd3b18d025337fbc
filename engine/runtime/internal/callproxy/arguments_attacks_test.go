package callproxy

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/internal/attack"
)

// TestAttacksOnArguments fills the disk with arguments of calls that never begin.
func TestAttacksOnArguments(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "argument-pieces-of-one-token", Want: "those of one token may have", Try: func(t *testing.T, defended bool) error {
			a := newArguments(t, defended)
			for i := range 10 {
				if err := a.send("t-guest", i, 1<<20); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "argument-pieces-of-many-tokens", Want: "those of all tokens but main", Try: func(t *testing.T, defended bool) error {
			a := newArguments(t, defended)
			for i := range 10 {
				if err := a.send(fmt.Sprintf("t-guest%d", i), i, 1<<20); err != nil {
					return err
				}
			}
			return nil
		}},
	})
}

type argumentsUnderTest struct {
	arguments
	dir string
}

func newArguments(t *testing.T, defended bool) *argumentsUnderTest {
	a := &argumentsUnderTest{dir: t.TempDir()}
	a.quota.most = argumentBytes{token: 3 << 20, guests: 5 << 20}
	if !defended {
		a.quota.most = argumentBytes{token: math.MaxInt64 / 2, guests: math.MaxInt64 / 2}
	}
	t.Cleanup(a.close)
	return a
}

func (a *argumentsUnderTest) send(token string, n, size int) error {
	p, err := a.obtain(argumentsKey("tools", token, fmt.Sprintf("call-%06d", n)), a.dir)
	if err != nil {
		return err
	}
	_, err = p.take(0, bytes.NewReader(make([]byte, size)))
	return err
}

func TestArgumentsAreGivenBack(t *testing.T) {
	a := newArguments(t, true)
	full := func(token string) bool { return a.send(token, 99, 3<<20) != nil }
	if err := a.send("t-a", 1, 2<<20); err != nil {
		t.Fatal(err)
	}
	if !full("t-a") {
		t.Error("a token has more than its share")
	}
	if err := a.send("main", 1, 20<<20); err != nil {
		t.Errorf("main has no room: %v", err)
	}
	if err := a.send("t-a", 1, 2<<20); err != nil {
		t.Errorf("a repeat takes room: %v", err)
	}
	a.drop(argumentsKey("tools", "t-a", "call-000099"))

	// A call that reads them holds the file, whoever gives them up.
	p, err := a.obtain(argumentsKey("tools", "t-a", "call-000001"), "")
	if err != nil {
		t.Fatal(err)
	}
	args, err := p.read(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	a.dropOwner(argumentsOwner("tools", "t-a"))
	if _, err := p.take(0, strings.NewReader("late")); protocol.CodeOf(err) != protocol.Unavailable {
		t.Errorf("a piece for what was given up: %v", err)
	}
	if !full("t-a") {
		t.Error("the bytes of a call that still reads them count no more")
	}
	a.dropOwner(argumentsOwner("tools", "t-a"))
	args.close()
	args.close()
	if full("t-a") {
		t.Error("what was given up still counts")
	}
	a.dropOwner("tools\x00")
	if len(a.table) != 0 || len(a.quota.held) != 0 {
		t.Errorf("%v %v", a.table, a.quota.held)
	}
}

// A request that carries its arguments itself counts as pieces do.
func TestArgumentsOfRequestsCount(t *testing.T) {
	q := &quota{most: argumentBytes{token: 1 << 20, guests: 8 << 20}}
	s := &store{dir: t.TempDir(), quota: q, owner: argumentsOwner("tools", "t-a")}
	if _, err := s.Write(make([]byte, 900<<10)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Write(make([]byte, 900<<10))
	if protocol.CodeOf(err) != protocol.NoSpace || statusOf(t, err) != http.StatusInsufficientStorage {
		t.Errorf("%v", err)
	}
	s.close()
	if len(q.held) != 0 {
		t.Errorf("%v", q.held)
	}
}

func statusOf(t *testing.T, err error) int {
	t.Helper()
	w := &statusRecorder{header: http.Header{}}
	httpx.WriteError(w, err)
	return w.status
}

type statusRecorder struct {
	header http.Header
	status int
}

func (r *statusRecorder) Header() http.Header         { return r.header }
func (r *statusRecorder) WriteHeader(status int)      { r.status = status }
func (r *statusRecorder) Write(p []byte) (int, error) { return len(p), nil }
