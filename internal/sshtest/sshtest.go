// Package sshtest runs real SSH servers for tests: sshd as an ordinary process on the
// loopback, with keys of its own. Who logs in is the user of the test, with another home.
package sshtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// Lab is a folder with the keys and the ssh_config of a user, and the servers that it names.
type Lab struct {
	T      testing.TB
	Dir    string // short
	Config string // ssh_config

	mu sync.Mutex
}

// New makes a lab. sshd must be installed; scripts/setup test sees to it.
func New(t testing.TB) *Lab {
	t.Helper()
	l := &Lab{T: t, Dir: testkit.ShortDir(t)}
	l.Config = filepath.Join(l.Dir, "config")
	if _, err := Sshd(); err != nil {
		t.Fatalf("%v; install it by scripts/setup test", err)
	}
	l.keygen("id")
	l.write("config", "")
	return l
}

// Sshd is the path of OpenSSH's server.
func Sshd() (string, error) {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/lib/ssh/sshd"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("OpenSSH's server is missing (package openssh-server)")
}

func (l *Lab) keygen(name string) {
	l.T.Helper()
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(l.Dir, name)).CombinedOutput()
	if err != nil {
		l.T.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

func (l *Lab) write(name, text string) string {
	l.T.Helper()
	return testkit.WriteFile(l.T, filepath.Join(l.Dir, name), text)
}

// Append adds lines to ssh_config.
func (l *Lab) Append(lines string) {
	l.T.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	have, err := os.ReadFile(l.Config)
	if err != nil {
		l.T.Fatal(err)
	}
	l.write("config", string(have)+lines)
}

// Server is an sshd that can be killed and started again.
type Server struct {
	Name string // in ssh_config
	Port int
	Home string // of who logs in

	lab  *Lab
	conf string
	cmd  *exec.Cmd
}

// Start starts a server that ssh_config knows by a name. options are lines of sshd_config,
// and client those of its Host in ssh_config.
func (l *Lab) Start(name, options, client string) *Server {
	l.T.Helper()
	s := &Server{Name: name, lab: l, Port: testkit.FreePort(l.T), Home: filepath.Join(l.Dir, name+"-home")}
	if err := os.MkdirAll(filepath.Join(s.Home, "run"), 0o700); err != nil {
		l.T.Fatal(err)
	}
	if os.Geteuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // where sshd of root keeps nothing
	}
	key := filepath.Join(l.Dir, name+"-key")
	if _, err := os.Stat(key); err != nil {
		l.keygen(name + "-key")
	}
	s.conf = l.write(name+"-sshd_config", fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s/id.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
LogLevel VERBOSE
SetEnv HOME=%s XDG_RUNTIME_DIR=%s
%s
`, s.Port, key, l.Dir, s.Home, filepath.Join(s.Home, "run"), options))
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		l.T.Fatal(err)
	}
	known := l.write(name+"-known_hosts", fmt.Sprintf("%s %s", name, public))
	l.Append(fmt.Sprintf(`Host %s
  HostName 127.0.0.1
  Port %d
  HostKeyAlias %s
  UserKnownHostsFile %s
  GlobalKnownHostsFile /dev/null
  IdentityFile %s/id
  IdentitiesOnly yes
  StrictHostKeyChecking yes
%s
`, name, s.Port, name, known, l.Dir, client))
	s.Run()
	l.T.Cleanup(s.Kill)
	return s
}

// Run starts the server, and waits until it listens.
func (s *Server) Run() {
	t := s.lab.T
	t.Helper()
	sshd, err := Sshd()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(s.lab.Dir, s.Name+"-log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(sshd, "-D", "-e", "-f", s.conf)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyNil(t, "sshd", func() error {
		conn, err := net.Dial("tcp", s.Address())
		if err != nil {
			return fmt.Errorf("%w; it said: %s", err, s.Log())
		}
		return conn.Close()
	})
}

// Address is where the server listens.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// Log is what the server has said.
func (s *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(s.lab.Dir, s.Name+"-log"))
	return string(text)
}

// Kill kills the server and all of its connections, as a crash of its computer would cut them.
// What its users have started goes on.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Freeze has the server and all of its connections stand still until [Server.Kill].
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

func (s *Server) signal(number syscall.Signal) {
	for _, pid := range append(descendants(s.cmd.Process.Pid), s.cmd.Process.Pid) {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && isSSHD(string(text)) {
			_ = syscall.Kill(pid, number)
		}
	}
}

// isSSHD reports whether a command line is that of the server, which changes its own.
func isSSHD(line string) bool {
	name, _, _ := strings.Cut(line, "\x00")
	return strings.HasPrefix(name, "sshd:") || strings.HasSuffix(name, "/sshd")
}

// Connections counts the logins that the server has let in.
func (s *Server) Connections() int { return strings.Count(s.Log(), "Accepted publickey") }

func descendants(pid int) (out []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		var child, parent int
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		if _, err := fmt.Sscanf(string(stat), "%d", &child); err != nil {
			continue
		}
		rest := string(stat)[strings.LastIndexByte(string(stat), ')')+1:]
		var state string
		if _, err := fmt.Sscanf(rest, "%s %d", &state, &parent); err == nil && parent == pid {
			out = append(append(out, descendants(child)...), child)
		}
	}
	return out
}
