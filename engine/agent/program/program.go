// Package program finds the program of an agent on this computer: its path, its version, and the
// files that a confined process must see to run it.
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
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Program is the result of [Find].
type Program struct {
	// Path is the absolute path at which Find found the program, perhaps a symbolic link.
	Path string
	// Real is the file that Path leads to.
	Real string
	// Argv is the command line without arguments of the caller: the program, or the interpreter
	// of a script, its arguments, and the script. All paths are absolute.
	Argv []string
	// Version is the version of its npm package, such as 1.2.3; empty = it is in no package.
	// [Program.AskVersion] runs the program itself.
	Version string
	// SHA256 is the digest of Real, in hexadecimal digits. A script that starts another program
	// has the digest of the script.
	SHA256 string
	// ReadOnly are the absolute paths that must be visible at the same place, besides the system's
	// tree (/usr, /bin, /lib, /etc …). A symbolic link must appear as a link. Sorted.
	ReadOnly []string
	// Search is the value of PATH with which it finds its interpreter and the programs beside it.
	Search string
}

// NotFoundError is the error of a program that Find has not found. It has the code sdk.NotFound.
type NotFoundError struct {
	Name   string
	Looked []string // searched folders that exist, in order
}

func (e *NotFoundError) Error() string {
	if filepath.IsAbs(e.Name) {
		return "there is no program " + e.Name
	}
	return "there is no program " + e.Name + " in " + strings.Join(e.Looked, ", ")
}

// As gives the error the code sdk.NotFound.
func (e *NotFoundError) As(target any) bool {
	to, ok := target.(**sdk.Error)
	if ok {
		*to = sdk.Errorf(sdk.NotFound, "%v", e)
	}
	return ok
}

// Find finds a program by its name or path. It searches a name in PATH, then in the folders into
// which package managers install programs of users: npm, nvm, fnm, volta, pnpm, bun, pipx, uv,
// Homebrew, and those of the agents themselves. The only program that it starts is the Python of a
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

// searchPath returns a PATH of folders and the system's folders.
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

var versionPattern = lazyregexp.New(`\d+\.\d+(\.\d+)?([-+][0-9A-Za-z.-]+)?`)

// AskVersion runs the program with args, such as --version, and finds the version in its output:
// digits with dots. The program gets a PATH and an empty home of its own. It has a minute.
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
	found := versionPattern().FindString(out.String())
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

// head is a writer that keeps the beginning of an output.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, 64<<10-h.Len()))])
	return len(p), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
