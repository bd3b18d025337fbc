package experiment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// rent checks what narrows the choice of a machine.
func (v *validator) rent() {
	s := v.exp.Sandbox
	v.once("sandbox.provider", s.Providers)
	v.once("sandbox.gpu", s.GPU)
	v.once("sandbox.region", s.Regions)
	for at, n := range map[string]float64{"cpu": s.CPU, "memory": s.MemoryGB, "disk": float64(s.DiskGB), "max_price": s.MaxPrice, "budget": s.Budget} {
		if n < 0 {
			v.fail("sandbox."+at, "it is below zero", "give a value above zero, or remove the key")
		}
	}
	v.providerOptions()
}

// once refuses what is listed twice.
func (v *validator) once(at string, words []string) {
	for i, w := range words {
		same := func(other string) bool { return strings.EqualFold(w, other) }
		if slices.IndexFunc(words, same) < i {
			v.fail(fmt.Sprintf("%s.%d", at, i), quote(w)+" is listed twice", "keep one of them")
		}
	}
}

// providerOptions refuses options of a provider that is none of this experiment's.
// Where an override has named the provider, the file may have those of others.
func (v *validator) providerOptions() {
	s := v.exp.Sandbox
	known := s.Providers
	if len(known) == 0 {
		return // preflight knows those that are chosen then
	}
	for _, name := range sortedKeys(s.ProviderOptions) {
		if !slices.Contains(known, name) && v.exp.Position("sandbox.provider").Set == "" {
			v.fail("sandbox.provider_options."+name, quote(name)+" is not a provider of this experiment", "use "+strings.Join(known, " or ")+", or name it under provider")
		}
	}
}

var pythonVersion = lazyregexp.New(`^3\.[0-9]{1,2}(\.[0-9]{1,2})?$`)

// image checks what the machine's file system is to be.
func (v *validator) image() {
	s := v.exp.Sandbox
	if s.PythonVersion != "" && !pythonVersion().MatchString(s.PythonVersion) {
		v.fail("sandbox.python_version", quote(s.PythonVersion)+" is not a version of Python 3", `write for example "3.12"`)
	}
	for i, p := range s.SystemPackages {
		if !systemPackage().MatchString(p) {
			v.fail(fmt.Sprintf("sandbox.system_packages.%d", i), quote(p)+" is not the name of a package", "write it as apt has it, for example libgl1")
		}
	}
	if s.Image == nil {
		return
	}
	v.imageBase(s.Image.Base)
	if s.Image.Snapshot == "" {
		return
	}
	for _, other := range []struct {
		at, key string
		used    bool
	}{
		{"sandbox.image.base", "base", s.Image.Base != ""},
		{"sandbox.image.commands", "commands", len(s.Image.Commands) > 0},
		{"sandbox.python_packages", "python_packages", len(s.PythonPackages) > 0},
		{"sandbox.system_packages", "system_packages", len(s.SystemPackages) > 0},
		{"sandbox.python_version", "python_version", s.PythonVersion != ""},
	} {
		if other.used {
			v.fail(other.at, "a snapshot has everything already", "remove "+other.key+" or image.snapshot")
		}
	}
}

// imageBase checks the name of an image, or its path where the machine is.
func (v *validator) imageBase(base string) {
	const at = "sandbox.image.base"
	scheme, rest, schemed := strings.Cut(base, "://")
	switch {
	case path.IsAbs(base):
		if path.Clean(base) != base || base == "/" || strings.ContainsFunc(base, isControl) {
			v.fail(at, quote(base)+" is not a plain path of an image", "write for example /shared/images/torch.sif")
		}
	case schemed:
		v.fail(at, quote(scheme+"://")+" is not a part of the name of an image", "write "+quote(rest)+", or the absolute path of a file")
	case strings.HasPrefix(base, "./"), strings.HasPrefix(base, "../"), strings.HasPrefix(base, "~"):
		v.fail(at, quote(base)+" is not absolute, and it is a path on the computer of the machine", "begin it with /, for example /shared/images/torch.sif")
	case strings.ContainsFunc(base, isSpace):
		v.fail(at, quote(base)+" is not the name of an image", "write for example debian:12")
	}
}

var systemPackage = lazyregexp.New(`^[a-z0-9][a-z0-9+.:-]*(=[A-Za-z0-9.+:~-]+)?$`)

func isSpace(r rune) bool { return r <= ' ' || r == 0x7f }

// volumes checks the disks and where they go.
func (v *validator) volumes() {
	s := v.exp.Sandbox
	names := map[string]bool{}
	for i, volume := range s.Volumes {
		at := fmt.Sprintf("sandbox.volumes.%d", i)
		if !validName(volume.Name) {
			v.fail(at+".name", quote(volume.Name)+" is not a name", "use letters, digits, `.`, `_` and `-`, at most 63, beginning with a letter or digit")
		} else if names[volume.Name] {
			v.fail(at+".name", quote(volume.Name)+" is listed twice", "give each disk one place")
		}
		names[volume.Name] = true
		if volume.Models && s.Whole() && slices.ContainsFunc(s.Models, func(m Model) bool { return m.Hidden }) {
			v.fail(at+".models", "the agent could read the names of hidden models there", "remove it, or set hidden: false")
		}
		if problem, hint := badMountPoint(volume.Path); problem != "" {
			v.fail(at+".path", problem, hint)
			continue
		}
		v.mountClashes(at, i)
	}
}

func badMountPoint(p string) (problem, hint string) {
	top, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	switch {
	case !path.IsAbs(p):
		return quote(p) + " is not absolute", "begin it with /, for example /data"
	case path.Clean(p) != p || strings.ContainsFunc(p, isControl):
		return quote(p) + " is not a plain path", "write " + quote(path.Clean(p))
	case p == "/", top == "tmp", systemFolder(p):
		return quote(p) + " belongs to the system", "use a place of its own, such as /data, or /models"
	}
	return "", ""
}

// mountClashes finds what would be in the place of a volume, or in one that cannot
// be written to.
func (v *validator) mountClashes(at string, i int) {
	s, volume := v.exp.Sandbox, v.exp.Sandbox.Volumes[i]
	for j, other := range s.Volumes {
		if j != i && inside(volume.Path, other.Path) && (j < i || other.Path != volume.Path) {
			v.fail(at+".path", fmt.Sprintf("%s is in the volume %s", quote(volume.Path), quote(other.Name)), "choose another place")
		}
	}
	if volume.ReadOnly && volume.Path == "/workspace" {
		v.fail(at+".read_only", "the sandbox works in /workspace", "remove read_only, or choose another place")
	}
	for _, m := range s.Models {
		if p := m.SandboxPath(); inside(volume.Path, p) {
			v.fail(at+".path", fmt.Sprintf("%s is the place of the model %s", quote(volume.Path), quote(m.Name)), "use /models, or a place of its own")
		} else if volume.ReadOnly && inside(p, volume.Path) {
			v.fail(at+".read_only", fmt.Sprintf("the model %s is put there", quote(m.Name)), "remove read_only, or choose another place")
		}
	}
	for _, p := range slices.Concat(s.LocalFiles, s.LocalDirs) {
		if inside(volume.Path, p.Remote) {
			v.fail(at+".path", fmt.Sprintf("%s is copied to %s", quote(path.Base(p.Local)), quote(p.Remote)), "choose another place")
		} else if volume.ReadOnly && inside(p.Remote, volume.Path) {
			v.fail(at+".read_only", fmt.Sprintf("%s is copied there", quote(path.Base(p.Local))), "remove read_only, or choose another place")
		}
	}
}

// inside reports whether a path is dir or in it.
func inside(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
