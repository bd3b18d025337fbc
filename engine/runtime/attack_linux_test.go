package runtime

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
	"github.com/seer-engine/seer/internal/attack"
)

// target is a runtime in this process, whose worker is the one that is shipped.
type target struct {
	*Server
	socket string
	client *client.Client
}

func attacked(t *testing.T, o Options, change func(*Server)) *target {
	t.Helper()
	token, dir := protocol.NewToken(), t.TempDir()
	o.AdminSHA256, o.Scratch, o.Worker, o.WorkerEntry = protocol.HashToken(token), dir, python.Files, python.Main
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	v := &target{Server: s, socket: filepath.Join(dir, "s")}
	l, err := net.Listen("unix", v.socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		s.End("the test is over")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if v.client, err = client.New("unix:"+v.socket, token); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.client.Close)
	return v
}

// serve serves a function that says whether foreign code ran in its worker.
func (v *target) serve(t *testing.T) {
	t.Helper()
	spec := protocol.ServiceSpec{Filename: "interface.py", Code: "import sys\n@expose\ndef stolen(): return hasattr(sys, 'stolen')\n@expose\ndef die():\n  import os\n  os._exit(1)\n",
		TokenSHA256: protocol.HashToken("guest")}
	w, err := v.client.Services().Put(t.Context(), "tools", spec)
	if err == nil {
		_, err = v.client.Services().Wait(t.Context(), "tools", w.Generation)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stolen reports whether it did.
func (v *target) stolen(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		out, err := v.client.Calls().Call(ctx, "tools", "stolen", nil, nil)
		switch {
		case ctx.Err() != nil:
			t.Fatal(err)
		case err != nil: // it is just being started again
			time.Sleep(20 * time.Millisecond)
			continue
		case string(out) == "true":
			return nil
		}
		return errors.New("the worker runs its own code")
	}
}

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "changed-worker", Want: "operation not permitted", Try: changeWorker},
		{Name: "replaced-compiled-worker", Want: "its own code", Try: replaceCompiled},
		{Name: "slow-unauthorized-body", Want: "closed", Try: sendSlowly},
	})
}

// changeWorker writes to the file from which the next worker is started. Each process of
// the same user can open what a worker has open.
func changeWorker(t *testing.T, defended bool) error {
	v := attacked(t, Options{}, func(s *Server) { s.program.Writable = !defended })
	v.serve(t)
	pid := v.services.All()[0].Workers()[0].PID
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", pid, service.ProgramFD), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	program, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	// What follows on the first line becomes a comment.
	first := bytes.Index(program, []byte(`"""Starts a worker`))
	if _, err := f.WriteAt([]byte("import sys;sys.stolen=1#"), int64(first)); err != nil {
		return err
	}
	if _, err := v.client.Calls().Call(t.Context(), "tools", "die", nil, nil); err == nil {
		t.Fatal("the worker lives")
	}
	return v.stolen(t)
}

// replaceCompiled puts bytecode of its own where the runtime looks for that of the worker.
func replaceCompiled(t *testing.T, defended bool) error {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.py")
	if err := os.WriteFile(source, []byte("import sys; sys.stolen = 1\n"+mainSource(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("python3", "-I", "-c", "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[1] + 'c', doraise=True)", source)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	code, err := os.ReadFile(source + "c")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	f, err := w.Create("seer_worker/__pycache__/main.cpython-3.pyc")
	if err == nil {
		_, err = f.Write(code)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "compiled.zip")
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("what the provider put there"))
	o := Options{WorkerCompiled: path, WorkerCompiledSHA256: hex.EncodeToString(sum[:])}
	v := attacked(t, o, func(s *Server) { s.program.Writable = !defended })
	v.serve(t)
	return v.stolen(t)
}

func mainSource(t *testing.T) string {
	t.Helper()
	data, err := python.Files.ReadFile("seer_worker/main.py")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sendSlowly sends a body byte for byte without a token.
func sendSlowly(t *testing.T, defended bool) error {
	v := attacked(t, Options{}, func(s *Server) {
		s.guard.Patience = 50 * time.Millisecond
		if !defended {
			s.guard.Patience = 0
		}
	})
	conn, err := net.Dial("unix", v.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PUT /v1/files?path=/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		_, werr := conn.Write([]byte("x"))
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, rerr := io.Copy(io.Discard, conn)
		if errors.Is(werr, syscall.EPIPE) || !errors.Is(rerr, os.ErrDeadlineExceeded) {
			return errors.New("the connection was closed")
		}
	}
	return nil
}
