// Package policy reads what the administrator of a computer allows its users to do with Seer.
//
// The policy binds Seer's own programs. It cannot bind a user who runs another program: what must
// hold against such a user has to be enforced by the system.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/internal/spelling"
	"github.com/seer-engine/seer/internal/yamldoc"
	"github.com/seer-engine/seer/sdk"
)

// File is the administrator's file. Only root may be able to change it.
const File = "/etc/seer/policy.yaml"

// PluginsKey is the section of the file that limits plugins. Package engine/plugin/store reads it.
const PluginsKey = "plugins"

// Policy is what users of a computer may do. The zero value allows everything.
type Policy struct {
	File        string   `json:"file,omitempty"` // where it is from; empty = there is none
	Providers   []string `json:"providers"`      // that may rent machines; nil = all
	Networks    []string `json:"networks"`       // of sandboxes on this computer: none, hosts, open, host; nil = all
	Hosts       []string `json:"network_hosts"`  // that a sandbox with a list of hosts may reach, also *.example.org; nil = all
	Isolations  []string `json:"isolations"`     // of sandboxes on this computer: bubblewrap, gvisor, none; nil = all
	GPUsPerUser *int     `json:"gpus_per_user"`  // GPUs of this computer on which a user may have sandboxes; nil = no limit
}

// The values of a sandbox's network and isolation.
var (
	networks   = []string{"none", "hosts", "open", "host"}
	isolations = []string{"bubblewrap", "gvisor", "none"}
)

// Read reads the policy of this computer.
func Read() (Policy, error) { return From(File) }

// root is the user who alone may change a policy.
const root = 0

// From reads the policy of a file. A file that is missing allows everything. A mistake in it, or a
// file that others than root could have written, is an error: users must not gain by either.
func From(file string) (Policy, error) { return from(file, root) }

func from(file string, owner uint32) (Policy, error) {
	data, err := readFile(file, owner)
	if err != nil || data == nil {
		return Policy{}, err
	}
	return parse(file, data)
}

// ReadFile is the content of a policy that only root can have written; nil = the file is missing.
func ReadFile(file string) ([]byte, error) { return readFile(file, root) }

func readFile(file string, owner uint32) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && missing(file) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the policy of this computer cannot be read: %w; ask its administrator", err)
	}
	defer f.Close()
	if err := errors.Join(belongsTo(f, owner), onlyRoots(file, owner)); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, yamldoc.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the policy of this computer cannot be read: %w; ask its administrator", err)
	}
	return append([]byte{}, data...), nil
}

// missing reports that there is no policy. A link that leads nowhere is a policy that cannot be read.
func missing(file string) bool {
	_, err := os.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// onlyRoots refuses a file that others than the owner could replace: in the folder of the file, or
// anywhere on the way to where a link leads.
func onlyRoots(file string, owner uint32) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return fmt.Errorf("the policy of this computer cannot be read: %w; ask its administrator", err)
	}
	dirs := []string{filepath.Dir(file)}
	if real != file {
		for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
			if dirs = append(dirs, dir); dir == filepath.Dir(dir) {
				break
			}
		}
	}
	for _, dir := range dirs {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return fmt.Errorf("the policy of this computer cannot be read: %s: %w; ask its administrator", dir, err)
		}
		if err := changeable(dir, &st, owner, root); err != nil {
			return err
		}
	}
	return nil
}

// belongsTo refuses what others than the owner can change.
func belongsTo(f *os.File, owner uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("the policy of this computer cannot be read: %s: %w", f.Name(), err)
	}
	return changeable(f.Name(), &st, owner)
}

// changeable refuses what others than the owners can change. In a folder that is sticky, such
// as /tmp, nobody can replace the files of others.
func changeable(name string, st *unix.Stat_t, owners ...uint32) error {
	sticky := st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0
	if !slices.Contains(owners, st.Uid) || st.Mode&0o022 != 0 && !sticky {
		return sdk.Errorf(sdk.Unsupported, "the policy of this computer does not count: others than root can change %s; its administrator has to make root its owner, and to take the right to write from group and others", name)
	}
	return nil
}

