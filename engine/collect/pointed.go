package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	maxRepos = 100              // repositories of the user's whose settings are read
	gitTime  = 20 * time.Second // an included file may be a pipe
)

// commands are the settings of git that name programs, folders of hooks and further files
// of settings.
var commands = lazyregexp.New(`^(core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)|` +
	`(alias|credential|filter|hook|pager|difftool|mergetool|guitool)\..*|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|` +
	`gpg\.(.*\.)?program|sequence\.editor|interactive\.difffilter|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack)|` +
	`include(if\..*)?\.path|init\.templatedir|sendemail\..*)$`)

// pointed notes the files and folders of the workspace that settings of the user's
// repositories lead to: those in the workspace, the one that it lies in, and the user's
// own. Without git nobody obeys them.
func (g *Guard) pointed(ctx context.Context, repos []string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	if len(repos) > maxRepos {
		return fmt.Errorf("the workspace has more than %d repositories of git, too many to look where their settings lead; use a smaller folder", maxRepos)
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	base, err := filepath.EvalSymlinks(g.root.Name())
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return err
	}
	for _, repo := range append([]string{"."}, repos...) {
		folder := filepath.Join(base, filepath.FromSlash(repo))
		top := folder
		if out, err := gitSays(ctx, git, folder, "rev-parse", "--show-toplevel"); err == nil {
			top = strings.TrimSuffix(string(out), "\n")
		}
		settings, err := gitSays(ctx, git, folder, "config", "--list", "--null", "--show-origin")
		if err != nil {
			return fmt.Errorf("look where the settings of git in %s lead: %w; mend them, or name another workspace", folder, err)
		}
		p := pointer{g: g, base: base, places: []string{top, filepath.Join(top, ".git")}}
		p.settings(folder, strings.Split(string(settings), "\x00"))
	}
	return nil
}

func gitSays(ctx context.Context, git, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir = folder
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_DIR=") && !strings.HasPrefix(v, "GIT_WORK_TREE=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return out, err
}

// pointer finds the workspace's files in settings.
type pointer struct {
	g      *Guard
	base   string   // the workspace, without links
	places []string // where paths of the settings begin
}

// settings reads pairs of a file and a setting, "KEY\nVALUE".
func (p pointer) settings(folder string, all []string) {
	for i := 0; i+1 < len(all); i += 2 {
		if file, ok := strings.CutPrefix(all[i], "file:"); ok {
			if !filepath.IsAbs(file) {
				file = filepath.Join(folder, file)
			}
			p.add(file)
		}
		key, value, _ := strings.Cut(all[i+1], "\n")
		if !commands().MatchString(strings.ToLower(key)) || strings.HasPrefix(key, "alias.") && !strings.HasPrefix(value, "!") {
			continue
		}
		for _, word := range append(strings.FieldsFunc(value, isShell), value) {
			p.word(word)
		}
	}
}

// isShell reports whether a character separates words of a command.
func isShell(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&()<>{}=!", r) }

// word adds what a word of a setting names, there or not yet. A word that looks like no
// path counts only if it is there.
func (p pointer) word(word string) {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			word = filepath.Join(home, rest)
		}
	}
	if word == "" || strings.HasPrefix(word, "-") {
		return
	}
	if filepath.IsAbs(word) {
		p.add(word)
		return
	}
	for _, place := range p.places {
		full := filepath.Join(place, word)
		if _, err := os.Lstat(full); err == nil || strings.ContainsAny(word, "./") {
			p.add(full)
		}
	}
}

// add guards a path of the workspace, and what a link there leads to.
func (p pointer) add(full string) {
	all := []string{full}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		all = append(all, real)
	} else if parent, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		all = append(all, filepath.Join(parent, filepath.Base(full)))
	}
	for _, full := range all {
		rel, err := filepath.Rel(p.base, full)
		if err == nil && filepath.IsLocal(rel) && rel != "." {
			p.g.extra[canonicalPath(filepath.ToSlash(rel))] = filepath.ToSlash(rel)
		}
	}
}

// canonicalPath is canonical for each part of a path.
func canonicalPath(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = canonical(parts[i])
	}
	return strings.Join(parts, "/")
}

// links calls f for every link on the way to what settings lead to.
func (g *Guard) links(f func(name string) error) error {
	var errs []error
	seen := map[string]bool{}
	for _, name := range g.extra {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			info, err := g.root.Lstat(dir)
			if err == nil && info.Mode().Type() == fs.ModeSymlink && !seen[dir] {
				seen[dir] = true
				errs = append(errs, f(dir))
			}
		}
	}
	return errors.Join(errs...)
}
