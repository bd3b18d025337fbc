// Package program finds the program of an agent on this computer: where users have it, what it
// is, and what a confined process must see of the computer for it to run.
package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Program is a program that has been found.
type Program struct {
	// Path is the absolute path by which it was found, perhaps a symbolic link.
	Path string
	// Real is the file that Path leads to.
	Real string
	// Argv starts it, without arguments of the caller: the program, or the interpreter of a
	// script, its arguments, and the script. All paths are absolute.
	Argv []string
	// Version is what its npm package says, such as 1.2.3; empty = it is in none.
	// [Program.AskVersion] asks the program itself.
	Version string
	// SHA256 is the digest of Real, in hexadecimal digits. A script that starts another program
	// has the digest of the script.
	SHA256 string
	// ReadOnly are absolute paths that must be visible at the same place, beyond the system's
	// tree (/usr, /bin, /lib, /etc …). A symbolic link among them is to be shown as a link. Sorted.
	ReadOnly []string
	// Search is the value of PATH with which it finds its interpreter and what is beside it.
	Search string
}

// NotFoundError says where a program was looked for. It has the code sdk.NotFound.
type NotFoundError struct {
	Name   string
	Looked []string // folders that exist, in order
}

func (e *NotFoundError) Error() string {
	if filepath.IsAbs(e.Name) {
		return "there is no program " + e.Name
	}
	return "there is no program " + e.Name + " in " + strings.Join(e.Looked, ", ")
}

// As makes it an error with the code sdk.NotFound.
func (e *NotFoundError) As(target any) bool {
	to, ok := target.(**sdk.Error)
	if ok {
		*to = sdk.Errorf(sdk.NotFound, "%v", e)
	}
	return ok
}

// Find looks for a program by its name or by a path. Names are looked for in PATH, then in the
// folders into which package managers install programs of users: npm, nvm, fnm, volta, pnpm, bun,
// pipx, uv, Homebrew, and those of the agents themselves. It starts no program but the Python of a
// Python script. env looks up variables of the user's environment, such as [os.Getenv].
func Find(ctx context.Context, name string, env func(string) string) (Program, error) {
	path, err := locate(name, env)
	if err != nil {
		return Program{}, err
	}
	v := &viewer{ctx: ctx, env: env}
	p := Program{Path: path}
	if p.Real, err = v.file(path); err != nil {
		return Program{}, err
	}
	if p.Argv, err = v.command(path, p.Real, 0); err != nil {
		return Program{}, err
	}
	if p.SHA256, err = digest(p.Real); err != nil {
		return Program{}, err
	}
	p.Version = packageVersion(p.Real)
	p.ReadOnly = v.shown()
	p.Search = searchPath(append([]string{filepath.Dir(p.Argv[0]), filepath.Dir(path)}, v.beside...))
	return p, nil
}

// searchPath is a PATH of folders and those of the system.
func searchPath(dirs []string) string {
	var out []string
	for _, dir := range append(dirs, "/usr/local/bin", "/usr/bin", "/bin") {
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return strings.Join(out, ":")
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", sdk.Errorf(sdk.Invalid, "the program %s cannot be read: %v", path, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", sdk.Errorf(sdk.Invalid, "the program %s cannot be read: %v", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// packageVersion reads the version of the npm package that a file is in.
func packageVersion(real string) string {
	if !strings.Contains(real, "/node_modules/") {
		return ""
	}
	for dir := filepath.Dir(real); filepath.Base(dir) != "node_modules" && dir != "/"; dir = filepath.Dir(dir) {
		var about struct{ Name, Version string }
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err == nil && json.Unmarshal(data, &about) == nil && about.Name != "" && about.Version != "" {
			return about.Version
		}
	}
	return ""
}

const versionLimit = time.Minute

var versionPattern = regexp.MustCompile(`\d+\.\d+(\.\d+)?([-+][0-9A-Za-z.-]+)?`)

// AskVersion starts the program with args, such as --version, and takes the version from what it
// prints: digits with dots. It gets a PATH and an empty home of its own, and a minute.
func (p Program) AskVersion(ctx context.Context, args ...string) (string, error) {
	home, err := os.MkdirTemp("", "seer-version-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	limited, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, p.Argv[0], append(append([]string{}, p.Argv[1:]...), args...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + p.Search, "TERM=dumb"}
	cmd.Dir = home
	cmd.WaitDelay = time.Second
	out := &head{}
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	found := versionPattern.FindString(out.String())
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", sdk.Errorf(sdk.Invalid, "%s %s did not end in %s", p.Path, strings.Join(args, " "), versionLimit)
	case err != nil:
		return "", sdk.Errorf(sdk.Invalid, "%s %s failed: %v: %s", p.Path, strings.Join(args, " "), err, lastLine(out.String()))
	case found == "":
		return "", sdk.Errorf(sdk.Invalid, "%s %s printed no version", p.Path, strings.Join(args, " "))
	}
	return found, nil
}

// head keeps the beginning of an output.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, 64<<10-h.Len()))])
	return len(p), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