func parse(file string, data []byte) (Policy, error) {
	d := &yamldoc.Document{File: file}
	p := Policy{File: file}
	_, root := d.Root(data)
	if root == nil {
		return p, d.Err()
	}
	f := d.Fields(root, "policy", []string{"providers", "networks", "network_hosts", "isolations", "gpus_per_user", PluginsKey})
	p.Providers = list(d, f["providers"], "providers", nil)
	p.Networks = list(d, f["networks"], "networks", networks)
	p.Hosts = list(d, f["network_hosts"], "network_hosts", nil)
	p.Isolations = list(d, f["isolations"], "isolations", isolations)
	if v := f["gpus_per_user"]; v != nil {
		n, err := strconv.Atoi(d.Text(v, "gpus_per_user"))
		if err != nil || n < 0 {
			d.At(v.Line, "gpus_per_user: %q is not a whole number of GPUs, 0 or more", v.Value)
		}
		p.GPUsPerUser = &n
	}
	return p, d.Err()
}

// list is a list of known values; a key with an empty list allows none.
func list(d *yamldoc.Document, n *yaml.Node, what string, known []string) []string {
	if n == nil {
		return nil
	}
	values := append([]string{}, d.List(n, what)...)
	for i, value := range values {
		if known == nil || slices.Contains(known, value) {
			continue
		}
		text := fmt.Sprintf("%s: %q is not one of %s", what, value, strings.Join(known, ", "))
		if near := spelling.Nearest(value, known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		d.At(n.Content[i].Line, "%s", text)
	}
	return values
}

// String is what the policy limits, such as "/etc/seer/policy.yaml: networks: none, hosts".
func (p Policy) String() string {
	var limits []string
	for _, l := range []struct {
		key     string
		allowed []string
	}{{"providers", p.Providers}, {"networks", p.Networks}, {"network_hosts", p.Hosts}, {"isolations", p.Isolations}} {
		if l.allowed != nil {
			limits = append(limits, l.key+": "+listed(l.allowed))
		}
	}
	if p.GPUsPerUser != nil {
		limits = append(limits, fmt.Sprintf("gpus_per_user: %d", *p.GPUsPerUser))
	}
	if limits == nil {
		limits = []string{"limits no sandboxes"}
	}
	return p.File + ": " + strings.Join(limits, "; ")
}

func listed(values []string) string { return cmp.Or(strings.Join(values, ", "), "nothing") }

// Provider refuses a provider of machines that the policy does not name.
func (p Policy) Provider(name string) error {
	return p.among(p.Providers, name, "provider", "providers")
}

// Network refuses a network of sandboxes on this computer; hosts are those of the network "hosts".
func (p Policy) Network(name string, hosts []string) error {
	if name == "" {
		name = "open"
	}
	if err := p.among(p.Networks, name, "network", "networks"); err != nil {
		return err
	}
	for _, host := range hosts {
		if p.Hosts != nil && !slices.ContainsFunc(p.Hosts, func(allowed string) bool { return covers(allowed, host) }) {
			return p.refuse("the host %q in a sandbox's network", host, "network_hosts", p.Hosts)
		}
	}
	return nil
}

// covers reports whether an allowed host, or *.domain, is or contains a host, with any port.
func covers(allowed, host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	allowed = strings.ToLower(allowed)
	if domain, ok := strings.CutPrefix(allowed, "*"); ok {
		return strings.HasSuffix(strings.TrimPrefix(name, "*"), domain) && strings.HasPrefix(domain, ".")
	}
	return allowed == name || allowed == strings.ToLower(host)
}

// Isolation refuses an isolation of sandboxes on this computer.
func (p Policy) Isolation(name string) error {
	return p.among(p.Isolations, name, "isolation", "isolations")
}

// GPUs refuses more GPUs to a user who has some already.
func (p Policy) GPUs(have, more int) error {
	if p.GPUsPerUser == nil || have+more <= *p.GPUsPerUser {
		return nil
	}
	return sdk.Errorf(sdk.Unsupported, "a user may have sandboxes on %d GPUs of this computer, and you have them on %d and want %d more; gpus_per_user in %s says so, which its administrator can change",
		*p.GPUsPerUser, have, more, p.File)
}

func (p Policy) among(allowed []string, value, what, key string) error {
	if allowed == nil || slices.Contains(allowed, value) {
		return nil
	}
	return p.refuse("the "+what+" %q", value, key, allowed)
}

func (p Policy) refuse(what, value, key string, allowed []string) error {
	return sdk.Errorf(sdk.Unsupported, what+" is not allowed on this computer: %s in %s allows %s; its administrator can change that",
		value, key, p.File, listed(allowed))
}
