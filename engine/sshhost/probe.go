package sshhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// reachTime is for one connection.
const reachTime = 6 * time.Second

// reach connects to host:port by TCP and TLS, through the proxy that the environment names. Any
// answer will do.
func reach(ctx context.Context, host string) error { return reachBy(ctx, host, http.DefaultTransport) }

func reachBy(ctx context.Context, host string, transport http.RoundTripper) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+host+"/", nil)
	if err != nil {
		return fmt.Errorf("%q is not a host and a port", host)
	}
	c := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(req)
	if err != nil {
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() || ctx.Err() != nil {
			return fmt.Errorf("%s does not answer within %s", host, reachTime)
		}
		var inner interface{ Unwrap() error }
		if errors.As(err, &inner) {
			err = inner.Unwrap()
		}
		if errors.Is(err, http.ErrSchemeMismatch) {
			return nil // a mirror without TLS
		}
		return fmt.Errorf("cannot connect to %s: %w", host, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	return answer.Body.Close()
}

var cudaVersion = lazyregexp.New(`CUDA Version: *([0-9.]+)`)

// cudaOf is the newest version of CUDA that the driver can, as nvidia-smi tells it.
func cudaOf(ctx context.Context, tool string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, tool).Output()
	if found := cudaVersion().FindSubmatch(out); err == nil && found != nil {
		return string(found[1])
	}
	return "unknown"
}

// free are the bytes and files that a user may still have on the file system of a folder; -1 = as
// many files as there is space for.
func free(dir string) (bytes, files int64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, 0, err
	}
	files = int64(fs.Ffree)
	if fs.Files == 0 {
		files = -1
	}
	return int64(fs.Bavail) * int64(fs.Bsize), files, nil //nolint:unconvert // Bsize is a uint32 on macOS
}

// logind are the files that say what systemd does with processes of users who log out, the later
// ones above the earlier.
var logind = []string{
	"/usr/lib/systemd/logind.conf", "/etc/systemd/logind.conf",
	"/usr/lib/systemd/logind.conf.d/*.conf", "/run/systemd/logind.conf.d/*.conf", "/etc/systemd/logind.conf.d/*.conf",
}

// afterLogout says that systemd ends the processes of a user who logs out; empty = it does not.
func afterLogout(context.Context) string {
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return killsUser(logind, me.Username)
}

func killsUser(patterns []string, name string) string {
	kills, file, excluded := false, "", []string{"root"}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern) // none of the patterns is bad
		slices.Sort(files)
		for _, one := range files {
			eachSetting(one, func(key, value string) {
				switch key {
				case "KillUserProcesses":
					kills, file = slices.Contains([]string{"yes", "true", "1", "on"}, strings.ToLower(value)), one
				case "KillExcludeUsers":
					excluded = strings.Fields(value)
				}
			})
		}
	}
	if !kills || slices.Contains(excluded, name) {
		return ""
	}
	return "systemd ends all processes of a user who logs out: KillUserProcesses in " + file
}

// eachSetting reads KEY=VALUE of a file of systemd.
func eachSetting(file string, take func(key, value string)) {
	f, err := os.Open(file)
	if err != nil {
		return // not there, or not for users
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "="); ok && !strings.HasPrefix(key, "#") {
			take(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
}
