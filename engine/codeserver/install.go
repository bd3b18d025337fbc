package codeserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Version is the release of code-server that Seer is tested with.
const Version = "4.139.1"

// nodePackage is the Node.js that this release needs. It comes from npm, too, and stays
// beside it: parts of code-server are built for this one and no other.
const nodePackage = "node@24"

// buildPackages are the Debian packages with which npm builds the parts that are written
// in C++.
var buildPackages = [...]string{"build-essential", "libkrb5-dev", "libsecret-1-dev", "libx11-dev", "libxkbfile-dev", "pkg-config", "python3"}

// Install builds code-server from its npm package into the folder of tools, where [Find]
// finds it, and writes what npm says to log. It appears there as a whole or not at all;
// one that is there is replaced. lookup reads environment variables. Errors:
// [sdk.NotFound] without npm, [sdk.Unavailable] when npm fails, with what to do.
func Install(ctx context.Context, tools string, lookup func(string) string, log io.Writer) error {
	npm := inPath("npm", lookup("PATH"))
	if npm == "" {
		return sdk.Errorf(sdk.NotFound, "there is no npm in the PATH to install code-server with; install Node.js with npm (Debian: apt-get install npm; else https://nodejs.org)")
	}
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return fmt.Errorf("install code-server: %w", err)
	}
	building, err := os.MkdirTemp(tools, ".building-")
	if err != nil {
		return fmt.Errorf("install code-server: %w", err)
	}
	defer os.RemoveAll(building)
	if err := os.Chmod(building, 0o755); err != nil {
		return fmt.Errorf("install code-server: %w", err)
	}
	place, done, err := buildingPlace(building)
	if err != nil {
		return fmt.Errorf("install code-server: %w", err)
	}
	defer done()
	part := filepath.Join(place, "code-server")
	node := filepath.Join(part, "node_modules", "node", "bin")
	path := node + string(filepath.ListSeparator) + lookup("PATH")
	for _, step := range []struct{ what, path string }{{nodePackage, lookup("PATH")}, {"code-server@" + Version, path}} {
		_, _ = fmt.Fprintf(log, "npm install %s (some minutes, once)\n", step.what)
		if err := runNPM(ctx, npm, part, step.what, step.path, log); err != nil {
			return err
		}
	}
	if err := tryOut(ctx, part, node); err != nil {
		return err
	}
	if err := move(ctx, part, filepath.Join(building, "code-server")); err != nil {
		return fmt.Errorf("install code-server: %w", err)
	}
	return putInPlace(building, filepath.Join(tools, "code-server"))
}

// buildingPlace is where npm builds: the folder itself, or one elsewhere where its path
// has a space in it, which node-gyp's makefiles cannot have.
func buildingPlace(folder string) (place string, done func(), err error) {
	if !strings.ContainsAny(folder, " \t") {
		return folder, func() {}, nil
	}
	parent := os.TempDir()
	if strings.ContainsAny(parent, " \t") {
		parent = "/tmp"
	}
	place, err = os.MkdirTemp(parent, "seer-code-server-")
	return place, func() { _ = os.RemoveAll(place) }, err
}

// move takes a folder to another place, also on another disk.
func move(ctx context.Context, from, to string) error {
	if from == to || os.Rename(from, to) == nil {
		return nil
	}
	if said, err := exec.CommandContext(ctx, "cp", "-a", "--", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

func runNPM(ctx context.Context, npm, prefix, what, path string, log io.Writer) error {
	cmd := exec.CommandContext(ctx, npm, "install", "--no-fund", "--no-audit", "--no-update-notifier", "--loglevel=error", "--prefix", prefix, what)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PATH=") }), "PATH="+path)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(prefix), log, log
	// With all that it has started: compilers would go on otherwise.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return sdk.Errorf(sdk.Unavailable, "npm could not install %s: %v (what it said is above); %s", what, err, advice(ctx))
	}
	return nil
}

// advice says what is most likely missing when npm has failed.
func advice(ctx context.Context) string {
	missing, known := missingPackages(ctx)
	switch {
	case !known:
		return "look whether there are a C++ compiler, make, pkg-config, python3 and the headers of krb5, libsecret, X11 and xkbfile, and whether this computer reaches npm's registry"
	case len(missing) > 0:
		return "to build it, run as root: apt-get install " + strings.Join(missing, " ")
	}
	return "look whether this computer reaches npm's registry, and whether the disk is full"
}

// missingPackages are those of buildPackages that this Debian lacks.
func missingPackages(ctx context.Context) (missing []string, known bool) {
	query, err := exec.LookPath("dpkg-query")
	if err != nil {
		return nil, false
	}
	// It fails when it knows one of them not at all, and tells of the others all the same.
	out, _ := exec.CommandContext(ctx, query, append([]string{"-W", "-f", "${Package} ${db:Status-Status}\n"}, buildPackages[:]...)...).Output()
	there := strings.Split(string(out), "\n")
	for _, name := range buildPackages {
		if !slices.Contains(there, name+" installed") {
			missing = append(missing, name)
		}
	}
	return missing, true
}

// tryOut starts what has been built: npm takes a part that it could not build for
// optional.
func tryOut(ctx context.Context, part, node string) error {
	entry := filepath.Join(part, "node_modules", "code-server", "out", "node", "entry.js")
	out, err := exec.CommandContext(ctx, filepath.Join(node, "node"), entry, "--version").CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "the code-server that npm has installed does not start: %v: %s; %s", err, strings.TrimSpace(string(out)), advice(ctx))
	}
	return nil
}

// putInPlace makes what was built the program. One that was there goes away with the
// folder of the building.
func putInPlace(building, final string) error {
	if err := os.Rename(final, filepath.Join(building, "old")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("install code-server: %w", err)
	}
	if err := os.Rename(filepath.Join(building, "code-server"), final); err != nil {
		return fmt.Errorf("install code-server: %w", err)
	}
	return nil
}
