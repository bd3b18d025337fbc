// Package trust says what an experiment does beyond its own folder and its confinement,
// and remembers what the user has confirmed. It asks nobody.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Facts are what the effects of an experiment follow from. All paths are absolute and
// real: [Real] resolves links.
type Facts struct {
	Subject string // what the user confirms: the path of an experiment file
	Folder  string // the subject's folder; what happens in it needs no confirmation
	Home    string // of the user; a folder that contains it belongs to no experiment

	Unconfined []Program // run as ordinary processes of the user
	Confined   []Program // run in bubblewrap, gVisor or a rented machine
	Read       []string  // files and folders of this computer
	Written    []string
	Network    []string // programs that share this computer's network, loopback included
	Hosts      []string // that the agent reaches through Seer, each with what for
	HostPorts  []int    // of this computer's loopback, that the sandbox reaches
	Nested     []string // confined programs that may make sandboxes of their own
	Volumes    []string // of the account that pays for rented machines
	Secrets    []Secret
	Models     []Model // fetched with a credential of the user
	Settings   []Setting
	Images     []Image // fetched with the user's login
	Systems    []System
	Accounts   []Account
	Snapshot   *Snapshot // that the sandbox starts from; nil = none
	Ports      []int
}

// Program is code that the experiment starts.
type Program struct {
	Name    string // "the agent", "the sandbox"
	Command string // for people
	Digest  string // of all code and settings that decide what runs; unconfined only
}

// Secret is a value that leaves this computer's user.
type Secret struct{ Name, From, To string }

// Model is fetched with a credential, which may open what is private. Kind is "model" or
// "dataset".
type Model struct{ Kind, Name, Credential string }

// Setting is a variable that a file beside the experiment sets.
type Setting struct{ Name, From, Digest string }

// Image is a private image of the user's, at the registry of a host.
type Image struct{ Ref, Host string }

// System is a file or folder on machines of a provider in which the sandbox starts, and which its code
// can read.
type System struct{ Path, Provider string }

// Account pays for rented machines and receives models and files.
type Account struct {
	Provider    string   `json:"provider"`
	Credentials []string `json:"credentials"`       // where they come from; never what they are
	Project     string   `json:"project,omitempty"` // the .env file that they come from
	Limits      string   `json:"limits"`
	Machines    []string `json:"machines,omitempty"` // the user's own, of which nobody pays for one
	Digest      string   `json:"-"`                  // of credentials from a .env file
}

// Text describes the account in one line.
func (a Account) Text() string {
	if len(a.Machines) > 0 {
		return fmt.Sprintf("%s on %s, which costs nothing", a.Provider, strings.Join(a.Machines, ", "))
	}
	with := "without credentials"
	if len(a.Credentials) > 0 {
		with = "with " + strings.Join(a.Credentials, ", ")
	}
	return fmt.Sprintf("%s, paid %s", a.Provider, with)
}

// Snapshot is a saved sandbox.
type Snapshot struct{ Name, ID, Signer string }

// Effects are what an experiment does, one line each, sorted.
type Effects struct {
	Subject string   `json:"subject"`
	Outside []string `json:"outside"` // beyond its folder and its confinement: to be confirmed
	Inside  []string `json:"inside"`
	// Hash covers the subject, the lines of Outside and the digests behind them. It is
	// empty when Outside is.
	Hash string `json:"hash,omitempty"`

	// Unconfined reports that code runs as ordinary processes of the user.
	Unconfined bool `json:"unconfined"`
}

