// Package isolation runs a command apart from the rest of this computer. The command
// sees the system's programs and the folders that the caller gives it, and nothing else.
// It does not see the user's home, environment or processes, nor other isolated commands.
package isolation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// The kinds of isolation.
const (
	Auto       = "auto"       // the best one that works here
	Bubblewrap = "bubblewrap" // namespaces and an own file tree
	GVisor     = "gvisor"     // a kernel of its own: runsc
	None       = "none"       // an ordinary process
)

// The user that a command is inside, independent of the user that started it. The home is empty and
// writable, and gone afterwards; mount a folder there to keep it.
const (
	User = "seer"
	Home = "/home/seer"
	uid  = 1000
)

// Spec is a command and everything it may see. Nothing is inherited.
type Spec struct {
	Argv []string
	Env  map[string]string
	Dir  string // working folder, a path inside; default /

	// Mounts shows folders and files of this computer inside. A later mount may lie
	// in an earlier one.
	Mounts []sdk.Mount
	// ReadOnly are paths that are shown read-only at the same place, for instance
	// [Interpreter.Paths]. A symbolic link is shown as one, without its target.
	ReadOnly []string

	Network bool // share this computer's network; otherwise there is only a private loopback
	// Nameserver, without Network, is the address of the name server inside. The command
	// has a network namespace of its own that the caller connects, from outside.
	Nameserver string
	Hostname   string // default "seer"

	PIDOne        bool // the command itself is process 1 of its namespace and reaps; in gVisor it always is
	DieWithParent bool // dies with the thread that starts it; lock it to the process's life

	// Nested lets programs inside make a sandbox of their own, with namespaces and
	// mounts. It opens much of the kernel to
	// them. In gVisor they always can, as its kernel is not this computer's. Bubblewrap
	// refuses it to root.
	Nested bool
	// TmpfsSize bounds each folder inside that is kept in memory, such as /dev/shm, in
	// bytes; 0 is the kernel's default, half of the memory.
	TmpfsSize int64

	// Status, if set, receives the JSON documents of bwrap --json-status-fd; the
	// first one holds child-pid, which takes everything inside along when killed.
	// Only for bubblewrap: with gVisor the process that was started takes it along.
	Status *os.File

	Root Root // the tree inside; the zero value is this computer's own system, read-only
	// Devices are device nodes that are shown where they are, for instance those of
	// [GPUs].
	Devices []string

	// State is a private folder on disk for what gVisor keeps beside the command. It
	// must exist, is used by one command at a time and belongs to the caller, who
	// removes it afterwards. Required for gVisor, not used by others.
	State string
	// Places are folders in which runsc is looked for before those of the system.
	Places []string
	// HostSockets lets the command connect to Unix sockets that others have made in
	// its mounts. Bubblewrap always does.
	HostSockets bool
	off         defences // always empty, but for tests

	// RestoreFrom is a folder that [Checkpoint] has filled: instead of starting Argv,
	// gVisor continues the processes saved there. All else must be as it was then.
	RestoreFrom string
}

// defences are what tests switch off, to show that attacks succeed without them.
type defences struct {
	filter  bool // of system calls
	userns  bool // --disable-userns
	keyring bool // of the session
	sizes   bool // of folders in memory
	nested  bool // no Nested for root
	keys    bool // the hidden lists of keys
}

// Root is the tree in which a command runs.
type Root struct {
	// Image is the folder of an unpacked image, whose tree replaces this computer's
	// system. It is never changed.
	Image string
	// Writable lets the command change the tree, as user 0 with that user's rights
	// inside, so that apt works. What it changes is kept in State. Only gVisor. /tmp is
	// a part of this tree, unless something is mounted there, and not of what is saved.
	Writable bool
	// Layers are tar files of [SaveRoot], lowest first, that lie on the tree. Only
	// gVisor with a writable tree: for others, unpack them into a copy of the image,
	// which also is the better way for gigabytes, because gVisor reads layers into memory.
	Layers []string
}

// Choice is the isolation to use.
type Choice struct {
	Kind    string
	Warning string // to be shown to the user when not empty
	Reason  string // why nothing stronger is there; empty where it was asked for

	Remedies []remedy.Remedy // of the reason
}

// Because is the reason, for the end of an error.
func (c Choice) Because() string {
	if c.Reason == "" {
		return ""
	}
	return "; " + c.Reason
}

// Detect tries every kind, best first. It says of one that cannot be used why
// not and what to do.
func Detect(ctx context.Context, places ...string) []sdk.Isolation {
	found := []sdk.Isolation{{Name: Bubblewrap}, {Name: GVisor}, {Name: None, Usable: true}}
	var both sync.WaitGroup
	both.Go(func() { found[0], _ = detectBubblewrap(ctx) }) // the reason says it
	both.Go(func() { found[1] = detectGVisor(ctx, places) })
	both.Wait()
	return found
}

