package isolation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// The folders and files in a State. The name of the sandbox can be the same
// everywhere, because each has a folder of its own for what runsc keeps.
const (
	stateTree   = "tree"   // what is / inside
	stateMask   = "mask"   // what lies on an image: mount points and files in /etc
	stateLower  = "lower"  // where the image is mounted
	stateDpkg   = "dpkg"   // locks of dpkg
	stateUpper  = "upper"  // what is changed in a writable tree
	stateBundle = "bundle" // config.json
	stateRun    = "run"    // runsc's own
	stateScript = "start"
	stateLayer  = "layer.tar"
	sandboxID   = "seer"
)

func gvisorCommand(spec Spec) (*exec.Cmd, error) {
	runsc, err := runscPath(spec.Places)
	if err != nil {
		return nil, err
	}
	g := &gvisor{spec: spec, runsc: runsc, privileged: privileged(), state: filepath.Clean(spec.State)}
	if err := g.check(); err != nil {
		return nil, err
	}
	if err := g.prepare(); err != nil {
		return nil, fmt.Errorf("prepare gVisor's sandbox: %w", err)
	}
	return g.command()
}

// gvisor prepares one sandbox.
type gvisor struct {
	spec       Spec
	runsc      string
	state      string
	privileged bool // may mount without a user namespace

	tree   tree
	oci    ociSpec
	script []string // commands of the shell that mounts and then becomes runsc
}

func (g *gvisor) check() error {
	if err := checkEnv(g.spec.Env); err != nil {
		return err
	}
	if err := checkAbs("the folder for gVisor's state", g.spec.State); err != nil {
		return err
	}
	if strings.ContainsAny(g.spec.State, "\n") {
		return sdk.Errorf(sdk.Invalid, "the folder for gVisor's state has a line break in its name")
	}
	entries, err := os.ReadDir(g.state)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "the folder for gVisor's state cannot be used: %v", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case stateTree, stateMask, stateLower, stateUpper, stateBundle, stateRun, stateScript:
			return sdk.Errorf(sdk.Invalid, "the folder for gVisor's state %s is already in use or was not removed: it has %s", g.state, e.Name())
		}
	}
	if len(g.spec.Root.Layers) > 0 && !g.spec.Root.Writable {
		return sdk.Errorf(sdk.Unsupported, "layers need a writable tree; otherwise unpack them into a copy of the image")
	}
	if g.spec.Root.Image != "" {
		return checkImage(g.spec.Root.Image)
	}
	return nil
}

func checkImage(image string) error {
	if err := checkAbs("the folder of the image", image); err != nil {
		return err
	}
	if info, err := os.Stat(image); err != nil || !info.IsDir() {
		return sdk.Errorf(sdk.NotFound, "there is no folder of an image at %s", image)
	}
	return nil
}

func (g *gvisor) prepare() error {
	for _, dir := range []string{stateTree, stateBundle, stateRun} {
		if err := os.Mkdir(filepath.Join(g.state, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(g.state, stateTree), 0o755); err != nil { // it is / inside
		return err
	}
	if err := g.base(); err != nil {
		return err
	}
	g.describe()
	if err := g.mounts(); err != nil {
		return err
	}
	if err := g.devices(); err != nil {
		return err
	}
	if err := g.layers(); err != nil {
		return err
	}
	if err := g.note(); err != nil {
		return err
	}
	data, err := json.Marshal(g.oci)
	if err != nil {
		return err
	}
	// It has the environment, so it is for nobody else.
	return os.WriteFile(filepath.Join(g.state, stateBundle, "config.json"), data, 0o600)
}

// identity is the user inside.
func (g *gvisor) identity() int {
	if g.spec.Root.Writable {
		return 0
	}
	return uid
}

// flags are those of runsc that a sandbox is run and restored with.
func (g *gvisor) flags() []string {
	flags := []string{
		"--root=" + stateRun, // short, and relative to the state: the path of a socket is limited
		"--log=" + filepath.Join(g.state, "runsc.log"),
		"--platform=systrap",
		"--ignore-cgroups",
		"--gofer-network-namespace=new",
		"--host-settings=ignore",
	}
	if g.spec.Network || g.spec.Nameserver != "" { // the network of the namespace that runsc is in
		flags = append(flags, "--network=host")
	} else {
		flags = append(flags, "--network=none")
	}
	if g.spec.HostSockets {
		flags = append(flags, "--host-uds=all")
	} else {
		flags = append(flags, "--host-uds=create")
	}
	if g.spec.Root.Writable {
		flags = append(flags, "--overlay2=root:dir="+filepath.Join(g.state, stateUpper), "--allow-rootfs-tar-annotation")
	} else {
		flags = append(flags, "--overlay2=none")
	}
	if g.nvidia() {
		flags = append(flags, "--nvproxy", "--nvproxy-allowed-driver-capabilities=utility,compute")
	}
	return flags
}

// command is a shell that mounts in a namespace of its own and becomes runsc. They
// are one process, whose death is that of the sandbox.
func (g *gvisor) command() (*exec.Cmd, error) {
	tools := map[string]string{}
	for _, name := range []string{"unshare", "sh", "mount", "setpriv"} {
		path, err := systemTool(name)
		if err != nil {
			return nil, err
		}
		tools[name] = path
	}
	run := append([]string{g.runsc}, g.flags()...)
	bundle := filepath.Join(g.state, stateBundle)
	if g.spec.RestoreFrom != "" {
		// The processes go on while their memory is still read: what they touch comes first.
		run = append(run, "restore", "-background", "-image-path="+g.spec.RestoreFrom, "-bundle="+bundle, sandboxID)
	} else {
		run = append(run, "run", "-bundle="+bundle, sandboxID)
	}
	if g.spec.DieWithParent {
		// The parent may have died before; then nobody would send the signal.
		alive := fmt.Sprintf(`[ "$PPID" = %d ] || exit 1; exec "$@"`, os.Getpid())
		run = append([]string{tools["setpriv"], "--pdeathsig", "KILL", "--", tools["sh"], "-c", alive, "sh"}, run...)
	}
	if !g.spec.Root.Writable {
		// The caller's files belong to the user inside, independent of the caller.
		id := strconv.Itoa(uid)
		run = append([]string{tools["unshare"], "--user", "--map-user=" + id, "--map-group=" + id, "--keep-caps", "--mount", "--"}, run...)
	}
	lines := []string{"set -e", "umask 022", "mount() { " + quote(tools["mount"]) + ` "$@"; }`, "cd " + quote(g.state)}
	lines = append(append(lines, g.script...), "exec "+quote(run...))
	script := strings.Join(lines, "\n") + "\n"
	file := filepath.Join(g.state, stateScript)
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, err
	}
	args := []string{"unshare", "--mount"}
	if g.spec.Nameserver != "" && !g.spec.Network {
		args = append(args, "--net")
	}
	if !g.privileged {
		args = append(args, "--user", "--map-root-user")
	}
	return &exec.Cmd{Path: tools["unshare"], Args: append(args, "--", tools["sh"], file), Env: []string{}}, nil
}

// quote makes words of a shell's command line.
func quote(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}