// Of computes the effects. It is pure.
func Of(f Facts) Effects {
	c := collection{folder: f.folder()}
	c.programs(f)
	for _, path := range f.Read {
		c.path("read", path)
	}
	for _, path := range f.Written {
		c.path("write", path)
	}
	for _, s := range f.Secrets {
		c.add(s.From != dotEnv, "", "secret %s from %s to %s", s.Name, s.From, s.To)
	}
	for _, s := range f.Settings {
		c.add(true, s.Digest, "setting %s from %s for what installs packages", s.Name, s.From)
	}
	for _, i := range f.Images {
		c.add(true, "", "pull %s with your login of %s", i.Ref, i.Host)
	}
	for _, s := range f.Systems {
		c.add(true, "", "start from %s on machines of %s, which the sandbox can read", s.Path, s.Provider)
	}
	for _, m := range f.Models {
		c.add(true, "", "fetch the %s %s with %s", m.Kind, m.Name, m.Credential)
	}
	for _, a := range f.Accounts {
		if len(a.Machines) > 0 {
			c.add(true, "", "run on %s, by %s", strings.Join(a.Machines, ", "), a.Provider)
			continue
		}
		c.add(true, a.Digest, "rent at %s; %s", a.Text(), a.Limits)
	}
	if s := f.Snapshot; s != nil {
		c.add(s.Signer != OwnKey && len(f.Unconfined) > 0, s.ID, "start from the files of snapshot %s, signed by %s", s.Name, s.Signer)
	}
	for _, who := range f.Nested {
		c.add(true, "", "use much more of the kernel (nested_sandbox): %s", who)
	}
	for _, host := range f.Hosts {
		c.add(true, "", "connect the agent to %s", host)
	}
	for _, name := range f.Volumes {
		c.add(true, "", "use the account's volume %s", name)
	}
	for _, port := range f.HostPorts {
		c.add(true, "", "reach port %d of this computer: the sandbox", port)
	}
	for _, port := range f.Ports {
		c.add(false, "", "listen on port %d", port)
	}
	return c.effects(f)
}

// OwnKey is the signer of snapshots that this user has saved.
const OwnKey = "you"

// dotEnv is where secrets come from that the experiment brings itself.
const dotEnv = ".env"

// folder is empty when nothing counts as the experiment's own: its folder is the root
// or contains the user's home.
func (f Facts) folder() string {
	if f.Folder == "" || f.Folder == "/" || f.Home != "" && within(f.Folder, f.Home) {
		return ""
	}
	return f.Folder
}

func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

type collection struct {
	folder          string
	outside, inside []string
	digests         []string
}

func (c *collection) add(outside bool, digest, format string, args ...any) {
	line := plain(fmt.Sprintf(format, args...))
	if !outside {
		c.inside = append(c.inside, line)
		return
	}
	c.outside = append(c.outside, line)
	if digest != "" {
		c.digests = append(c.digests, line+"\x00"+digest)
	}
}

func (c *collection) programs(f Facts) {
	for _, p := range f.Unconfined {
		c.add(true, p.Digest, "run on this computer, unconfined: %s: %s", p.Name, p.Command)
	}
	for _, p := range f.Confined {
		c.add(false, "", "run confined: %s: %s", p.Name, p.Command)
	}
	for _, who := range f.Network {
		c.add(true, "", "share the network of this computer, loopback included: %s", who)
	}
}

func (c *collection) path(verb, path string) {
	c.add(c.folder == "" || !within(c.folder, path), "", "%s %s", verb, path)
}

func (c *collection) effects(f Facts) Effects {
	e := Effects{Subject: f.Subject, Outside: unique(c.outside), Inside: unique(c.inside), Unconfined: len(f.Unconfined) > 0}
	if len(e.Outside) == 0 {
		return e
	}
	sum := sha256.New()
	for _, list := range [][]string{{"seer effects 1", f.Subject}, e.Outside, unique(c.digests)} {
		fmt.Fprintf(sum, "%d\n", len(list))
		for _, text := range list {
			fmt.Fprintf(sum, "%d %s\n", len(text), text)
		}
	}
	e.Hash = hex.EncodeToString(sum.Sum(nil))
	return e
}

func unique(lines []string) []string {
	lines = append([]string{}, lines...)
	slices.Sort(lines)
	return slices.Compact(lines)
}

// plain quotes a line that holds anything but printable characters: a path may imitate
// other lines, or control a terminal.
func plain(line string) string {
	for _, r := range line {
		if !strconv.IsPrint(r) {
			return strconv.QuoteToGraphic(line)
		}
	}
	return line
}
