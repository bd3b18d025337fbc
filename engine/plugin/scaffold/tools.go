package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// What builds need at least: Go has exported functions of Wasm modules since then.
const (
	goNeed, goWhere     = "Go ≥ 1.24", "https://go.dev/dl"
	nodeNeed, nodeWhere = "Node.js ≥ 20", "https://nodejs.org"
	goMinor             = 24
	nodeMajor           = 20
)

// said is how much of a compiler's words an error keeps.
const said = 64 << 10

// run runs a compiler. Its children end with it, also when the context does.
func (p project) run(ctx context.Context, cmd *exec.Cmd) error {
	text := &head{limit: said}
	var out io.Writer = text
	if p.Output != nil {
		out = io.MultiWriter(text, p.Output)
	}
	cmd.Stdout, cmd.Stderr = out, out // one writer: no two writes at once
	group(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = &CompileError{Dir: p.Dir, Text: strings.TrimSpace(text.String()), shown: p.Output != nil}
	}
	return err
}

// group gives a command a group of its own, which is killed when its context ends.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
}

// head keeps the first bytes that are written.
type head struct {
	bytes.Buffer
	limit int
}

func (h *head) Write(b []byte) (int, error) {
	h.Buffer.Write(b[:min(len(b), h.limit-h.Len())])
	return len(b), nil
}

// ask returns the first line that a tool prints.
func ask(ctx context.Context, dir string, env []string, tool string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	group(cmd)
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, err
}

// checkGo asks in the plugin's folder: which Go runs depends on its go.mod.
func (p project) checkGo(ctx context.Context) error {
	missing := &ToolchainError{Tool: "go", Need: goNeed, Where: goWhere}
	if _, err := exec.LookPath("go"); err != nil {
		return missing
	}
	version, err := ask(ctx, p.Dir, nil, "go", "env", "GOVERSION")
	if err != nil && ctx.Err() == nil { // an old one cannot even read the go.mod
		version, err = ask(ctx, os.TempDir(), []string{"GOTOOLCHAIN=local", "GOWORK=off"}, "go", "env", "GOVERSION")
		if err == nil && goIsNew(version) {
			return nil // then something else is wrong, and the build says what
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || version == "":
		missing.Found = "one that does not say its version (before 1.14)"
		return missing
	case !goIsNew(version):
		missing.Found = strings.TrimPrefix(version, "go")
		return missing
	}
	return nil
}

var goVersion = lazyregexp.New(`\bgo1\.(\d+)`)

func goIsNew(version string) bool {
	m := goVersion().FindStringSubmatch(version)
	if m == nil {
		return strings.HasPrefix(version, "devel")
	}
	minor, err := strconv.Atoi(m[1])
	return err == nil && minor >= goMinor
}

// compileAssemblyScript runs the folder's own `npm run build`, which makes build/plugin.wasm.
func (p project) compileAssemblyScript(ctx context.Context) (string, error) {
	if err := checkNode(ctx, p.Dir); err != nil {
		return "", err
	}
	if err := p.install(ctx); err != nil {
		return "", fmt.Errorf("installing what the build needs: %w", err)
	}
	wasm := filepath.Join(p.Dir, "build", "plugin.wasm")
	if err := os.RemoveAll(wasm); err != nil { // an old one is no result
		return "", err
	}
	return wasm, p.run(ctx, p.npm(ctx, "run", "--silent", "build"))
}

// install fetches what the build needs, where that is not there. An npm that was stopped or has failed
// leaves a part of it, which npm itself may take for the whole. So a note is there until it has
// succeeded, and the next build begins anew where it finds one.
func (p project) install(ctx context.Context) error {
	modules, note := filepath.Join(p.Dir, "node_modules"), filepath.Join(p.Dir, "build", ".installing")
	if _, err := os.Lstat(note); err == nil {
		if err := os.RemoveAll(modules); err != nil {
			return err
		}
	} else if _, err := os.Stat(modules); err == nil {
		return nil
	} else if err := put(note, nil); err != nil {
		return err
	}
	if err := p.run(ctx, p.npm(ctx, "install", "--prefer-offline", "--no-fund", "--no-audit", "--loglevel=error")); err != nil {
		return err
	}
	return os.Remove(note)
}

func (p project) npm(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), "NPM_CONFIG_UPDATE_NOTIFIER=false")
	return cmd
}

func checkNode(ctx context.Context, dir string) error {
	missing := &ToolchainError{Tool: "node", Need: nodeNeed, Where: nodeWhere}
	if _, err := exec.LookPath("node"); err != nil {
		return missing
	}
	version, err := ask(ctx, dir, nil, "node", "--version")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, convErr := strconv.Atoi(major); err != nil || convErr != nil || n < nodeMajor {
		missing.Found = strings.TrimPrefix(version, "v")
		if missing.Found == "" {
			missing.Found = "one that does not say its version"
		}
		return missing
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return &ToolchainError{Tool: "npm", Need: "npm, which comes with Node.js,", Where: nodeWhere}
	}
	return nil
}
