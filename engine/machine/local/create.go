package local

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/gate"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// Create starts the machine's program in one step. What it intends is on disk
// before the program is started, and the program carries the key in its
// environment: whoever comes after a crash finds either of them.
func (p *provider) Create(ctx context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	if err := check(spec); err != nil {
		return sdk.CreateStep{}, err
	}
	choice, err := p.choose(ctx, spec.Isolation)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	if choice.Kind == isolation.None && ownNetwork(&spec) {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Unsupported, "network %s cannot be kept without isolation, because it needs a namespace%s",
			spec.Network, because(choice.Warning))
	}
	handle := handleOf(spec.Key)
	lock, err := p.lock(ctx, handle)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	defer lock.Release()
	step := sdk.CreateStep{Handle: handle}
	f := p.folder(handle)
	if done, err := p.created(f, spec.Key); done || err != nil {
		return step, err
	}
	step.Log = describe(choice)
	n := &note{Key: spec.Key, Owner: spec.Owner, Port: spec.Port, Ports: spec.Ports, Isolation: choice.Kind, CreatedAt: time.Now().UTC(), Spec: &spec,
		Gate: wantsGate(&spec, choice.Kind)}
	if err := p.start(ctx, f, n); err != nil {
		lock.Remove()
		return sdk.CreateStep{}, fmt.Errorf("start the machine: %w", err)
	}
	return step, nil
}

func describe(choice isolation.Choice) []string {
	out := []string{"isolation: " + choice.Kind}
	if choice.Warning != "" {
		out = append(out, choice.Warning)
	}
	return out
}

func because(warning string) string {
	if _, reason, ok := strings.Cut(warning, "because "); ok {
		return "; " + reason
	}
	return ""
}

// created reports whether the key has a machine, running or ended. After a start
// that died half-way it is found by its cookie. None can be overlooked: a child
// that has been forked but does not carry the cookie yet still holds the lock.
func (p *provider) created(f folder, key string) (bool, error) {
	n, err := f.read()
	if err != nil || n == nil {
		return false, err
	}
	if n.Outer.PID != 0 {
		return true, nil
	}
	found, err := carriers(machineCookie(key))
	if err != nil || len(found) == 0 {
		return false, err
	}
	n.Outer = eldest(found)
	return true, f.write(n)
}

// start does the work of Create. It is never called for a key that has a
// process.
func (p *provider) start(ctx context.Context, f folder, n *note) error {
	doors, err := reserve(n)
	if err != nil {
		return err
	}
	defer doors.close()
	python, err := p.Python(ctx)
	if err != nil {
		return err
	}
	if err := f.write(n); err != nil {
		return err
	}
	p.at("intended")
	if err := f.make(); err != nil {
		_ = f.remove()
		return err
	}
	if err := p.launch(ctx, f, n, python, doors); err != nil {
		_ = f.remove() // nothing runs; the error tells what matters
		return err
	}
	p.at("launched")
	if doors != nil {
		if err := p.openGate(f, n, doors, n.Outer); err != nil {
			_ = p.kill(context.WithoutCancel(ctx), f, n)
			_ = f.remove()
			return err
		}
		p.at("gated")
	}
	// The arguments were needed to start; keeping them would keep SEER_BOOT.
	n.Spec = nil
	if err := f.write(n); err != nil {
		_ = p.kill(context.WithoutCancel(ctx), f, n)
		return err
	}
	p.at("recorded")
	p.Logger.Debug("machine started", "key", n.Key, "pid", n.Outer.PID, "isolation", n.Isolation, "folder", f.root)
	return nil
}

// reserve takes the machine's ports: for its gate, or it sees that they are free.
func reserve(n *note) (*sockets, error) {
	if n.Gate == nil {
		return nil, checkPorts(n.Ports)
	}
	return n.Gate.listen()
}

