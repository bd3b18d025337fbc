package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/sdk"
)

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
	if n.NetProxy != nil {
		data, err := json.Marshal(n.NetProxy.inside())
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
	if n.EndUnix > 0 {
		boot["end_unix"] = n.EndUnix // by the clock of this computer
	}
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
		system = rootfs.UsualPath
	}
	if dir := filepath.Dir(python.Executable); python.Executable != "" && dir != "/usr/bin" && dir != "/bin" && !strings.HasPrefix(system+":", dir+":") {
		return dir + ":" + system
	}
	return system
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
