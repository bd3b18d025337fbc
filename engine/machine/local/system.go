package local

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// system is the tree that a machine runs in, as the note keeps it.
type system struct {
	Dir      string   `json:"dir,omitempty"`    // of an unpacked image; empty = this computer's own system
	Digest   string   `json:"digest,omitempty"` // of that folder
	Base     string   `json:"base,omitempty"`   // the image itself, by digest: it is found without a registry
	Writable bool     `json:"writable,omitempty"`
	Env      []string `json:"env,omitempty"` // of the image

	layers []string // saved changes that isolation has to lay on the tree
}

// builds reports whether the machine is one in which a system is made.
func builds(i *sdk.Image) bool { return i != nil && len(i.SystemPackages)+len(i.Commands) > 0 }

func (s *system) root() isolation.Root {
	return isolation.Root{Image: s.Dir, Writable: s.Writable, Layers: s.layers}
}

// checkImage refuses what the kind of isolation cannot do.
func checkImage(i *sdk.Image, choice isolation.Choice) error {
	switch {
	case i == nil || choice.Kind == isolation.GVisor:
		return nil
	case builds(i):
		return sdk.Errorf(sdk.Unsupported, "system_packages and image commands change the system as root, which isolation %s does not allow; "+
			"set sandbox.isolation to gvisor, or put them into an image and name it in image.base%s", choice.Kind, because(choice.Warning))
	case choice.Kind == isolation.None && (i.Base != "" || i.Snapshot != ""):
		return sdk.Errorf(sdk.Unsupported, "without isolation a sandbox has this computer's own system and not that of an image; "+
			"set sandbox.isolation to bubblewrap or gvisor%s", because(choice.Warning))
	}
	return nil
}

// prepare finds the tree for the spec: what has to be downloaded is there.
func (p *provider) prepare(ctx context.Context, i *sdk.Image, kind string, log func(string)) (*system, error) {
	if i == nil {
		return &system{}, nil
	}
	s := &system{Writable: builds(i), Base: i.Base}
	if i.Snapshot != "" {
		saved, err := p.openSaved(i.Snapshot)
		if err != nil {
			return nil, err
		}
		s.Base, s.layers = saved.Base, []string{saved.file}
	}
	if s.Base != "" {
		root, err := image.Unpack(ctx, s.Base, p.imageOptions(s.Base, log))
		if err != nil {
			return nil, err
		}
		s.Base = pinned(s.Base, root.Digest)
		if !s.Writable && len(s.layers) > 0 { // a tree of their own that cannot be changed, for every isolation
			if root, err = image.Derive(ctx, root, s.layers[0]); err != nil {
				return nil, err
			}
			s.layers = nil
		}
		s.Dir, s.Digest, s.Env = root.Dir, root.Digest, root.Env
	}
	if len(s.layers) > 0 {
		if kind != isolation.GVisor {
			return nil, sdk.Errorf(sdk.Unsupported, "%s was saved from this computer's own system, on which only isolation gvisor can start", i.Snapshot)
		}
		s.Writable = true
	}
	return s, nil
}

func (p *provider) imageOptions(ref string, log func(string)) image.Options {
	dir := p.ImagesDir
	if dir == "" {
		dir = filepath.Join(p.Dir, "images")
	}
	o := image.Options{Dir: dir, Log: log, Open: p.Registry, Insecure: PlainHTTP(ref)}
	if p.Login != nil && !p.Login(ref) {
		o.Credentials = image.Anonymous
	}
	return o
}

// PlainHTTP reports whether an image's registry is on this computer and speaks plain HTTP.
func PlainHTTP(ref string) bool {
	host, _, _ := strings.Cut(ref, "/")
	name, _, _ := strings.Cut(host, ":")
	return name == "localhost" || name == "127.0.0.1"
}

// pinned is a reference that means the same image for ever.
func pinned(ref, digest string) string {
	name, _, _ := strings.Cut(ref, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name + "@" + digest
}

const usualPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// variable finds one of the image's variables.
func (s *system) variable(name string) string {
	for _, entry := range s.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

func tooOld(version string) bool {
	major, minor, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	return err != nil || major < "3" || major == "3" && n < 8
}

var versionOfPython = regexp.MustCompile(`^python(\d+\.\d+)$`)

// interpreter finds the Python of an image. It looks at names only: what an image
// contains runs nowhere but in the machine. Names of no version are taken as new
// enough; the loader says so when they are not.
func (s *system) interpreter() (isolation.Interpreter, error) {
	search := s.variable("PATH")
	if search == "" {
		search = usualPath
	}
	root := image.Root{Dir: s.Dir, Digest: s.Digest}
	for _, dir := range strings.Split(search, ":") {
		executable := path.Join("/", dir, "python3")
		real, err := root.Resolve(executable)
		if err != nil || !runnable(real) {
			continue
		}
		found := isolation.Interpreter{Executable: executable}
		if m := versionOfPython.FindStringSubmatch(filepath.Base(real)); m != nil {
			found.Version = m[1]
			if tooOld(m[1]) {
				return found, sdk.Errorf(sdk.Unsupported, "the image %s has Python %s, and Seer needs 3.8 or newer; choose another image in image.base", s.Base, m[1])
			}
		}
		return found, nil
	}
	return isolation.Interpreter{}, sdk.Errorf(sdk.Unsupported, "the image %s has no python3 in its PATH (%s); choose one with Python 3.8 or newer in image.base, for instance python:3.12-slim",
		s.Base, search)
}
