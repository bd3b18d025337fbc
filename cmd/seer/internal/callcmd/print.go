package callcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/engine/sanitize"
)

// What a result may be to be printed. A buffer beyond shownBytes is only named.
const (
	shownBytes = 64 << 10
	heldBytes  = 1 << 30
)

// showFlags say what becomes of a result.
type showFlags struct {
	raw bool
	out string
}

func (f *showFlags) add(c *cobra.Command) {
	c.Flags().BoolVarP(&f.raw, "raw", "r", false, "print a string without quotes")
	c.Flags().StringVarP(&f.out, "out", "o", "", "write the result to `FILE` instead: an array to .npy or .raw, an image or bytes\nunchanged, text to .txt, anything to .json; - is standard output")
	c.MarkFlagsMutuallyExclusive("raw", "out")
}

// printer shows what comes of a call: prints on stderr, items and the result on stdout,
// or in a file. The answer counts as fetched once it has been written.
type printer struct {
	app    app
	flags  showFlags
	stream func() bool // whether the function is a generator; asked for an empty one
	items  int
	out    [2]io.Writer // stdout and stderr of the function
	flush  func() error
}

func newPrinter(a app, f showFlags, stream func() bool) (*printer, error) {
	p := &printer{app: a, flags: f, stream: stream, flush: func() error { return nil }}
	if f.out != "" && f.out != "-" {
		if err := checkFolder(f.out); err != nil {
			return nil, err
		}
	}
	if !a.JSON {
		o, e := a.UI.Screen(a.UI.Err), a.UI.Screen(a.UI.Err) // each holds back its own
		p.out = [2]io.Writer{o, e}
		p.flush = func() error { return errors.Join(o.Flush(), e.Flush()) }
		return p, nil
	}
	mu := &sync.Mutex{}
	o, e := term.NewJSONStream(a.UI.Stderr(), mu, "stdout", ""), term.NewJSONStream(a.UI.Stderr(), mu, "stderr", "") // stdout has the result
	p.out = [2]io.Writer{o, e}
	p.flush = func() error { return errors.Join(o.Flush(), e.Flush()) }
	return p, nil
}

// checkFolder finds that the folder of a file is there.
func checkFolder(file string) error {
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &engine.Error{Kind: engine.KindNotFound, Err: fmt.Errorf("there is no folder for the file %s", file)}
	case err != nil:
		return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s cannot be written: %w", file, err)}
	case !info.IsDir():
		return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s cannot be written: %s is not a folder", file, dir)}
	}
	return nil
}

func (p *printer) close() { p.app.UI.Finish() }

// end is the error of the whole command.
func (p *printer) end(err error) error { return errors.Join(err, p.flush()) }

func (p *printer) handler() client.CallHandler {
	on := client.CallHandler{Queued: p.queued, Item: p.item, Result: p.result}
	if !p.app.Quiet {
		on.Output = func(stream int, text string) {
			_, _ = io.WriteString(p.out[min(max(stream, 1), 2)-1], text) // a closed stderr means that none is wanted
		}
	}
	return on
}

func (p *printer) queued(position int) {
	p.app.UI.Report(event.CallQueued{Position: position})
}

func (p *printer) item(b client.Body) error {
	if p.flags.out != "" {
		return cli.Usagef("the function gives items one after the other, which are printed: leave out --out")
	}
	v, err := b.Value()
	if err != nil {
		return err
	}
	p.items++
	return p.print(v)
}

// result writes the result as it comes.
func (p *printer) result(tagged bool, size int64, body io.Reader) error {
	if p.flags.out != "" {
		return p.write(tagged, size, body)
	}
	if size > heldBytes {
		return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the result has %d bytes, which is too much to be shown: write it to a file with --out", size)}
	}
	v, err := value.Read(body, size, tagged, value.Limits{Bytes: heldBytes}) // which counts what is compressed, too
	if err != nil {
		return err
	}
	if string(v.JSON) == "null" && (p.items > 0 || p.stream()) {
		return nil
	}
	return p.print(v)
}

func (p *printer) print(v value.Value) error {
	plain, err := plainOf(v)
	if err != nil {
		return err
	}
	for _, part := range v.Parts {
		if len(part) > shownBytes {
			p.app.UI.Tell("Large arrays, images and bytes are only named: --out FILE writes a result")
			break
		}
	}
	seen := p.app.UI.Width() > 0
	var s string
	if p.flags.raw && json.Unmarshal(plain, &s) == nil {
		if seen {
			s = sanitize.Text(s)
		}
		return p.app.Println(s)
	}
	if seen || p.app.JSON {
		plain = sanitize.JSON(plain)
	}
	if !p.app.JSON {
		plain = indentJSON(plain)
	}
	_, err = p.app.UI.Stdout().Write(append(plain, '\n'))
	return err
}

// plainOf is a value for people; a handle is what is known of it.
func plainOf(v value.Value) (json.RawMessage, error) {
	var h value.Handle
	if v.Tagged && len(v.Parts) == 0 && bytes.Contains(v.JSON, []byte(`"handle"`)) && v.Decode(&h) == nil && h.Info != nil {
		return h.Info, nil
	}
	return v.Plain(value.PlainOptions{Shorten: shownBytes})
}

// write writes the result to the file, whole or not at all.
func (p *printer) write(tagged bool, size int64, body io.Reader) error {
	if p.flags.out == "-" {
		return writeValue(p.app.UI.Screen(p.app.UI.Out), ".raw", tagged, size, body)
	}
	if info, err := os.Stat(p.flags.out); err == nil && !info.Mode().IsRegular() {
		return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s is there and no file, so none takes its place; standard output is called -", p.flags.out)}
	}
	f, err := os.CreateTemp(filepath.Dir(p.flags.out), "."+filepath.Base(p.flags.out)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // which is gone when all went well
	err = writeValue(f, strings.ToLower(filepath.Ext(p.flags.out)), tagged, size, body)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), p.flags.out)
	}
	return err
}
