package isolation

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/sdk"
)

// ociSpec is config.json, as far as it is used here.
type ociSpec struct {
	Version     string            `json:"ociVersion"`
	Process     ociProcess        `json:"process"`
	Root        ociRoot           `json:"root"`
	Hostname    string            `json:"hostname"`
	Mounts      []ociMount        `json:"mounts"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Linux       ociLinux          `json:"linux"`
}

type ociProcess struct {
	User            ociUser             `json:"user"`
	Args            []string            `json:"args"`
	Env             []string            `json:"env"`
	Cwd             string              `json:"cwd"`
	Capabilities    map[string][]string `json:"capabilities,omitempty"`
	NoNewPrivileges bool                `json:"noNewPrivileges"`
}

type ociUser struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

type ociRoot struct {
	Path     string `json:"path"`
	Readonly bool   `json:"readonly"`
}

type ociMount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options,omitempty"`
}

type ociLinux struct {
	Namespaces  []ociNamespace `json:"namespaces"`
	UIDMappings []ociMapping   `json:"uidMappings"`
	GIDMappings []ociMapping   `json:"gidMappings"`
	Devices     []ociDevice    `json:"devices,omitempty"`
}

type ociNamespace struct {
	Type string `json:"type"`
}

type ociMapping struct {
	ContainerID int `json:"containerID"`
	HostID      int `json:"hostID"`
	Size        int `json:"size"`
}

type ociDevice struct {
	Path  string `json:"path"`
	Type  string `json:"type"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	Mode  uint32 `json:"fileMode"`
	UID   int    `json:"uid"`
	GID   int    `json:"gid"`
}

func (s *ociSpec) bind(source, target string, writable bool) {
	option := "ro"
	if writable {
		option = "rw"
	}
	s.Mounts = append(s.Mounts, ociMount{Destination: target, Type: "bind", Source: source, Options: []string{"rbind", option}})
}

// rights are those of user 0 in a writable tree: what package managers need. They
// count inside only.
var rights = [...]string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP",
	"CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_MKNOD", "CAP_AUDIT_WRITE", "CAP_SETFCAP",
}

// describe fills in all but mounts and devices.
func (g *gvisor) describe() {
	id := g.identity()
	dir := g.spec.Dir
	if dir == "" {
		dir = "/"
	}
	// The working folder is in the environment where bubblewrap puts it.
	g.oci = ociSpec{
		Version: "1.1.0",
		Process: ociProcess{
			User: ociUser{UID: id, GID: id}, Args: g.argv(), Env: append(environ(g.spec.Env), "PWD="+dir), Cwd: dir, NoNewPrivileges: true,
		},
		Root:     ociRoot{Path: g.state + "/" + stateTree, Readonly: !g.spec.Root.Writable},
		Hostname: g.spec.hostname(),
		Mounts: []ociMount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs"},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "tmpfs", Options: append([]string{"mode=1777"}, g.sizes()...)},
		},
	}
	own := []string{"pid", "mount", "ipc", "uts", "user"}
	if !g.spec.Network && g.spec.Nameserver == "" {
		own = append(own, "network")
	}
	for _, name := range own {
		g.oci.Linux.Namespaces = append(g.oci.Linux.Namespaces, ociNamespace{Type: name})
	}
	ids := ociMapping{ContainerID: id, HostID: id, Size: 1}
	if g.spec.Root.Writable {
		g.oci.Process.Capabilities = map[string][]string{}
		for _, set := range []string{"bounding", "effective", "permitted"} {
			g.oci.Process.Capabilities[set] = rights[:]
		}
		if g.privileged { // the files of an image belong to many users
			ids.Size = mappable()
		}
	}
	g.oci.Linux.UIDMappings, g.oci.Linux.GIDMappings = []ociMapping{ids}, []ociMapping{ids}
}

// sizes bounds a folder in memory.
func (g *gvisor) sizes() []string {
	if g.spec.TmpfsSize <= 0 || g.spec.off.sizes {
		return nil
	}
	return []string{fmt.Sprintf("size=%d", g.spec.TmpfsSize)}
}

// argv names the program by its path where there is no PATH to find it in, as the C
// library does for bubblewrap.
func (g *gvisor) argv() []string {
	if name := g.spec.Argv[0]; !strings.Contains(name, "/") && g.spec.Env["PATH"] == "" {
		for _, dir := range []string{"/bin", "/usr/bin"} {
			if _, err := os.Stat(filepath.Join("/", g.spec.Root.Image, dir, name)); err == nil {
				return append([]string{filepath.Join(dir, name)}, g.spec.Argv[1:]...)
			}
		}
	}
	return g.spec.Argv
}

// devices adds the device nodes.
func (g *gvisor) devices() error {
	for _, path := range g.spec.Devices {
		d, err := deviceOf(path)
		if err != nil {
			return err
		}
		g.oci.Linux.Devices = append(g.oci.Linux.Devices, d)
	}
	return nil
}

func deviceOf(path string) (ociDevice, error) {
	if err := checkDevice(path); err != nil {
		return ociDevice{}, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return ociDevice{}, sdk.Errorf(sdk.NotFound, "there is no device %s: %v", path, err)
	}
	d := ociDevice{Path: path, Major: unix.Major(st.Rdev), Minor: unix.Minor(st.Rdev), Mode: 0o666}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		d.Type = "c"
	default:
		return d, sdk.Errorf(sdk.Invalid, "%s is not a character device", path)
	}
	return d, nil
}

// checkDevice keeps to nodes that are devices of this computer, not paths to
// anything else.
func checkDevice(path string) error {
	if !strings.HasPrefix(path, "/dev/") || strings.Contains(path, "/../") || strings.Contains(path, "\x00") {
		return sdk.Errorf(sdk.Invalid, "%q is not the path of a device", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return sdk.Errorf(sdk.NotFound, "there is no device %s: %v", path, err)
	}
	if info.Mode()&fs.ModeCharDevice == 0 {
		return sdk.Errorf(sdk.Invalid, "%s is not a character device", path)
	}
	return nil
}

// nvidia reports whether a GPU is among the devices.
func (g *gvisor) nvidia() bool {
	for _, path := range g.spec.Devices {
		if strings.HasPrefix(path, "/dev/nvidia") {
			return true
		}
	}
	return false
}

// mappable is how many users, from 0 on, this process can give to a namespace.
func mappable() int {
	const all = 65536
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 1
	}
	var inside, outside, size int
	if n, _ := fmt.Sscan(string(data), &inside, &outside, &size); n != 3 || inside != 0 {
		return 1
	}
	return min(size, all)
}

// privileged reports whether this process can mount without a user namespace.
func privileged() bool {
	if os.Geteuid() != 0 {
		return false
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
