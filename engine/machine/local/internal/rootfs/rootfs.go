// Package rootfs finds the file trees that the machines of this computer run in: its own, that
// of an image, and one with saved changes.
package rootfs

import (
	"context"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Tree is the file tree that a machine runs in, as the note keeps it.
type Tree struct {
	Dir      string   `json:"dir,omitempty"`    // of an unpacked image; empty = this computer's own system
	Digest   string   `json:"digest,omitempty"` // of that folder
	Base     string   `json:"base,omitempty"`   // the image itself, by digest: it is found without a registry
	Writable bool     `json:"writable,omitempty"`
	Env      []string `json:"env,omitempty"` // of the image

	layers []string // saved changes that isolation has to lay on the tree
}

// Builds reports whether the machine is one in which a system is made.
func Builds(i *sdk.Image) bool { return i != nil && len(i.SystemPackages)+len(i.Commands) > 0 }

// Root is the tree as isolation takes it.
func (s *Tree) Root() isolation.Root {
	return isolation.Root{Image: s.Dir, Writable: s.Writable, Layers: s.layers}
}

// CheckImage refuses what the kind of isolation cannot do.
func CheckImage(i *sdk.Image, choice isolation.Choice) error {
	switch {
	case i == nil || choice.Kind == isolation.GVisor:
		return nil
	case Builds(i):
		return sdk.Errorf(sdk.Unsupported, "system_packages and image commands change the system as root, which isolation %s does not allow; "+
			"set sandbox.isolation to gvisor, or put them into an image and name it in image.base%s", choice.Kind, choice.Because())
	case choice.Kind == isolation.None && (i.Base != "" || i.Snapshot != ""):
		return sdk.Errorf(sdk.Unsupported, "without isolation a sandbox has this computer's own system and not that of an image; "+
			"set sandbox.isolation to bubblewrap or gvisor%s", choice.Because())
	}
	return nil
}

// Store has the images that are unpacked on this computer, and the saved systems.
type Store struct {
	ImagesDir string // private to the user
	SavedDir  string // private to the user
	Registry  image.Opener
	Login     func(ref string) bool // whether an image may be fetched with the user's login; nil = every one
	Files     bool                  // images may be files and folders of this computer, by absolute path

	// Lock excludes everybody else from the work of a name.
	Lock func(ctx context.Context, name string) (*state.Lock, error)

	Wait  time.Duration // longest that [Store.Prepare] waits for an image; 0 = 2 seconds
	pulls pulls
}

// unpack finds the tree of an image, and fetches what is not here.
func (s *Store) unpack(ctx context.Context, i *sdk.Image, kind string, log func(string)) (*Tree, error) {
	if i == nil {
		return &Tree{}, nil
	}
	t := &Tree{Writable: Builds(i), Base: i.Base}
	if i.Snapshot != "" {
		saved, err := s.open(i.Snapshot)
		if err != nil {
			return nil, err
		}
		t.Base, t.layers = saved.Base, []string{saved.file}
	}
	if t.Base != "" {
		root, err := s.base(ctx, t, log)
		if err != nil {
			return nil, err
		}
		if !t.Writable && len(t.layers) > 0 { // a tree of their own that cannot be changed, for every isolation
			if root, err = image.Derive(ctx, root, t.layers[0]); err != nil {
				return nil, err
			}
			t.layers = nil
		}
		t.Dir, t.Digest, t.Env = root.Dir, root.Digest, root.Env
	}
	if len(t.layers) > 0 {
		if kind != isolation.GVisor {
			return nil, sdk.Errorf(sdk.Unsupported, "%s was saved from this computer's own system, on which only isolation gvisor can start", i.Snapshot)
		}
		t.Writable = true
	}
	return t, nil
}

// base finds the image of a tree, and has its name mean the same image for ever if it is one of a registry.
func (s *Store) base(ctx context.Context, t *Tree, log func(string)) (image.Root, error) {
	o := s.imageOptions(t.Base, log)
	if path.IsAbs(t.Base) {
		if !s.Files {
			return image.Root{}, sdk.Errorf(sdk.Unsupported, "the image %s is a path, and this computer takes images of registries only; name one in image.base, such as python:3.12-slim", t.Base)
		}
		return image.UnpackFile(ctx, t.Base, o)
	}
	root, err := image.Unpack(ctx, t.Base, o)
	if err == nil {
		t.Base = pinned(t.Base, root.Digest)
	}
	return root, err
}

// Fetch makes the tree of an image.
func (s *Store) Fetch(ctx context.Context, ref string, log func(string)) error {
	_, err := s.base(ctx, &Tree{Base: ref}, log)
	return err
}

func (s *Store) imageOptions(ref string, log func(string)) image.Options {
	o := image.Options{Dir: s.ImagesDir, Log: log, Open: s.Registry, Insecure: PlainHTTP(ref)}
	if s.Login != nil && !s.Login(ref) {
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

// UsualPath is the PATH of an image that names none.
const UsualPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// variable finds one of the image's variables.
func (s *Tree) variable(name string) string {
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

var versionOfPython = lazyregexp.New(`^python(\d+\.\d+)$`)

// Interpreter finds the Python of an image. It looks at names only: what an image
// contains runs nowhere but in the machine. Names of no version are taken as new
// enough; the loader says so when they are not.
func (s *Tree) Interpreter() (isolation.Interpreter, error) {
	search := s.variable("PATH")
	if search == "" {
		search = UsualPath
	}
	root := image.Root{Dir: s.Dir, Digest: s.Digest}
	for _, dir := range strings.Split(search, ":") {
		executable := path.Join("/", dir, "python3")
		real, err := root.Resolve(executable)
		if err != nil || !runnable(real) {
			continue
		}
		found := isolation.Interpreter{Executable: executable}
		if m := versionOfPython().FindStringSubmatch(filepath.Base(real)); m != nil {
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
