package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/seer-engine/seer/engine/plugin/host"
)

// v1Server is where provider-v1 tells what it was given.
type v1Server struct {
	pb.UnimplementedTestServiceServer
	t   *testing.T
	url string

	mu   sync.Mutex
	last json.RawMessage
}

const v1Key, v1Extra = "sk-v1-0123456789", "extra-v1-9876543210"

func serveV1(t *testing.T) *v1Server {
	s := &v1Server{t: t}
	calls := grpc.NewServer()
	pb.RegisterTestServiceServer(calls, s)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{name}", s.tell)
	mux.HandleFunc("POST /v1/upload", s.upload)
	mux.HandleFunc("GET /v1/download", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/deep/down/load", http.StatusFound)
	})
	mux.HandleFunc("GET /v1/deep/down/load", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(v1Bytes()) })
	mux.HandleFunc("GET /v1/deep/a/b", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s arrived", r.Method, r.URL) })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			calls.ServeHTTP(w, r)
			return
		}
		if got := r.Header["Authorization"]; len(got) != 1 || got[0] != "Bearer "+v1Key {
			t.Errorf("%s %s has the credential %q", r.Method, r.URL, got)
		}
		mux.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// options are a user's: the settings and secrets come from variables and a profile.
func (s *v1Server) options() host.Options {
	home := s.t.TempDir()
	profile := "[default]\nzone = \"wrong\"\n[mine]\nactive = true\nzone = \"of mine\"\nkey = \"" + v1Key + "\"\n"
	if err := os.WriteFile(filepath.Join(home, ".seer-v1.toml"), []byte(profile), 0o600); err != nil {
		s.t.Fatal(err)
	}
	env := map[string]string{"SEER_V1_URL": s.url, "SEER_V1_EXTRA": v1Extra}
	return host.Options{Home: home, Env: func(name string) (string, string, bool) {
		value, ok := env[name]
		return value, "the test", ok
	}}
}

func (s *v1Server) tell(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("X-Own") != "kept" || r.Header.Get("X-Extra") != v1Extra || r.ContentLength != int64(len(body)) {
		s.t.Errorf("%v: %d of %d bytes, headers %v", err, len(body), r.ContentLength, r.Header)
	}
	s.mu.Lock()
	s.last = bytes.ReplaceAll(body, []byte(s.url), []byte("{url}"))
	s.mu.Unlock()
	w.Header().Set("x-heard", "yes")
	fmt.Fprintf(w, `{"heard": %q, "of": "tomorrow"}`, r.PathValue("name"))
}

// told is what was told since it was last asked for.
func (s *v1Server) told() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.last = nil }()
	return s.last
}

func v1Bytes() []byte {
	all := make([]byte, 3<<20)
	for i := range all {
		all[i] = byte(i % 251)
	}
	return all
}

func (s *v1Server) upload(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !bytes.Equal(body, v1Bytes()) {
		s.t.Errorf("%d bytes arrived: %v", len(body), err)
	}
	fmt.Fprintf(w, "%x", sha256.Sum256(body))
}

// EmptyCall implements the service.
func (s *v1Server) EmptyCall(ctx context.Context, _ *pb.Empty) (*pb.Empty, error) {
	if md, _ := metadata.FromIncomingContext(ctx); strings.Join(md.Get("x-own"), "") != "kept" || strings.Join(md.Get("authorization"), "") != "Bearer "+v1Key {
		s.t.Errorf("the call's metadata are %v", md)
	}
	return &pb.Empty{}, nil
}

// The real time and real randomness: what they are cannot be frozen.
func TestWorldV1(t *testing.T) {
	server := serveV1(t)
	p, err := openV1(t, server.options()).Provider(context.Background(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Second)
	if err := p.Terminate(context.Background(), "world"); err != nil {
		t.Fatal(err)
	}
	told := decode[struct {
		Now    int64 `json:"now"`
		Date   int64 `json:"date"`
		Random bool  `json:"random"`
	}](t, server.told())
	for _, at := range []time.Time{time.Unix(told.Now, 0), time.UnixMilli(told.Date)} {
		if at.Before(before) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("it is %v", at)
		}
	}
	if !told.Random {
		t.Error("randomness repeats itself")
	}
}

// A plugin of then that never ends, and one that speaks.
func TestEndsV1(t *testing.T) {
	server := serveV1(t)
	o := server.options()
	var log bytes.Buffer // written under the logger's lock, and read when the call is over
	o.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &log, DisableTime: true})
	p, err := openV1(t, o).Provider(context.Background(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Terminate(context.Background(), "log"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[DEBUG] provider-v1: to debug", "[INFO]  provider-v1: to inform", "[WARN]  provider-v1: to warn: ä", "[DEBUG] provider-v1: to print"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := p.Terminate(ctx, "loop"); ctx.Err() == nil || err == nil {
		t.Errorf("an endless loop ended with %v", err)
	}
	if _, err := p.Describe(context.Background()); err != nil {
		t.Errorf("after it: %v", err)
	}
}
