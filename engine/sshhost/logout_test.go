package sshhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogout(t *testing.T) {
	t.Parallel()
	linger := t.TempDir()
	if err := os.WriteFile(filepath.Join(linger, "bob"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inside, outside := "0::/user.slice/user-1000.slice/session-4.scope\n", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n"
	yes := "KillUserProcesses=yes\nKillOnlyUsers=\nKillExcludeUsers=root\n"
	for name, c := range map[string]struct {
		cgroups, user, said string
		err                 error
		want                logout
	}{
		"kills":             {inside, "alice", yes, nil, logout{Kills: true}},
		"kills, lingers":    {inside, "bob", yes, nil, logout{Kills: true, Lingers: true}},
		"excluded":          {inside, "root", yes, nil, logout{}},
		"only others":       {inside, "alice", "KillUserProcesses=yes\nKillOnlyUsers=carol bob\n", nil, logout{}},
		"only some":         {inside, "alice", "KillUserProcesses=yes\nKillOnlyUsers=carol alice\n", nil, logout{Kills: true}},
		"does not":          {inside, "alice", "KillUserProcesses=no\nKillOnlyUsers=\nKillExcludeUsers=root\n", nil, logout{}},
		"no systemd-logind": {inside, "alice", "", errors.New("exit status 1"), logout{}},
		"no session":        {outside, "alice", yes, nil, logout{}},
	} {
		s := session{cgroups: c.cgroups, name: c.user, linger: linger, ask: func(context.Context) ([]byte, error) { return []byte(c.said), c.err }}
		got := s.atLogout(t.Context())
		if got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if warns := strings.Contains(got.warning(), "loginctl enable-linger"); warns != (got.Kills && !got.Lingers) {
			t.Errorf("%s: it says %q", name, got.warning())
		}
	}
	for _, l := range []logout{{}, {Kills: true}, {Lingers: true}} {
		if err := leaveSession(l, func(string) string { return "" }, nil); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if err := leaveSession(logout{Kills: true, Lingers: true}, func(string) string { return "1" }, nil); err != nil {
		t.Errorf("it has left already: %v", err)
	}
}
