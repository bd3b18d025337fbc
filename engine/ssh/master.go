package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

const maxDir = 70 // of what a Unix socket's address has; ssh adds to the name while it makes it

// personLimit is how long a person may take to log in.
const personLimit = 3 * time.Minute

// socket is where OpenSSH shares the connection to a host.
func (c *Client) socket(host string) string {
	key := sha256.Sum256([]byte(strings.Join(append([]string{host, c.o.ConfigFile}, c.o.Command...), "\x00")))
	return filepath.Join(c.o.Dir, strings.ToLower(base32.StdEncoding.EncodeToString(key[:]))[:12])
}

// args begins the arguments of ssh. They only take away: what ssh_config forwards or asks
// for is of no use here, and might break what runs.
func (c *Client) args(host string, more ...string) []string {
	argv := append([]string(nil), c.o.Command[1:]...)
	if c.o.ConfigFile != "" {
		argv = append(argv, "-F", c.o.ConfigFile)
	}
	argv = append(argv, "-S", c.socket(host), "-T", "-x", "-a")
	for _, option := range append(more,
		"PermitLocalCommand=no", "ClearAllForwardings=yes", "RequestTTY=no", "RemoteCommand=none", "EscapeChar=none",
		"ServerAliveInterval=15", "ServerAliveCountMax=3", "ConnectTimeout="+seconds(c.o.ConnectTimeout)) {
		argv = append(argv, "-o", option)
	}
	return argv
}

func seconds(d time.Duration) string { return strconv.Itoa(max(1, int(d/time.Second))) }

// command makes a process of ssh that uses the connection to a host.
func (c *Client) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.o.Command[0], argv...)
	cmd.Env, cmd.WaitDelay = c.environ(), time.Second
	return cmd
}

// connect makes the connection to a host where there is none. Only one process at a time
// does, so that a person is asked once.
func (c *Client) connect(ctx context.Context, host string) error {
	if err := checkHost(host); err != nil {
		return err
	}
	if c.shared(host) {
		return nil
	}
	if len(c.o.Dir) > maxDir {
		return errorf(host, Unusable, "the folder for sockets %s is %d bytes long and may have %d; choose a shorter one", c.o.Dir, len(c.o.Dir), maxDir)
	}
	if err := state.Private(c.o.Dir); err != nil {
		return errorf(host, Unusable, "%v", err)
	}
	return state.Locked(ctx, c.socket(host)+".lock", func() error {
		if c.shared(host) {
			return nil
		}
		return c.login(ctx, host)
	})
}

// shared reports whether a connection to the host is there.
func (c *Client) shared(host string) bool {
	conn, err := net.DialTimeout("unix", c.socket(host), time.Second)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(c.socket(host)) // of one that was killed
		}
		return false
	}
	_ = conn.Close()
	return true
}

// login has ssh connect and stay in the background. What it says goes to a file: a pipe
// would stay open as long as the connection.
func (c *Client) login(ctx context.Context, host string) error {
	said, err := os.CreateTemp(c.o.Dir, "login-")
	if err != nil {
		return errorf(host, Unusable, "%v", err)
	}
	defer said.Close()
	defer os.Remove(said.Name())
	limit, batch := c.o.ConnectTimeout+10*time.Second, "BatchMode=yes"
	if c.o.Interactive {
		limit, batch = personLimit, "BatchMode=no"
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	argv := c.args(host, batch, "ControlMaster=yes", "ControlPersist="+seconds(c.o.Persist))
	cmd := c.command(inner, append(argv, "-N", "-f", "--", host))
	cmd.Stderr = said
	err = cmd.Run()
	text, _ := os.ReadFile(said.Name())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return errorf(host, NoSSH, "%v; install OpenSSH's client", err)
	case inner.Err() != nil:
		return errorf(host, TimedOut, "it did not let us in within %v%s; see whether it is up and can be reached from this network", limit, because(string(text)))
	}
	return c.classify(host, string(text))
}

func because(said string) string {
	if line := lastLine(said); line != "" {
		return " (" + line + ")"
	}
	return ""
}

// forget ends the shared connection to a host, which is dead.
func (c *Client) forget(host string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := c.command(ctx, append(c.args(host), "-O", "exit", "--", host))
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if cmd.Run() != nil {
		_ = os.Remove(c.socket(host))
	}
}

// Disconnect ends the connection to a host that OpenSSH keeps, with all that uses it.
func (c *Client) Disconnect(host string) error {
	if err := checkHost(host); err != nil {
		return err
	}
	if !c.shared(host) {
		return nil
	}
	c.forget(host)
	if c.shared(host) {
		return fmt.Errorf("end the connection to %s: OpenSSH keeps it", host)
	}
	return nil
}
