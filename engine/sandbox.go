package engine

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/lease"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/sandboxfs"
	"github.com/seer-engine/seer/engine/session"
)

// Sandbox is a running sandbox. It is safe for concurrent use.
type Sandbox struct {
	engine  *Engine
	session session.Session
	files   sandboxfs.Files
	lease   *lease.Keeper

	mu      sync.Mutex
	clients []*client.Client // of its services
}

func (e *Engine) sandbox(m provision.Machine) *Sandbox {
	s := session.Session{ID: m.Record.ID, Ledger: e.ledger, Client: m.Client, Unsearched: e.starter.Unsearched}
	return &Sandbox{engine: e, session: s, files: sandboxfs.Files{Client: m.Client, Hidden: s.NamesHiddenInside}, lease: m.Lease}
}

// ID is the sandbox's identity: "sb-" and ten characters.
func (s *Sandbox) ID() string { return s.session.ID }

// Runtime is the client of the sandbox's runtime: processes, files and trees.
func (s *Sandbox) Runtime() *client.Client { return s.session.Client }

// Info is what is known of the sandbox now.
func (s *Sandbox) Info(ctx context.Context) (Info, error) { return s.engine.Show(ctx, s.session.ID) }

// Exec runs a command and streams its output as it comes. A nil stdin is empty. A command
// that fails is not an error: see [protocol.Process.ExitCode]. When ctx ends, the command and
// everything it started are killed.
func (s *Sandbox) Exec(ctx context.Context, spec protocol.ProcessSpec, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	return s.session.Exec(ctx, spec, stdin, stdout, stderr)
}

// ExecPython runs code in a fresh interpreter of the sandbox.
func (s *Sandbox) ExecPython(ctx context.Context, code string, stdin io.Reader, stdout, stderr io.Writer) (protocol.Process, error) {
	return s.session.ExecPython(ctx, code, stdin, stdout, stderr)
}

// WriteFile writes a file of the sandbox whole or not at all. Missing folders are
// made.
func (s *Sandbox) WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error {
	return s.files.Write(ctx, path, data, mode)
}

// WriteFrom writes what a reader gives to a file of the sandbox, whole or not at all.
func (s *Sandbox) WriteFrom(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	return s.files.WriteFrom(ctx, path, r, mode)
}

// ReadFile reads a file of the sandbox into memory; see [client.Files.Read]
// for a large one.
func (s *Sandbox) ReadFile(ctx context.Context, path string) ([]byte, error) {
	return s.files.Read(ctx, path)
}

// List lists a folder of the sandbox, sorted by name.
func (s *Sandbox) List(ctx context.Context, path string) ([]protocol.Entry, error) {
	return s.files.List(ctx, path)
}

// Watch yields the changes in a folder of the sandbox, with recursive also in all folders
// below it, until ctx ends or the caller stops; see [client.Files.Watch]. The first event is
// [protocol.WatchReady]: Watch yields every change after it.
func (s *Sandbox) Watch(ctx context.Context, path string, recursive bool) iter.Seq2[protocol.WatchEvent, error] {
	return s.files.Watch(ctx, path, recursive)
}

// EnsureDir makes a folder and its parents.
func (s *Sandbox) EnsureDir(ctx context.Context, path string) error {
	return s.files.Mkdir(ctx, path)
}

// Upload copies a file or folder of this computer into the sandbox. It is a
// [*HiddenError] where the name of a hidden model is in it.
func (s *Sandbox) Upload(ctx context.Context, local, remote string) error {
	return s.files.Upload(ctx, local, remote)
}

// Download copies a file or folder of the sandbox to this computer. In a folder, what
// programs obey merely because they are used there, such as .git, gets another name
// unless [client.Renaming] says which; see package collect.
func (s *Sandbox) Download(ctx context.Context, remote, local string) error {
	return s.files.Download(ctx, remote, local)
}

// Terminate ends the sandbox and everything in it. It is idempotent.
func (s *Sandbox) Terminate(ctx context.Context) error {
	s.lease.Stop()
	return s.engine.Terminate(ctx, s.session.ID)
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
	s.session.Client.Close()
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
