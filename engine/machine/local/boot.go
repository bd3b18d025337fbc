package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

const runtimePrefix = "seer-runtime-"

// bootEnv is the environment of the machine's program. Of SEER_BOOT it fills in
// what only the provider knows: where to listen, where the folders are, and what of the
// cache is what it has put there.
func (p *provider) bootEnv(f folder, n *note, b boot) (map[string]string, error) {
	env := map[string]string{"LANG": "C.UTF-8"}
	for _, entry := range n.System.Env {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && !strings.HasPrefix(name, "SEER_") {
			env[name] = value
		}
	}
	env["HOME"], env["USER"], env["TMPDIR"] = "/home/seer", isolation.User, "/tmp"
	env["PATH"] = searchPath(b.python, env["PATH"])
	if n.Isolation == isolation.None {
		env["HOME"], env["TMPDIR"] = f.path("home"), f.path("tmp")
	}
	for name, value := range n.Spec.Env {
		env[name] = value
	}
	env["SEER_MACHINE"] = n.Key
	delete(env, HostPortsVariable)
	if n.Gate != nil {
		data, err := json.Marshal(n.Gate.inside())
		if err != nil {
			return nil, err
		}
		env["SEER_GATE"] = string(data)
	}
	if env["SEER_BOOT"] == "" {
		return env, nil
	}
	boot := map[string]any{}
	if err := json.Unmarshal([]byte(env["SEER_BOOT"]), &boot); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "SEER_BOOT is not a JSON object: %v", err)
	}
	boot["machine"] = n.Key
	if len(b.trusted) > 0 {
		boot["trusted"] = b.trusted
	}
	if n.Isolation == isolation.None {
		boot["listen"], boot["cache"], boot["scratch"] = "unix:"+filepath.Join(f.path("run"), "s"), f.path("cache"), f.path("scratch")
		boot["roots"] = roots(f, n.Spec.Mounts)
	} else {
		boot["listen"], boot["cache"], boot["scratch"] = "unix:/run/seer/s", "/seer/cache", "/seer/scratch"
		delete(boot, "roots")
		if n.Isolation == isolation.GVisor { // sockets of what is saved must not lead out
			boot["sockets"] = "/dev/shm"
		}
	}
	data, err := json.Marshal(boot)
	if err != nil {
		return nil, err
	}
	env["SEER_BOOT"] = string(data)
	return env, nil
}

// roots says where the well-known folders really are when nothing is mounted.
func roots(f folder, mounts []sdk.Mount) map[string]string {
	out := map[string]string{}
	for inside, dir := range writable {
		out[inside] = f.path(dir)
	}
	for _, m := range mounts {
		out[path.Clean(m.Target)] = m.Source
	}
	return out
}

// searchPath puts the interpreter first, so that python3 means it everywhere.
func searchPath(python isolation.Interpreter, system string) string {
	if system == "" {
		system = usualPath
	}
	if dir := filepath.Dir(python.Executable); python.Executable != "" && dir != "/usr/bin" && dir != "/bin" && !strings.HasPrefix(system+":", dir+":") {
		return dir + ":" + system
	}
	return system
}

// fillCache shows the loader the binaries of this computer under the names it
// looks for. They are links, so that the machine can add others but not change
// these.
func (p *provider) fillCache(f folder, kind string) error {
	binaries, err := p.binaries()
	if err != nil {
		return err
	}
	for digest, name := range binaries {
		target := path.Join(artifacts, name)
		if kind == isolation.None {
			target = filepath.Join(p.ArtifactsDir, name)
		}
		link := filepath.Join(f.path("cache"), runtimePrefix+digest)
		if err := os.Symlink(target, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("fill the loader's cache: %w", err)
		}
	}
	return nil
}

// binaries finds the runtimes for this computer: digest → file name.
func (p *provider) binaries() (map[string]string, error) {
	out := map[string]string{}
	if p.ArtifactsDir == "" {
		return out, nil
	}
	entries, err := os.ReadDir(p.ArtifactsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the runtime's binaries: %w", err)
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), runtimePrefix)
		switch {
		case !ok || !entry.Type().IsRegular():
		case len(rest) == 2*sha256.Size && strings.Trim(rest, "0123456789abcdef") == "":
			out[rest] = entry.Name()
		case rest == "linux-"+runtime.GOARCH || rest == runtime.GOOS+"-"+runtime.GOARCH:
			digest, err := p.runtimeDigest(entry)
			if err != nil {
				return nil, err
			}
			out[digest] = entry.Name()
		}
	}
	return out, nil
}

// runtimeFile tells a binary from one that has taken its place.
type runtimeFile struct {
	name    string
	size    int64
	changed int64
}

// runtimeDigest is that of a binary of the runtime, which is read once.
func (p *provider) runtimeDigest(entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	file := runtimeFile{info.Name(), info.Size(), info.ModTime().UnixNano()}
	if known, ok := p.digests.Load(file); ok {
		return known.(string), nil
	}
	digest, err := digestOf(filepath.Join(p.ArtifactsDir, entry.Name()))
	if err == nil {
		p.digests.Store(file, digest)
	}
	return digest, err
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the runtime's binary: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the runtime's binary: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyFile returns the SHA-256 of what it has copied.
func copyFile(to, from string) (digest string, err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), os.WriteFile(to, data, 0o600)
}