// Choose finds the isolation for what was asked: empty or [Auto] for the first of [Detect] that
// works, or the name of a kind, which is then used or refused. None is chosen by itself only where
// nothing else works, and with a warning.
func Choose(ctx context.Context, asked string, places ...string) (Choice, error) {
	var found []sdk.Isolation
	if asked == "" || asked == Auto || asked == Bubblewrap {
		bubblewrap, undecided := detectBubblewrap(ctx)
		if undecided != nil {
			return Choice{}, fmt.Errorf("isolation cannot be chosen: a try of bubblewrap failed: %w; try again, or set isolation to gvisor or none", undecided)
		}
		found = append(found, bubblewrap)
	}
	if asked == GVisor || len(found) > 0 && asked != Bubblewrap && !found[0].Usable {
		found = append(found, detectGVisor(ctx, places))
	}
	return choose(asked, found...)
}

// Remedies are what can be done about a kind that cannot be used.
func Remedies(of sdk.Isolation) []remedy.Remedy {
	if !of.Missing {
		return nil
	}
	return []remedy.Remedy{{Action: remedy.FixHost}}
}

// choose decides with what was found of the kinds that matter, best first.
func choose(asked string, found ...sdk.Isolation) (Choice, error) {
	switch asked {
	case "", Auto:
		var reasons []string
		var remedies []remedy.Remedy
		for _, i := range found {
			if i.Usable {
				return Choice{Kind: i.Name}, nil
			}
			reasons, remedies = append(reasons, i.Name+": "+i.Reason), remedy.Add(remedies, Remedies(i)...)
		}
		reason := strings.Join(reasons, "; ")
		return Choice{Kind: None, Warning: "NO ISOLATION: what runs in the sandbox can read your files and processes, because no isolation works here: " +
			reason, Reason: reason, Remedies: remedies}, nil
	case Bubblewrap, GVisor:
		if last := found[len(found)-1]; !last.Usable {
			return Choice{}, remedy.For(sdk.Errorf(sdk.Unsupported, "isolation %s cannot be used: %s", asked, last.Reason), Remedies(last)...)
		}
		return Choice{Kind: asked}, nil
	case None:
		return Choice{Kind: None, Warning: "NO ISOLATION, as asked for: what runs in the sandbox can read your files and processes"}, nil
	}
	return Choice{}, sdk.Errorf(sdk.Invalid, "unknown isolation %q; use auto, bubblewrap, gvisor or none", asked)
}

// Command prepares, but does not start, the command in the given kind of
// isolation; start it within [Thread]. Its ExtraFiles are taken: more may be appended, none removed. They
// are closed when the command is collected, or by [Release] after Start.
//
// With None, mounts are refused unless they show a path where it already is, and
// so is a command without a network: it would get more than was asked for.
func Command(kind string, spec Spec) (*exec.Cmd, error) {
	if len(spec.Argv) == 0 {
		return nil, sdk.Errorf(sdk.Invalid, "there is no command to run")
	}
	switch kind {
	case Bubblewrap:
		return bubblewrapCommand(spec.behindLinks())
	case GVisor:
		return gvisorCommand(spec.behindLinks())
	case None:
		return plainCommand(spec)
	}
	return nil, sdk.Errorf(sdk.Invalid, "unknown isolation %q", kind)
}

// Release closes the files that cmd hands to the command; call it after Start.
func Release(cmd *exec.Cmd) {
	for _, f := range cmd.ExtraFiles {
		_ = f.Close()
	}
}

func plainCommand(spec Spec) (*exec.Cmd, error) {
	if !spec.Network {
		return nil, sdk.Errorf(sdk.Unsupported, "a command without a network needs isolation; use bubblewrap, or allow the network")
	}
	if spec.Root.Image != "" || spec.Root.Writable || len(spec.Root.Layers) > 0 || spec.RestoreFrom != "" {
		return nil, sdk.Errorf(sdk.Unsupported, "without isolation a command has this computer's own tree; use bubblewrap or gvisor")
	}
	for _, m := range spec.Mounts {
		if filepath.Clean(m.Source) != filepath.Clean(m.Target) {
			return nil, sdk.Errorf(sdk.Unsupported, "without isolation %s cannot be shown at %s", m.Source, m.Target)
		}
	}
	cmd := &exec.Cmd{Path: spec.Argv[0], Args: spec.Argv, Env: environ(spec.Env), Dir: spec.Dir}
	if spec.DieWithParent {
		cmd.SysProcAttr = dieWithParent()
	}
	if !strings.Contains(spec.Argv[0], "/") {
		path, err := lookPath(spec.Argv[0], spec.Env["PATH"])
		if err != nil {
			return nil, err
		}
		cmd.Path = path
	}
	return cmd, nil
}

// lookPath finds a program in the command's own PATH, not in that of this
// process.
func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(dir, name)
		if info, err := os.Stat(full); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", sdk.Errorf(sdk.NotFound, "there is no program %q in the PATH %q", name, path)
}

func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}

func checkEnv(env map[string]string) error {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return sdk.Errorf(sdk.Invalid, "the environment variable %q cannot be passed on", name)
		}
	}
	return nil
}

func checkAbs(what, path string) error {
	if !filepath.IsAbs(path) || strings.Contains(path, "\x00") {
		return sdk.Errorf(sdk.Invalid, "%s %q is not an absolute path", what, path)
	}
	return nil
}

// underSystem reports whether the tree shows path anyway.
func underSystem(path string) bool {
	path = filepath.Clean(path)
	return path == "/usr" || strings.HasPrefix(path, "/usr/")
}

// Visible are the folders of this computer that a confined command may see without a mount.
func Visible() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev", "/run", "/seer"}
}
