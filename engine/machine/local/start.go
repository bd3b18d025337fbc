package local

import (
	"context"
	"os"
	"os/exec"
	"path"
	"sort"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/sdk"
)

// start does the work of Create. It is never called for a key that has a
// process. The warning is of limits that cannot be kept.
func (p *provider) start(ctx context.Context, handle string, f folder, n *note, again *restored) (warning string, err error) {
	listeners, err := reserve(n)
	if err != nil {
		return "", err
	}
	defer listeners.close()
	n.Parked = again.parked()
	b, err := p.intend(ctx, handle, f, n, boot{listeners: listeners, again: again, trusted: map[string]string{}})
	if err != nil {
		return "", err
	}
	p.at("intended")
	watched, err := p.watchdog.watch()
	if err == nil {
		err = f.make(f.filled(n.Spec)...)
	}
	if err == nil {
		err = again.fill(ctx, f)
	}
	if err != nil {
		_ = f.remove()
		return "", err
	}
	warning = limit(n, n.Spec)
	if err := p.launch(ctx, f, n, b); err != nil {
		_, _ = n.lift(), f.remove() // nothing runs; the error tells what matters
		return "", err
	}
	p.at("launched")
	abandon := func(err error) (string, error) {
		_ = p.kill(context.WithoutCancel(ctx), f, n)
		_, _ = n.lift(), f.remove()
		return "", err
	}
	if err := p.guarded(ctx, n, watched); err != nil {
		return abandon(err)
	}
	if listeners != nil {
		// What ended at once says why itself; beside what lives on without bwrap, the next look
		// starts another network proxy.
		if err := p.openProxy(ctx, f, n, listeners, n.Outer); err != nil && alive(n.Outer) && f.lives(n) {
			p.trials.forgetUplink() // which is tried again before the next machine
			return abandon(err)
		}
		p.at("gated")
	}
	// The arguments were needed to start; keeping them would keep SEER_BOOT.
	n.Spec = nil
	if err := f.write(n); err != nil {
		_ = p.kill(context.WithoutCancel(ctx), f, n)
		return "", err
	}
	p.at("recorded")
	p.Logger.Debug("machine started", "key", n.Key, "pid", n.Outer.PID, "isolation", n.Isolation, "folder", f.root)
	return warning, nil
}

// guarded waits until the watchdog is there, and has taken over the GPUs of the machine.
func (p *provider) guarded(ctx context.Context, n *note, watched func() error) error {
	if err := watched(); err != nil || p.watchdog.off {
		return err
	}
	return p.handOver(ctx, n)
}

// intend finds what the machine needs and writes down that it will be started.
func (p *provider) intend(ctx context.Context, handle string, f folder, n *note, b boot) (boot, error) {
	var err error
	if b.python, err = p.interpreter(ctx, n); err != nil {
		return b, err
	}
	if n.Spec.GPU == "" {
		return b, f.write(n)
	}
	wish, err := wishAgain(p, handle, n, b.again)
	if err != nil {
		return b, err
	}
	if b.gpus, b.taken, err = p.take(ctx, n, wish, b.again); err != nil {
		return b, err
	}
	return b, f.write(n)
}

// boot is what a machine is started with and nobody needs later.
type boot struct {
	python    isolation.Interpreter
	listeners *sockets // of its network proxy, if it has one
	gpus      isolation.GPUSet
	taken     []isolation.GPU
	again     *restored // saved processes

	trusted map[string]string // file in the cache → SHA-256
}

// interpreter finds the machine's Python: that of its image, or one of this computer.
func (p *provider) interpreter(ctx context.Context, n *note) (isolation.Interpreter, error) {
	if n.System.Dir != "" {
		return n.System.Interpreter()
	}
	want := ""
	if n.Spec.Image != nil {
		want = n.Spec.Image.PythonVersion
	}
	if want != "" && p.PythonVersion != nil {
		return p.PythonVersion(ctx, want)
	}
	python, err := p.Python(ctx)
	if err == nil && want != "" && python.Version != want && !strings.HasPrefix(python.Version, want+".") {
		err = sdk.Errorf(sdk.Unsupported, "the Python of sandboxes on this computer is %s (%s), and %s is wanted; name another one in SEER_PYTHON, or set image.base to python:%s",
			python.Version, python.Executable, want, want)
	}
	return python, err
}

