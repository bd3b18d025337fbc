// Package ssh uses hosts by the user's own OpenSSH: it runs commands there, brings Seer's
// program there, and connects to what listens there. Everything in ssh_config counts, and
// one connection to a host, which OpenSSH keeps, serves everybody.
package ssh

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/bring"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/engine/state"
)

// ProgramArg stands for Seer's program on the host, in a [Command] and in a [Route].
const ProgramArg = "{seer-runtime}"

// Options say what a [Client] works with.
type Options struct {
	// Dir is a private folder with a short path (at most 70 bytes) for the sockets by which
	// OpenSSH shares its connections; it is made where it is missing.
	Dir string `json:"dir"`

	// Artifacts is the folder with the programs that are brought to hosts,
	// seer-runtime-OS-ARCH.
	Artifacts string `json:"artifacts"`

	// Command is OpenSSH's client; default ssh.
	Command []string `json:"command,omitempty"`

	// ConfigFile is the ssh_config; default the user's and the system's.
	ConfigFile string `json:"config_file,omitempty"`

	// Env is the environment of ssh; default this program's.
	Env []string `json:"-"`

	// Interactive lets ssh ask on the terminal of this program, once for each connection.
	// Otherwise a login that needs a person fails.
	Interactive bool `json:"-"`

	// Persist is how long an unused connection stays; default 10 minutes.
	Persist time.Duration `json:"persist,omitempty"`

	// ConnectTimeout is how long a host may take to answer; default 20 seconds. A person
	// may take longer to log in.
	ConnectTimeout time.Duration `json:"connect_timeout,omitempty"`
}

// Client uses hosts. It is safe for concurrent use, also beside other processes with the
// same Dir.
type Client struct {
	o        Options
	programs bring.Programs
	pipes    pipe.Pool

	mu      sync.Mutex
	hosts   map[string]*hostState
	directs map[*direct]bool // of pipes that have not ended
}

// hostState is what this process knows of a host.
type hostState struct {
	running chan struct{} // how many commands of this client run at once; sshd's own limit is ten sessions
	program bring.Place
}

// maxRunning leaves room for pipes in the ten sessions that sshd allows in one connection.
const maxRunning = 6

// New makes a client. It touches nothing until it is used.
func New(o Options) *Client {
	if len(o.Command) == 0 {
		o.Command = []string{"ssh"}
	}
	if o.Persist <= 0 {
		o.Persist = 10 * time.Minute
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 20 * time.Second
	}
	return &Client{o: o, programs: bring.Programs{Dir: o.Artifacts}, hosts: map[string]*hostState{}, directs: map[*direct]bool{}}
}

// Open makes a client with the folder of a store.
func Open(in *state.Store, o Options) *Client {
	o.Dir = filepath.Join(in.RuntimeDir(), "ssh")
	return New(o)
}

// Close ends the connections that [Client.Dial] has made. Those of OpenSSH stay for
// Options.Persist, for they may serve others.
func (c *Client) Close() error {
	c.pipes.Close()
	c.closeDirects()
	return nil
}

func (c *Client) host(name string) *hostState {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[name]
	if h == nil {
		h = &hostState{running: make(chan struct{}, maxRunning)}
		c.hosts[name] = h
	}
	return h
}

func (c *Client) environ() []string {
	if c.o.Env != nil {
		return c.o.Env
	}
	return os.Environ()
}
