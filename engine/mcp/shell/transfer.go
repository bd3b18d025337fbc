package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/collect"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
)

type uploadArgs struct {
	From string `json:"from"`
	Path string `json:"path"`
}

type downloadArgs struct {
	Path string `json:"path"`
	To   string `json:"to"`
}

// maxPath is how long a path of this computer may be, so that other programs can use it.
const maxPath = 4095

// here is a path in the folder of this computer.
func (s *server) here(name string) (string, error) {
	name = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(name)), "./")
	if name == "" || strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not a path in the folder for files, %s; use a relative path that stays in it", name, s.opts.Files)
	}
	if len(s.opts.Files)+1+len(name) > maxPath {
		return "", errors.New("the path is longer than one may be")
	}
	return name, nil
}

func (s *server) upload(ctx context.Context, _ *mcp.CallToolRequest, a uploadArgs) *mcp.CallToolResult {
	name, err := s.here(a.From)
	if err != nil {
		return reply.BadArguments("upload", err)
	}
	c, p, err := s.open(a.Path)
	if err != nil {
		return reply.BadArguments("upload", err)
	}
	info, err := s.files.Stat(name)
	if err != nil {
		return reply.Problem(fmt.Sprintf("upload: %v (in %s)", err, s.opts.Files))
	}
	_, real, err := resolve(ctx, c, p)
	switch {
	case err != nil && protocol.CodeOf(err) != protocol.NotFound:
	case info.IsDir():
		err = s.uploadTree(ctx, c, name, real)
	case info.Mode().IsRegular():
		err = s.uploadFile(ctx, c, name, real)
	default:
		err = fmt.Errorf("%s is neither a file nor a folder", a.From)
	}
	out := map[string]any{"from": a.From, "path": a.Path, "folder": info.IsDir(), "size": info.Size()}
	if err := noteMissing(out, err); err != nil {
		return reply.Failure(fmt.Errorf("upload %s: %w", a.From, explain(err)))
	}
	return reply.Answer(out)
}

// noteMissing is err, but a note of the answer where only some entries of a folder are
// missing: they vanished, or may not be read.
func noteMissing(answer map[string]any, err error) error {
	if !isPartial(err) {
		return err
	}
	answer["note"] = err.Error()
	return nil
}

func isPartial(err error) bool {
	var partial *tartree.PartialError
	return errors.As(err, &partial)
}

func (s *server) uploadFile(ctx context.Context, c *client.Client, name, to string) error {
	f, err := s.files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.Files().WriteOpen(ctx, to, f)
}

// uploadTree makes a new folder appear as a whole. Into one that is there the files go one
// after the other.
func (s *server) uploadTree(ctx context.Context, c *client.Client, name, to string) error {
	dir, err := s.inside(name)
	if err != nil {
		return err
	}
	if _, err := c.Files().Stat(ctx, to); protocol.CodeOf(err) != protocol.NotFound {
		if err != nil {
			return err
		}
		return c.Files().Upload(ctx, dir, to)
	}
	parent, base := path.Dir(path.Clean(to)), path.Base(path.Clean(to))
	if parent == "~" {
		parent = "~/"
	}
	tmp := newID(".seer-upload-")
	missing := c.Files().Upload(ctx, dir, path.Join(parent, tmp))
	if missing != nil && !isPartial(missing) {
		removePart(ctx, c, s.log, path.Join(parent, tmp))
		return missing
	}
	// No shell sees the names.
	end, err := c.Processes().Run(ctx, protocol.ProcessSpec{Argv: []string{"mv", "--", tmp, "./" + base}, Cwd: parent}, nil, nil, io.Discard)
	if err == nil && end.ExitCode != 0 {
		err = fmt.Errorf("it was copied, but could not be moved to its place (mv: exit code %d)", end.ExitCode)
	}
	if err != nil {
		removePart(ctx, c, s.log, path.Join(parent, tmp))
		return err
	}
	return missing
}

func removePart(ctx context.Context, c *client.Client, log hclog.Logger, p string) {
	if err := c.Files().Remove(context.WithoutCancel(ctx), p, true); err != nil && protocol.CodeOf(err) != protocol.NotFound {
		log.Warn("a partial upload is still there", "path", p, "error", err)
	}
}

// inside is the real path of a folder that a link does not lead out of the folder for
// files.
func (s *server) inside(name string) (string, error) {
	sub, err := s.files.OpenRoot(name) // follows no link that leads out
	if err != nil {
		return "", err
	}
	defer sub.Close()
	root, err := filepath.EvalSymlinks(s.opts.Files)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, name))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, dir); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the folder for files", name)
	}
	return dir, nil
}

func (s *server) download(ctx context.Context, _ *mcp.CallToolRequest, a downloadArgs) *mcp.CallToolResult {
	name, err := s.here(a.To)
	if err != nil {
		return reply.BadArguments("download", err)
	}
	if name == "." {
		name = path.Base(path.Clean(a.Path))
		if name, err = s.here(name); err != nil || name == "." {
			return reply.BadArguments("download", errors.New("to needs a name"))
		}
	}
	c, p, err := s.open(a.Path)
	if err != nil {
		return reply.BadArguments("download", err)
	}
	e, real, err := resolve(ctx, c, p)
	switch {
	case err != nil:
		return reply.Failure(explain(err))
	case e.Type != protocol.EntryFile && e.Type != protocol.EntryDir:
		return reply.Problem(fmt.Sprintf("download: %s is a %s", a.Path, kindOf(e)))
	}
	if err := s.files.MkdirAll(path.Dir(name), 0o755); err != nil {
		return reply.Problem(fmt.Sprintf("download: %v", err))
	}
	if e.Type == protocol.EntryFile {
		err = s.downloadFile(ctx, c, real, name, e)
	} else {
		err = s.downloadTree(ctx, c, real, name)
	}
	out := map[string]any{"path": a.Path, "to": filepath.Join(s.opts.Files, name), "folder": e.Type == protocol.EntryDir, "size": e.Size}
	if err := noteMissing(out, err); err != nil {
		return reply.Failure(fmt.Errorf("download %s: %w", a.Path, explain(err)))
	}
	return reply.Answer(out)
}

func (s *server) downloadFile(ctx context.Context, c *client.Client, from, name string, e protocol.Entry) (err error) {
	mode, err := modeOf("", e)
	if err != nil {
		return err
	}
	if there, err := s.files.Lstat(name); err == nil && !there.Mode().IsRegular() && there.Mode().Type() != fs.ModeSymlink {
		return fmt.Errorf("%s in %s is not a file; give another name", name, s.opts.Files)
	}
	tmp := path.Join(path.Dir(name), newID(".seer-download-"))
	f, err := s.files.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.files.Remove(tmp)
		}
	}()
	_, err = c.Files().Read(ctx, from, f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return s.files.Rename(tmp, name)
}

// downloadTree makes the folder appear as a whole.
func (s *server) downloadTree(ctx context.Context, c *client.Client, from, name string) error {
	if _, err := s.files.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already in %s; give another name", name, s.opts.Files)
	}
	tmp := newID(".seer-download-") // at the top, where no link can be in the way
	if err := s.files.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	missing := c.Files().Download(client.Renaming(ctx, collect.Safe), from, filepath.Join(s.opts.Files, tmp))
	err := missing
	if err == nil || isPartial(err) {
		err = s.files.Rename(tmp, name)
	}
	if err != nil {
		_ = s.files.RemoveAll(tmp)
		return err
	}
	return missing
}
