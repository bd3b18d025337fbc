// Package portforward connects the ports of a machine that has a network to itself with
// sockets that something outside holds the other ends of.
package portforward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

// Variable is the environment variable with the [Config].
const Variable = "SEER_GATE"

// Config is the inner end of the ways in and out of a network that the machine has to
// itself. Something outside has the other end.
type Config struct {
	Dir       string     `json:"dir"`        // of the sockets, one for each port
	Ports     []int      `json:"ports"`      // that may be reached from outside
	Proxy     string     `json:"proxy"`      // socket of an HTTP proxy outside; empty = there is none
	ProxyPort int        `json:"proxy_port"` // where processes find it, at 127.0.0.1
	HostPorts []HostPort `json:"host_ports"` // of the computer outside, that processes find at 127.0.0.1
}

// HostPort is a port outside and the socket that leads there.
type HostPort struct {
	Port   int    `json:"port"`
	Socket string `json:"socket"`
}

// Parse reads the value of [Variable]; an empty one is no configuration.
func Parse(text string) (*Config, error) {
	if text == "" {
		return nil, nil
	}
	c := &Config{}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(c)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", Variable, err)
	}
	return c, nil
}

func (c *Config) check() error {
	if len(c.Ports) > 0 && !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("dir %q is not an absolute path", c.Dir)
	}
	seen := map[int]bool{}
	for _, port := range c.Ports {
		if port < 1 || port > 65535 || seen[port] {
			return fmt.Errorf("port %d is named twice, or no port", port)
		}
		seen[port] = true
	}
	for _, out := range c.HostPorts {
		if out.Port < 1 || out.Port > 65535 || seen[out.Port] || !filepath.IsAbs(out.Socket) {
			return fmt.Errorf("host port %d is named twice, or no port, or has no absolute path", out.Port)
		}
		seen[out.Port] = true
	}
	if (c.Proxy != "") != (c.ProxyPort != 0) || c.ProxyPort < 0 || c.ProxyPort > 65535 || c.Proxy != "" && !filepath.IsAbs(c.Proxy) {
		return fmt.Errorf("proxy %q with proxy_port %d: both are needed, an absolute path and a port", c.Proxy, c.ProxyPort)
	}
	return nil
}

// Environment is what tells programs of the proxy.
func (c *Config) Environment() map[string]string {
	if c == nil || c.Proxy == "" {
		return nil
	}
	at := "http://127.0.0.1:" + strconv.Itoa(c.ProxyPort)
	env := map[string]string{}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env[name], env[strings.ToLower(name)] = at, at
	}
	env["NO_PROXY"] = "localhost,127.0.0.1,::1"
	env["no_proxy"] = env["NO_PROXY"]
	return env
}

// open makes the sockets and serves them. Those of a runtime before this one are replaced.
func (c *Config) open(log *slog.Logger) ([]net.Listener, error) {
	if c == nil {
		return nil, nil
	}
	var open []net.Listener
	fail := func(err error) ([]net.Listener, error) {
		for _, l := range open {
			l.Close()
		}
		return nil, err
	}
	for _, port := range c.Ports {
		l, err := unixsocket.Replace(c.Dir, strconv.Itoa(port))
		if err != nil {
			return fail(fmt.Errorf("make the socket of port %d: %w", port, err))
		}
		open = append(open, l)
		go relayTo(l, log, func(ctx context.Context) (net.Conn, error) { return DialLocal(ctx, port) })
	}
	out := c.HostPorts
	if c.Proxy != "" {
		out = append([]HostPort{{c.ProxyPort, c.Proxy}}, out...)
	}
	for _, o := range out {
		l, err := listenSoon(net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
		if err != nil {
			return fail(fmt.Errorf("listen at port %d for connections from outside: %w", o.Port, err))
		}
		open = append(open, l)
		go relayTo(l, log, func(ctx context.Context) (net.Conn, error) {
			d := net.Dialer{Timeout: 10 * time.Second}
			return d.DialContext(ctx, "unix", o.Socket)
		})
	}
	return open, nil
}

// listenSoon waits a moment for a port that a runtime before this one still has.
func listenSoon(address string) (l net.Listener, err error) {
	for range 50 {
		if l, err = net.Listen("tcp", address); err == nil {
			return l, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}

// relayTo leads each connection to another one until the listener is closed.
func relayTo(l net.Listener, log *slog.Logger, dial func(context.Context) (net.Conn, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, say
			log.Warn("a forwarded connection was not accepted", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			target, err := dial(ctx)
			if err != nil {
				conn.Close()
				return
			}
			Join(ctx, conn, target, nil)
		}()
	}
}
