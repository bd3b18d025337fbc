package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// shims are programs that start one of many others, according to the user's settings. The programs
// that they start are in folders of their own.
var shims = []string{"volta-shim", "volta", "mise", "rtx", "asdf", "fnm", "proto", "proto-shim"}

func locate(name string, env func(string) string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err != nil || !executable(path) {
			return "", &NotFoundError{Name: path}
		}
		return path, nil
	}
	var looked []string
	for _, dir := range folders(env) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || slices.Contains(looked, dir) {
			continue
		}
		looked = append(looked, dir)
		if path := filepath.Join(dir, name); name != "" && executable(path) && !isShim(path, name) {
			return path, nil
		}
	}
	return "", &NotFoundError{Name: name, Looked: looked}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func isShim(path, name string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	base := filepath.Base(real)
	// The shims of asdf, pyenv and nodenv are scripts.
	return base != name && slices.Contains(shims, base) || filepath.Base(filepath.Dir(path)) == "shims"
}

// folders are the usual folders of users' programs, in the order of the search.
func folders(env func(string) string) []string {
	var out []string
	add := func(dirs ...string) {
		for _, dir := range dirs {
			if filepath.IsAbs(dir) {
				out = append(out, filepath.Clean(dir))
			}
		}
	}
	add(filepath.SplitList(env("PATH"))...)
	if prefix := env("NPM_CONFIG_PREFIX"); prefix != "" {
		add(filepath.Join(prefix, "bin"))
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		add(ofHome(home, env)...)
	}
	add("/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/bin", "/usr/bin", "/snap/bin")
	return out
}

func ofHome(home string, env func(string) string) []string {
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	or := func(variable string, parts ...string) string {
		if set := env(variable); filepath.IsAbs(set) {
			return set
		}
		return in(parts...)
	}
	data := or("XDG_DATA_HOME", ".local", "share")
	out := []string{in(".npm-global", "bin"), in(".local", "bin"), in("bin"), in(".claude", "local", "node_modules", ".bin"),
		in(".claude", "local"), in(".opencode", "bin")}
	out = append(out, newestFirst(filepath.Join(or("NVM_DIR", ".nvm"), "versions", "node", "*", "bin"))...)
	for _, fnm := range []string{or("FNM_DIR", ".fnm"), filepath.Join(data, "fnm"), in("Library", "Application Support", "fnm")} {
		out = append(out, newestFirst(filepath.Join(fnm, "node-versions", "*", "installation", "bin"))...)
	}
	volta := filepath.Join(or("VOLTA_HOME", ".volta"), "tools", "image")
	out = append(out, matches(filepath.Join(volta, "packages", "*", "bin"))...)
	out = append(out, matches(filepath.Join(volta, "packages", "@*", "*", "bin"))...)
	out = append(out, newestFirst(filepath.Join(volta, "node", "*", "bin"))...)
	out = append(out, newestFirst(filepath.Join(or("MISE_DATA_DIR", ".local", "share", "mise"), "installs", "*", "*", "bin"))...)
	out = append(out, newestFirst(filepath.Join(or("ASDF_DATA_DIR", ".asdf"), "installs", "*", "*", "bin"))...)
	out = append(out, filepath.Join(or("BUN_INSTALL", ".bun"), "bin"), or("PNPM_HOME", ".local", "share", "pnpm"), in("Library", "pnpm"))
	for _, tools := range []string{filepath.Join(or("PIPX_HOME", ".local", "share", "pipx"), "venvs"), in(".local", "pipx", "venvs"), filepath.Join(data, "uv", "tools")} {
		out = append(out, matches(filepath.Join(tools, "*", "bin"))...)
	}
	return out
}

func matches(pattern string) []string {
	found, _ := filepath.Glob(pattern) // a folder with a [ in its name has no matches
	return found
}

// newestFirst sorts folders by the version in their names.
func newestFirst(pattern string) []string {
	found := matches(pattern)
	slices.SortStableFunc(found, func(a, b string) int { return semver.Compare(versionIn(b), versionIn(a)) })
	return found
}

func versionIn(path string) string {
	for _, part := range slices.Backward(strings.Split(path, "/")) {
		if v := "v" + strings.TrimPrefix(part, "v"); semver.IsValid(v) {
			return v
		}
	}
	return ""
}
