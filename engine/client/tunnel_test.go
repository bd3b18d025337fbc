package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
)

// TestTunnelErrors has something before the machine, or the machine itself, refuse
// a connection.
func TestTunnelErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		ours   bool
		body   string
		code   protocol.Code
		ended  bool
		says   string
	}{
		"wrong token":         {401, true, `{"error":{"code":"unauthorized","message":"the token is not valid here"}}`, protocol.Unauthorized, false, "not valid here"},
		"another version":     {426, true, `{"error":{"code":"unsupported","message":"this version of the link is not known here"}}`, protocol.Unsupported, false, "version"},
		"an old runtime":      {404, false, `{"error":{"code":"not_found","message":"the runtime has no GET /v1/link"}}`, protocol.Unsupported, false, "start the sandbox again"},
		"no websockets":       {403, false, "<html>forbidden</html>", protocol.Unsupported, false, "does not let websockets pass"},
		"a machine that ends": {404, false, "<html>no such pod</html>", protocol.Unavailable, true, "does not know the machine"},
		"a hiccup":            {524, false, "", protocol.Unavailable, false, "does not get through"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.ours {
					w.Header().Set(resumable.Marker, "1")
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer srv.Close()
			client, err := New(srv.URL, "token")
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			patient := &tunnel{endpoint: client.endpoint, token: "token", http: client.plain, patience: 10 * time.Millisecond}
			client.dial = patient.dial
			client.http = newHTTP(client.endpoint.over(client.dial))
			for _, err := range []error{errorOf(client.Dial(t.Context())), errorOf(client.Health(t.Context()))} {
				if protocol.CodeOf(err) != c.code || Ended(err) != c.ended || !strings.Contains(err.Error(), c.says) {
					t.Errorf("code %s, ended %v: %v", protocol.CodeOf(err), Ended(err), err)
				}
			}
		})
	}
}

func errorOf[T any](_ T, err error) error { return err }

// TestPushGoesOn cuts requests of a push and has others answered by the tunnel.
func TestPushGoesOn(t *testing.T) {
	data := strings.Repeat("seer", 700_000)
	path := t.TempDir() + "/runtime"
	writeTestFile(t, path, data)
	fake := &fakeLoader{faults: []string{"", "cut", "502", "", "half", "404", "cut"}}
	srv := httptest.NewServer(fake)
	defer srv.Close()
	client, err := New(srv.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var last int64
	p, err := openPush(path, func(sent, total int64) {
		if total != int64(len(data)) {
			t.Errorf("a total of %d", total)
		}
		last = sent
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.file.Close()
	if err := (loader{client.transport}).push(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if string(fake.have) != data || last != int64(len(data)) {
		t.Errorf("%d bytes arrived, the last report was %d", len(fake.have), last)
	}
	if len(fake.faults) > 0 {
		t.Errorf("faults that were not met: %v", fake.faults)
	}
}

func TestNextPiece(t *testing.T) {
	for _, c := range []struct {
		piece int64
		took  time.Duration
		want  int64
	}{
		{firstPiece, time.Second, 2 * firstPiece}, {firstPiece, 5 * time.Second, firstPiece}, {firstPiece, time.Minute, firstPiece / 2},
		{maxPiece, time.Second, maxPiece}, {minPiece, time.Minute, minPiece},
	} {
		if got := nextPiece(c.piece, c.took); got != c.want {
			t.Errorf("%d after %v: %d", c.piece, c.took, got)
		}
	}
}
