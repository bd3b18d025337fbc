package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/state"
)

// fixable is the remedy of everything that [Doctor.Fix] sees to.
func fixable() []remedy.Remedy { return []remedy.Remedy{{Action: remedy.FixHost}} }

// Fix installs what [Doctor.Check] misses and Seer can install: bubblewrap and what
// connects networks with the system's packages, gVisor and code-server into its own folder of tools. It returns
// what Check finds afterwards. What could not be installed has the reason as its Fix,
// and is an error of [errdefs.KindProvider]. Where nothing is missing, it changes nothing.
func (d *Doctor) Fix(ctx context.Context, to event.Func) ([]Finding, error) {
	findings := d.Check(ctx)
	if !anyFixable(findings) {
		return findings, nil
	}
	report := event.NewReporter("", event.SourceEngine, d.Now, to)
	tools, unlock, err := d.lockTools(ctx, report)
	if err != nil {
		return findings, err
	}
	defer unlock()
	findings = d.Check(ctx) // another program may have done it meanwhile
	failed := map[string]error{}
	fixed := map[string]bool{}
	for _, f := range findings {
		install := d.remedy(f)
		if install == nil {
			continue
		}
		report.Send(event.FixStarted{Name: f.Name, Problem: f.Detail})
		log := &lineLog{to: func(line string) { report.Output(event.StageFix, line) }}
		err := install(ctx, tools, log)
		log.flush()
		if ctx.Err() != nil {
			return findings, &errdefs.Error{Kind: errdefs.KindCancelled, Err: context.Cause(ctx)}
		}
		if err != nil {
			failed[f.Name] = err
			continue
		}
		fixed[f.Name] = true
		report.Send(event.FixFinished{Name: f.Name})
	}
	return d.afterFix(ctx, fixed, failed)
}

func (d *Doctor) afterFix(ctx context.Context, fixed map[string]bool, failed map[string]error) ([]Finding, error) {
	findings := d.Check(ctx)
	var names []string
	for i := range findings {
		f := &findings[i]
		f.Fixed = fixed[f.Name] && f.OK
		if err := failed[f.Name]; err != nil && !f.OK {
			f.Fix, f.Remedies = err.Error(), remedy.Of(err)
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		return findings, &errdefs.Error{Kind: errdefs.KindProvider, Err: fmt.Errorf("could not be installed: %s; see above", strings.Join(names, ", "))}
	}
	return findings, nil
}

func anyFixable(findings []Finding) bool {
	for _, f := range findings {
		if !f.OK && remedy.Has(f.Remedies, remedy.FixHost) {
			return true
		}
	}
	return false
}

type installer func(ctx context.Context, tools string, log io.Writer) error

// remedy is nil for what is there, and for what only its user can mend.
func (d *Doctor) remedy(f Finding) installer {
	if f.OK || !remedy.Has(f.Remedies, remedy.FixHost) {
		return nil
	}
	return map[string]installer{
		"isolation " + isolation.Bubblewrap: fromSystem("bubblewrap"),
		networkName:                         fromSystem(networkPackages[:]...),
		"isolation " + isolation.GVisor:     isolation.InstallGVisor,
		codeServerName: func(ctx context.Context, tools string, log io.Writer) error {
			return codeserver.Install(ctx, tools, d.Getenv, log)
		},
	}[f.Name]
}

// lockTools makes the folder of tools this program's own, and removes what a killed one
// was building there.
func (d *Doctor) lockTools(ctx context.Context, report event.Reporter) (dir string, unlock func(), err error) {
	dir, err = d.Paths.Tools()
	if err != nil {
		return "", nil, errdefs.Wrap(errdefs.KindConfig, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, errdefs.Wrap(errdefs.KindConfig, fmt.Errorf("make the folder of tools: %w", err))
	}
	path := filepath.Join(dir, ".lock")
	lock, held, err := state.TryAcquire(path)
	if held {
		report.Send(event.FixWaiting{})
		lock, err = state.Acquire(ctx, path)
	}
	if err != nil {
		return "", nil, errdefs.Wrap(errdefs.KindInternal, err)
	}
	left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), ".building-*"))
	for _, path := range left {
		_ = os.RemoveAll(path) // what cannot be removed is in nobody's way
	}
	return dir, lock.Release, nil
}

// escapeGlob takes the meaning from the signs of patterns.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// networkPackages of the system connect sandboxes with network: open.
var networkPackages = [...]string{"passt", "slirp4netns", "nftables"}

// fromSystem installs packages of the system, as root or with sudo.
func fromSystem(packages ...string) installer {
	return func(ctx context.Context, _ string, log io.Writer) error {
		return installPackages(ctx, packages, log)
	}
}

func installPackages(ctx context.Context, packages []string, log io.Writer) error {
	names := strings.Join(packages, " ")
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return fmt.Errorf("this system has no apt-get; install its package %s (Fedora: dnf install %s; Arch: pacman -S %s)", names, names, names)
	}
	command := []string{apt}
	if os.Geteuid() != 0 {
		sudo, err := exec.LookPath("sudo")
		if err != nil {
			return fmt.Errorf("only root can install %s, and there is no sudo; run as root: apt-get install %s", names, names)
		}
		command = []string{sudo, apt}
	}
	for _, words := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
		line := append(append([]string(nil), command...), words...)
		_, _ = fmt.Fprintln(log, strings.Join(line, " "))
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it leaves its records whole
		err = cmd.Run()                                                       // old lists may do: only the last one counts
	}
	if err != nil {
		return fmt.Errorf("apt-get could not install %s: %w (what it said is above); run as root: apt-get install %s", names, err, names)
	}
	return nil
}

// lineLog hands on whole lines of what programs print.
type lineLog struct {
	to   func(string)
	rest []byte
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.rest = rest
		l.tell(line)
	}
}

func (l *lineLog) flush() {
	l.tell(l.rest)
	l.rest = nil
}

func (l *lineLog) tell(line []byte) {
	if text := strings.TrimSpace(string(line)); text != "" {
		l.to(text)
	}
}
