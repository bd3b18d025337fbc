package engine

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/collect"
	"github.com/seer-engine/seer/engine/lease"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/provision"
)

// Sandbox is a running sandbox. It is safe for concurrent use.
type Sandbox struct {
	engine  *Engine
	id      string
	runtime *client.Client
	lease   *lease.Keeper

	mu      sync.Mutex
	clients []*client.Client // of its services
}

func (e *Engine) sandbox(m provision.Machine) *Sandbox {
	return &Sandbox{engine: e, id: m.Record.ID, runtime: m.Client, lease: m.Lease}
}

// ID is the sandbox's identity: "sb-" and ten characters.
func (s *Sandbox) ID() string { return s.id }

// Runtime is the client of the sandbox's runtime: processes, files and trees.
func (s *Sandbox) Runtime() *client.Client { return s.runtime }

// Info is what is known of the sandbox now.
func (s *Sandbox) Info(ctx context.Context) (Info, error) { return s.engine.Show(ctx, s.id) }

// Exec runs a command and streams its output as it comes. A nil stdin is empty.
// A command that fails is no error: see [protocol.Process.ExitCode]. When ctx ends,
// the command and everything it started are killed.
func (s *Sandbox) Exec(ctx context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	return s.session().Exec(ctx, spec, stdin, stdout, stderr)
}

// ExecPython runs code in a fresh interpreter of the sandbox.
func (s *Sandbox) ExecPython(ctx context.Context, code string, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	return s.session().ExecPython(ctx, code, stdin, stdout, stderr)
}

// WriteFile writes a file of the sandbox whole or not at all. Missing folders are
// made.
func (s *Sandbox) WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error {
	if err := s.checkBrought(ctx, path, "", data); err != nil {
		return err
	}
	return as(KindProvider, s.runtime.Files().Write(ctx, path, bytes.NewReader(data), mode))
}

// ReadFile reads a file of the sandbox into memory; see [client.Files.Read]
// for a large one.
func (s *Sandbox) ReadFile(ctx context.Context, path string) ([]byte, error) {
	var b bytes.Buffer
	_, err := s.runtime.Files().Read(ctx, path, &b)
	return b.Bytes(), as(KindProvider, err)
}

// List lists a folder of the sandbox, sorted by name.
func (s *Sandbox) List(ctx context.Context, path string) ([]protocol.Entry, error) {
	entries, err := s.runtime.Files().List(ctx, path)
	return entries, as(KindProvider, err)
}

// Watch tells what happens in a folder of the sandbox, with recursive also in all below
// it, until ctx ends or the caller has enough; see [client.Files.Watch]. The first
// event is [protocol.WatchReady]: what is changed from then on is told.
func (s *Sandbox) Watch(ctx context.Context, path string, recursive bool) iter.Seq2[protocol.WatchEvent, error] {
	return func(yield func(protocol.WatchEvent, error) bool) {
		for event, err := range s.runtime.Files().Watch(ctx, path, recursive) {
			if !yield(event, as(KindProvider, err)) {
				return
			}
		}
	}
}

// EnsureDir makes a folder and its parents.
func (s *Sandbox) EnsureDir(ctx context.Context, path string) error {
	return as(KindProvider, s.runtime.Files().Mkdir(ctx, path, 0o755))
}

// Upload copies a file or folder of this computer into the sandbox. It is a
// [*HiddenError] where the name of a hidden model is in it.
func (s *Sandbox) Upload(ctx context.Context, local, remote string) error {
	if err := s.checkBrought(ctx, remote, local, nil); err != nil {
		return err
	}
	return as(KindProvider, s.runtime.Files().Upload(ctx, local, remote))
}

// Download copies a file or folder of the sandbox to this computer. In a folder, what
// programs obey merely because they are used there, such as .git, gets another name
// unless [client.Renaming] says which; see [collect.Safe].
func (s *Sandbox) Download(ctx context.Context, remote, local string) error {
	if !client.IsRenaming(ctx) {
		ctx = client.Renaming(ctx, collect.Safe)
	}
	return as(KindProvider, s.runtime.Files().Download(ctx, remote, local))
}

// Terminate ends the sandbox and everything in it. It is idempotent.
func (s *Sandbox) Terminate(ctx context.Context) error {
	s.lease.Stop()
	return s.engine.Terminate(ctx, s.id)
}

// Close drops the connection. A sandbox with an attached lease then ends by
// itself when the lease runs out; one with a detached lease lives on.
func (s *Sandbox) Close() error {
	s.lease.Stop()
	s.mu.Lock()
	clients := s.clients
	s.clients = nil
	s.mu.Unlock()
	for _, c := range clients {
		c.Close()
	}
	s.runtime.Close()
	return nil
}

// closes has a client of a service closed with the sandbox.
func (s *Sandbox) closes(c *client.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
}

// Detach gives the sandbox a lease of its own that ends after ttl, so that it
// outlives the program that made it. Its hard end stays.
func (s *Sandbox) Detach(ctx context.Context, ttl time.Duration) error {
	return s.lease.Detach(ctx, ttl)
}

// WithLifetime is a context that ends with ctx, and as soon as the machine of an attached lease
// is known to be lost: [context.Cause] then says how. Requests alone would be tried
// again for minutes.
func (s *Sandbox) WithLifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.lease.Context(ctx)
}
