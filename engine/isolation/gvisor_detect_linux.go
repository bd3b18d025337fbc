package isolation

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// runscPlaces are tried after those of the caller. PATH is not asked, as with
// bubblewrap.
var runscPlaces = [...]string{"/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/run/current-system/sw/bin"}

var toolPlaces = [...]string{"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"}

const noRunsc = "gVisor's runsc is not installed; install it"

func gvisorProgram(places []string) (string, error) { return runscPath(places) }

func runscPath(places []string) (string, error) {
	for _, dir := range append(append([]string(nil), places...), runscPlaces[:]...) {
		path := filepath.Join(dir, "runsc")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Abs(path)
		}
	}
	return "", remedy.For(sdk.Errorf(sdk.Unsupported, noRunsc), remedy.Remedy{Action: remedy.FixHost})
}

func systemTool(name string) (string, error) {
	for _, dir := range toolPlaces {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", sdk.Errorf(sdk.Unsupported, "isolation gvisor needs the program %s; install util-linux", name)
}

// detectGVisor runs a command that does nothing, as it does for bubblewrap.
func detectGVisor(ctx context.Context, places []string) sdk.Isolation {
	found := sdk.Isolation{Name: GVisor}
	if _, err := runscPath(places); err != nil {
		found.Reason, found.Missing = err.Error(), true
		return found
	}
	state, err := os.MkdirTemp("", "seer-gvisor-")
	if err != nil {
		found.Reason = "gVisor could not be tried: " + err.Error()
		return found
	}
	defer os.RemoveAll(state)
	cmd, err := Command(GVisor, Spec{Argv: []string{"/usr/bin/true"}, State: state, Places: places})
	if err != nil {
		found.Reason = err.Error()
		return found
	}
	defer Release(cmd)
	if out, err := runFor(ctx, GVisor, cmd, longestTry); err != nil {
		found.Reason, found.Missing = explainGVisor(out, err, readSysctl)
		return found
	}
	found.Usable = true
	return found
}

// explainGVisor turns the failure of runsc into what the user can do about it; missing
// reports whether installing it would help.
func explainGVisor(out string, err error, sysctl func(string) string) (reason string, missing bool) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	switch {
	case sysctl("kernel/unprivileged_userns_clone") == "0" || sysctl("user/max_user_namespaces") == "0" ||
		sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return strings.ReplaceAll(explain("", err, sysctl), "give bwrap", "give runsc and unshare"), false
	case strings.Contains(out, "flag provided but not defined"):
		return "the installed runsc is too old (" + last + "); install a newer one", true
	case strings.Contains(out, "unrecognized option"):
		return "the installed util-linux is too old (" + last + "); install version 2.36 or newer", false
	case last != "":
		return "gVisor does not work here: " + last, false
	}
	return "gVisor does not work here: " + err.Error(), false
}
