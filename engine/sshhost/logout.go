package sshhost

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// logout is what the end of the user's last session means for machines. systemd-logind may end all
// processes of a session with it (KillUserProcesses=yes), whatever they have done to outlive it.
// Processes of the user's own manager go on where that outlives sessions (linger).
type logout struct {
	Kills   bool // the processes of this session
	Lingers bool
}

// warning is what a person has to know; empty = machines outlive sessions.
func (l logout) warning() string {
	if !l.Kills || l.Lingers {
		return ""
	}
	return "this host ends all processes of a user at logout (KillUserProcesses of systemd-logind): the sandbox ends with the SSH connection; run `loginctl enable-linger` there once, or have its administrator exclude you in KillExcludeUsers"
}

// session is how a program finds what becomes of its session.
type session struct {
	cgroups string // those of this program, as in /proc/self/cgroup
	name    string // of the user
	linger  string // folder with a file for each user whose manager goes on
	ask     func(ctx context.Context) ([]byte, error)
}

func ownSession() session {
	s := session{linger: "/var/lib/systemd/linger", ask: func(ctx context.Context) ([]byte, error) {
		return exec.CommandContext(ctx, "loginctl", "show-session", "-p", "KillUserProcesses", "-p", "KillOnlyUsers", "-p", "KillExcludeUsers").Output() // of the manager
	}}
	if data, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		s.cgroups = string(data)
	}
	if me, err := user.Current(); err == nil {
		s.name = me.Username
	}
	return s
}

// atLogout finds what the end of the session means. A host without systemd-logind ends nothing.
func (s session) atLogout(ctx context.Context) (l logout) {
	if !strings.Contains(s.cgroups, "/session-") { // not one of logind's, or already outside of it
		return l
	}
	said, err := s.ask(ctx)
	if err != nil {
		return l
	}
	values := map[string][]string{}
	for line := range strings.Lines(string(said)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Fields(value)
	}
	only := values["KillOnlyUsers"]
	l.Kills = slices.Equal(values["KillUserProcesses"], []string{"yes"}) && !slices.Contains(values["KillExcludeUsers"], s.name) &&
		(len(only) == 0 || slices.Contains(only, s.name))
	if _, err := os.Stat(filepath.Join(s.linger, s.name)); err == nil {
		l.Lingers = true
	}
	return l
}

// scopeVariable is set in a program that [leaveSession] has started again.
const scopeVariable = "SEER_OWN_SCOPE"

// leaveSession starts this program again below the user's own manager where the machines that it
// makes would end with the session otherwise. It returns only where that is of no use or fails.
func leaveSession(l logout, getenv func(string) string, args []string) error {
	if !l.Kills || !l.Lingers || getenv(scopeVariable) != "" {
		return nil
	}
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := append([]string{path, "--user", "--scope", "--quiet", "--collect", "--", self}, args...)
	return syscall.Exec(path, argv, append(os.Environ(), scopeVariable+"=1"))
}
