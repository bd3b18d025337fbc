package portforward

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Forwarder holds the sockets of a [Config], which can be closed and made again.
type Forwarder struct {
	config *Config
	log    *slog.Logger

	mu   sync.Mutex
	open []net.Listener
}

// New makes a forwarder that is closed. A nil config has no sockets.
func New(config *Config, log *slog.Logger) *Forwarder { return &Forwarder{config: config, log: log} }

// Open makes the sockets and serves them.
func (f *Forwarder) Open() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, err = f.config.open(f.log)
	return err
}

// Close closes the sockets, but not the connections through them.
func (f *Forwarder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.open {
		l.Close()
	}
	f.open = nil
}

// RemoveSockets removes the files of the sockets that clients outside connect to.
func (f *Forwarder) RemoveSockets() {
	if f.config == nil {
		return
	}
	for _, port := range f.config.Ports {
		_ = os.Remove(filepath.Join(f.config.Dir, strconv.Itoa(port)))
	}
}
