package sandboxcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/collect"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
)

func newCp(a app) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use:   "cp [-r] SRC DST",
		Short: "Copy files into and out of a sandbox",
		Long: `Copy a file, or with -r a folder, between this computer and a sandbox. One of SRC
and DST is ID:PATH; a relative PATH begins at /workspace. - is standard input or
output. Modes are kept. As with cp, a copy to an existing folder goes into that
folder. Write a local path with a colon as ./a:b.

Some files make programs run commands as soon as somebody uses their folder (.git,
.vscode, .envrc, HEAD, …). Seer adds .collected to the names of such files on this
computer and warns, because code in the sandbox may have written them. Inspect them
before you remove the suffix.`,
		Example: `  seer cp data.csv lab:/workspace/data.csv
  seer cp -r lab:results .
  tar c src | seer cp - lab:src.tar
  seer cp lab:log.txt - | tail`,
		Args:              cli.Args(2, 2, "SRC and DST"),
		ValidArgsFunction: a.completeCp,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.cp(cmd.Context(), parsePlace(given[0]), parsePlace(given[1]), recursive)
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy folders, too")
	return c
}

// place is a path on this computer or in a sandbox.
type place struct {
	sandbox string // empty = this computer
	path    string
	text    string // as it was written
}

func (p place) stream() bool { return p.sandbox == "" && p.path == "-" }

