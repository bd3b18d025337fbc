package fakemodal

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// within reports whether path is folder or below it.
func within(path, folder string) bool {
	path, folder = filepath.Clean(path), filepath.Clean(folder)
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// own are the folders that a sandbox does not share with this computer.
func (sb *sandbox) own() []string {
	folders := []string{"/workspace", "/models", "/datasets", "/tmp"}
	for _, m := range sb.def.GetVolumeMounts() {
		folders = append(folders, filepath.Clean(m.GetMountPath()))
	}
	if w := filepath.Clean(sb.def.GetWorkdir()); w != "/" && w != "." {
		folders = append(folders, w)
	}
	return folders
}

// pathInText finds a path that begins a word of a command line.
var pathInText = regexp.MustCompile(`(^|[\s'"=:;|&<>(])(/[^\s'":;|&<>()]*)`)

// local moves the paths of a command to where they are on this computer: those in the
// sandbox's own folders, and those that it has and this computer may have too.
func (sb *sandbox) local(argv []string, folder func(string) string) []string {
	own := sb.own()
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = pathInText.ReplaceAllStringFunc(arg, func(m string) string {
			at := strings.Index(m, "/")
			moved := folder(m[at:])
			if slices.ContainsFunc(own, func(f string) bool { return within(m[at:], f) }) {
				return m[:at] + moved
			}
			if _, err := os.Lstat(moved); err == nil && filepath.Clean(m[at:]) != "/" {
				return m[:at] + moved
			}
			return m
		})
	}
	return out
}

// folderIn is where a path of the sandbox is before it has a container.
func (sb *sandbox) folderIn(dir string) func(string) string {
	mounts := sb.mounts()
	return func(path string) string {
		for mount, folder := range mounts {
			if within(path, mount) {
				return filepath.Join(folder, filepath.Clean(path)[len(filepath.Clean(mount)):])
			}
		}
		return filepath.Join(dir, path)
	}
}