// reserve takes the machine's ports: for its network proxy, or it sees that they are free.
func reserve(n *note) (*sockets, error) {
	if n.NetProxy == nil {
		return nil, checkPorts(n.Ports)
	}
	return n.NetProxy.listen(true)
}

func (p *provider) launch(ctx context.Context, f folder, n *note, b boot) error {
	if err := f.link(); err != nil {
		return err
	}
	if b.listeners != nil {
		if err := b.listeners.reachable(f); err != nil {
			return err
		}
	}
	if err := p.runtimes.link(f, n.Isolation); err != nil {
		return err
	}
	if p.Cache != nil && n.System.Dir == "" {
		for name, file := range p.Cache(ctx, b.python) {
			digest, err := copyFile(path.Join(f.path("cache"), name), file)
			if err != nil {
				p.Logger.Debug("not in the machine's cache", "name", name, "error", err)
				continue
			}
			b.trusted[name] = digest
		}
	}
	cmd, err := p.command(f, n, b)
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
	if err := isolation.Thread(n.Isolation, func() error { return n.Limits.Start(cmd) }); err != nil {
		return err
	}
	n.Outer.PID = cmd.Process.Pid
	n.Outer.Start, _ = startOf(cmd.Process.Pid) // it is our child, so the number cannot have been reused
	go func() { _ = cmd.Wait() }()              // so that it does not stay as a zombie while this program lives
	return nil
}

func (p *provider) command(f folder, n *note, b boot) (*exec.Cmd, error) {
	env, err := p.bootEnv(f, n, b)
	if err != nil {
		return nil, err
	}
	argv := append([]string(nil), n.Spec.Command...)
	if argv[0] == "python3" || argv[0] == "python" {
		argv[0] = b.python.Executable
	}
	spec := isolation.Spec{
		Argv: argv, Env: env, Network: !ownNetwork(n.Spec, n.Isolation), PIDOne: true, ReadOnly: b.python.Paths,
		TmpfsSize: tmpfsSize(n.Spec), Nested: n.Spec.NestedSandbox, Root: n.System.Root(), State: f.path("gvisor"), Places: p.Places,
		HostSockets: n.NetProxy != nil && (n.NetProxy.proxied() || len(n.NetProxy.HostPorts) > 0),
	}
	if n.NetProxy.connected() {
		spec.Nameserver = netproxy.Nameserver
	}
	if err := showGPUs(&spec, b.gpus, b.taken, n.Isolation); err != nil {
		return nil, err
	}
	shareGPUs(&spec, b.taken, n.Claims)
	if n.Isolation == isolation.None {
		spec.Dir = f.path("workspace")
		return isolation.Command(isolation.None, spec)
	}
	spec.Dir, spec.Mounts = "/workspace", append(spec.Mounts, mounts(f, p.ArtifactsDir, n.Spec.Mounts)...)
	if n.Isolation == isolation.Bubblewrap {
		if spec.Status, err = os.OpenFile(f.path("status"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}
	b.again.apply(&spec)
	if err := p.keepLaunch(f, n, spec); err != nil {
		return nil, err
	}
	cmd, err := isolation.Command(n.Isolation, spec)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, machineCookie(n.Key)) // of bwrap or runsc itself: how it is found again
	return cmd, nil
}

func mounts(f folder, artifactsDir string, asked []sdk.Mount) []sdk.Mount {
	var out []sdk.Mount
	for inside, dir := range writable {
		out = append(out, sdk.Mount{Source: f.path(dir), Target: inside, Writable: true})
	}
	if info, err := os.Stat(artifactsDir); artifactsDir != "" && err == nil && info.IsDir() {
		out = append(out, sdk.Mount{Source: artifactsDir, Target: artifacts})
	}
	// An outer folder must be mounted before one in it.
	out = append(out, asked...)
	sort.SliceStable(out, func(i, j int) bool { return depth(out[i].Target) < depth(out[j].Target) })
	return out
}

func depth(target string) int { return strings.Count(path.Clean(target), "/") }