// parsePlace reads ID:PATH like scp does.
func parsePlace(text string) place {
	ref, p, ok := strings.Cut(text, ":")
	if !ok || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`).MatchString(ref) {
		return place{path: text, text: text}
	}
	folder := strings.HasSuffix(p, "/") || p == ""
	p = path.Join("/workspace", p)
	if raw := text[len(ref)+1:]; strings.HasPrefix(raw, "/") {
		p = path.Clean(raw)
	}
	if folder && p != "/" {
		p += "/"
	}
	return place{sandbox: ref, path: p, text: text}
}

func (a app) cp(ctx context.Context, src, dst place, recursive bool) error {
	remote := src
	switch {
	case src.text == "" || dst.text == "":
		return cli.Usagef("SRC and DST are paths, and one of them is empty; . is the folder in which you are")
	case src.sandbox == "" && dst.sandbox == "":
		return cli.Usagef("neither %s nor %s is in a sandbox; write one of them as ID:PATH", src.text, dst.text)
	case src.sandbox != "" && dst.sandbox != "":
		return cli.Usagef("both %s and %s are in a sandbox; copy to this computer first", src.text, dst.text)
	case src.sandbox == "":
		remote = dst
	}
	s, err := a.Open(ctx, remote.sandbox)
	if err != nil {
		return err
	}
	defer s.Close()
	c := &copier{app: a, sandbox: s, runtime: s.Runtime(), recursive: recursive}
	if src.sandbox == "" {
		err = c.upload(ctx, src, dst)
	} else {
		err = c.download(ctx, src, dst)
	}
	if err != nil || !a.JSON || dst.stream() {
		return cli.ProviderError(err)
	}
	return a.PrintJSON(c.done)
}

// copied is the result of cp under --json.
type copied struct {
	Source string `json:"source"` // as it was written
	Target string `json:"target"` // where it is now: a path of this computer, or of the sandbox
	Bytes  int64  `json:"bytes"`  // that were sent
}

type copier struct {
	app       app
	sandbox   *engine.Sandbox
	runtime   *client.Client
	recursive bool
	done      copied
	renamed   []string
}

func (c *copier) upload(ctx context.Context, src, dst place) error {
	if src.stream() {
		if c.isFolder(ctx, dst.path) {
			return cli.Usagef("%s is a folder; name the file that standard input becomes", dst.text)
		}
		c.done.Target = strings.TrimSuffix(dst.path, "/")
		return c.metered(ctx, src, dst, 0, func(ctx context.Context) error {
			return c.sandbox.WriteFrom(ctx, c.done.Target, c.app.UI.In, 0o644)
		})
	}
	info, err := os.Stat(src.path)
	if err != nil {
		return readError(err)
	}
	if info.IsDir() && !c.recursive {
		return needsRecursive(src)
	}
	target := dst.path
	if strings.HasSuffix(target, "/") || c.isFolder(ctx, target) {
		abs, err := filepath.Abs(src.path) // so that . has a name
		if err != nil {
			return err
		}
		target = path.Join(target, filepath.Base(abs))
	}
	c.done.Target = target
	total := info.Size()
	if info.IsDir() {
		total = c.weigh(ctx, src)
	}
	return c.metered(ctx, src, dst, total, func(ctx context.Context) error { return c.sandbox.Upload(ctx, src.path, target) })
}

// weigh is the size of a folder, as far as it can be told soon. At a terminal it shows that
// it counts.
func (c *copier) weigh(ctx context.Context, src place) int64 {
	ui := c.app.UI
	if !ui.HasLiveLine() {
		return 0
	}
	defer ui.Working("cp", "counting the files in "+src.text)()
	return tartree.Weigh(ctx, src.path, func(files int) { ui.Counted("cp", term.Plural(files, "file")) })
}

// metered copies, and shows how far that is, unless somebody types what is copied.
func (c *copier) metered(ctx context.Context, src, dst place, total int64, copying func(context.Context) error) error {
	m := c.app.UI.NewMeter("cp", src.text+" → "+dst.text, total)
	typed := src.stream() && c.app.UI.InputIsTerminal()
	err := copying(client.Counted(ctx, func(n int64) {
		c.done.Bytes += n
		if !typed {
			m.Add(n)
		}
	}))
	c.done.Source = src.text
	m.End(err)
	return err
}

func (c *copier) download(ctx context.Context, src, dst place) error {
	from := strings.TrimSuffix(src.path, "/")
	if from == "" {
		from = "/"
	}
	entry, err := c.runtime.Files().Stat(ctx, from)
	if err != nil {
		return err
	}
	folder := entry.Type == protocol.EntryDir || (entry.Type == protocol.EntrySymlink && c.isFolder(ctx, from))
	switch {
	case folder && dst.stream():
		return cli.Usagef("%s is a folder and cannot go to standard output", src.text)
	case folder && !c.recursive:
		return needsRecursive(src)
	case dst.stream():
		out := c.app.UI.Screen(c.app.UI.Out)
		_, err := c.runtime.Files().Read(ctx, from, out)
		return errors.Join(err, out.Flush())
	}
	target := dst.path
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		target = filepath.Join(target, c.safe(path.Base(from)))
	} else if strings.HasSuffix(target, "/") && !folder {
		return fmt.Errorf("there is no folder %s: %w", target, fs.ErrNotExist)
	}
	c.done.Target = target
	total := int64(0)
	if entry.Type == protocol.EntryFile {
		total = entry.Size
	}
	err = c.metered(ctx, src, dst, total, func(ctx context.Context) error {
		return c.sandbox.Download(client.Renaming(ctx, c.safe), from, target)
	})
	if len(c.renamed) > 0 {
		c.app.UI.Note("warning", fmt.Sprintf("programs would obey %s where they lie; each was copied with .collected behind its name", strings.Join(c.renamed, ", ")))
	}
	return err
}

// safe is the name that a file of the sandbox gets here.
func (c *copier) safe(name string) string {
	safe := collect.Safe(name)
	if quoted := strconv.Quote(name); safe != name && !slices.Contains(c.renamed, quoted) {
		c.renamed = append(c.renamed, quoted)
	}
	return safe
}

func (c *copier) isFolder(ctx context.Context, remote string) bool {
	_, err := c.runtime.Files().List(ctx, strings.TrimSuffix(remote, "/"))
	return err == nil
}

func needsRecursive(p place) error { return cli.Usagef("%s is a folder; copy it with -r", p.text) }
