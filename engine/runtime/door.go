package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// door is where clients come in: the socket that was inherited, and those after it.
type door struct {
	mu     sync.Mutex
	srv    *http.Server
	l      net.Listener // nil while it is closed
	failed chan error
}

// serve answers on l, until that is closed by [door.close]. What ends it otherwise is told
// to failed.
func (d *door) serve(l net.Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.l = l
	go func() {
		err := d.srv.Serve(l)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.l == l {
			d.failed <- err
		}
	}()
}

// close lets go of the socket. Connections stay.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.l != nil {
		l := d.l
		d.l = nil
		l.Close()
	}
}

// listenUnix makes a socket that its owner alone may use.
func listenUnix(dir, name string) (*net.UnixListener, error) {
	path, folder, err := shortPath(dir, name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// tellLease tells the loader when the lease ends, if it does not know: should this
// program be stopped, the loader ends the machine. The loader hears remaining seconds,
// because its clock stands still where this one does.
func (s *Server) tellLease(now time.Time) {
	s.telling.Lock()
	defer s.telling.Unlock()
	end, known := s.lease.untold()
	if s.options.Loader == nil || known {
		return
	}
	message, err := json.Marshal(map[string]any{"t": "lease", "lease": end.Sub(now).Seconds()})
	if err == nil {
		err = sendLoader(s.options.Loader, message)
	}
	if err != nil {
		s.options.Logger.Error("the loader does not know the end of the lease", "error", err)
		return
	}
	s.lease.tell(end)
}

// sendLoader sends a message that has no answer.
func sendLoader(hand *os.File, message []byte) error {
	raw, err := hand.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = syscall.Sendto(int(fd), message, syscall.MSG_DONTWAIT, nil) })
	return errors.Join(err, sent)
}

// tellLoader sends a message to the loader and waits for its answer.
func tellLoader(hand *os.File, message []byte, l *net.UnixListener) error {
	if hand == nil {
		return nil // there is no loader
	}
	conn, err := net.FileConn(hand)
	if err != nil {
		return fmt.Errorf("speak with the loader: %w", err)
	}
	defer conn.Close()
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("speak with the loader: it is no Unix socket")
	}
	_ = u.SetDeadline(time.Now().Add(15 * time.Second))
	if err := pass(u, message, l); err != nil {
		return fmt.Errorf("speak with the loader: %w", err)
	}
	data := make([]byte, 1024)
	n, err := u.Read(data)
	if err != nil {
		return fmt.Errorf("the loader did not answer: %w", err)
	}
	var answer struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(data[:n], &answer); err != nil {
		return fmt.Errorf("understand the loader: %w", err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// pass sends a message, and a copy of the listener with it. The listener itself stays as it
// is: [net.UnixListener.File] would make it one that cannot be closed while it waits.
func pass(u *net.UnixConn, message []byte, l *net.UnixListener) error {
	if l == nil {
		_, err := u.Write(message)
		return err
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { _, _, sent = u.WriteMsgUnix(message, syscall.UnixRights(int(fd)), nil) })
	return errors.Join(err, sent)
}