func (p *provider) launch(ctx context.Context, f folder, n *note, python isolation.Interpreter, doors *sockets) error {
	if err := f.link(); err != nil {
		return err
	}
	if doors != nil {
		if err := doors.reachable(f); err != nil {
			return err
		}
	}
	if err := p.fillCache(f, n.Isolation); err != nil {
		return err
	}
	if p.Cache != nil {
		for name, file := range p.Cache(ctx, python) {
			if err := copyFile(path.Join(f.path("cache"), name), file); err != nil {
				p.Logger.Debug("not in the machine's cache", "name", name, "error", err)
			}
		}
	}
	cmd, err := p.command(f, n, python)
	if err != nil {
		return err
	}
	defer isolation.Release(cmd)
	log, err := os.OpenFile(f.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.Outer.PID = cmd.Process.Pid
	n.Outer.Start, _ = startOf(cmd.Process.Pid) // it is our child, so the number cannot have been reused
	go func() { _ = cmd.Wait() }()              // so that it does not stay as a zombie while this program lives
	return nil
}

func (p *provider) command(f folder, n *note, python isolation.Interpreter) (*exec.Cmd, error) {
	env, err := p.bootEnv(f, n, python)
	if err != nil {
		return nil, err
	}
	argv := append([]string(nil), n.Spec.Command...)
	if argv[0] == "python3" || argv[0] == "python" {
		argv[0] = python.Executable
	}
	spec := isolation.Spec{Argv: argv, Env: env, Network: !ownNetwork(n.Spec), PIDOne: true, ReadOnly: python.Paths}
	if n.Isolation == isolation.None {
		spec.Dir = f.path("workspace")
		return isolation.Command(isolation.None, spec)
	}
	spec.Dir, spec.Mounts = "/workspace", p.mounts(f, n.Spec.Mounts)
	if spec.Status, err = os.OpenFile(f.path("status"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	cmd, err := isolation.Command(isolation.Bubblewrap, spec)
	if err != nil {
		return nil, err
	}
	cmd.Env = []string{machineCookie(n.Key)} // of bwrap itself: how it is found again
	return cmd, nil
}

func (p *provider) mounts(f folder, asked []sdk.Mount) []sdk.Mount {
	var out []sdk.Mount
	for inside, dir := range writable {
		out = append(out, sdk.Mount{Source: f.path(dir), Target: inside, Writable: true})
	}
	if info, err := os.Stat(p.ArtifactsDir); p.ArtifactsDir != "" && err == nil && info.IsDir() {
		out = append(out, sdk.Mount{Source: p.ArtifactsDir, Target: artifacts})
	}
	// An outer folder must be mounted before one in it.
	out = append(out, asked...)
	sort.SliceStable(out, func(i, j int) bool { return depth(out[i].Target) < depth(out[j].Target) })
	return out
}

func depth(target string) int { return strings.Count(path.Clean(target), "/") }

// check refuses what this provider cannot do.
func check(spec sdk.MachineSpec) error {
	switch {
	case spec.Key == "" || strings.ContainsAny(spec.Key, "\x00\n"):
		return sdk.Errorf(sdk.Invalid, "a machine needs a key")
	case len(spec.Command) == 0:
		return sdk.Errorf(sdk.Invalid, "a machine needs a command")
	case spec.GPU != "":
		return sdk.Errorf(sdk.Unsupported, "the local provider of this version passes no GPU through; leave out gpu, or choose another provider")
	case spec.Image != nil && !emptyImage(spec.Image):
		return sdk.Errorf(sdk.Unsupported, "the local provider builds no images; leave out image, system_packages and python_version")
	case spec.Network != "" && spec.Network != "open" && !ownNetwork(&spec):
		return sdk.Errorf(sdk.Invalid, "unknown network %q; use open, none or a list of hosts", spec.Network)
	case (spec.Network == "hosts") != (len(spec.NetworkHosts) > 0):
		return sdk.Errorf(sdk.Invalid, "the network hosts and a list of hosts go together")
	}
	if _, err := gate.ParseHosts(spec.NetworkHosts); err != nil {
		return sdk.Errorf(sdk.Invalid, "%v", err)
	}
	return nil
}

func emptyImage(i *sdk.Image) bool {
	return i.Base == "" && i.PythonVersion == "" && len(i.SystemPackages)+len(i.PythonPackages)+len(i.Commands) == 0
}

// checkPorts refuses ports that somebody has: the sandbox shares this computer's
// network.
func checkPorts(ports []int) error {
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return takenPort(port, err)
		}
		_ = l.Close()
	}
	return nil
}

func takenPort(port int, err error) error {
	return sdk.Errorf(sdk.Invalid, "port %d cannot be used on this computer (%v); choose another one in sandbox.ports", port, err)
}
