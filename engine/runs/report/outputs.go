package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"html/template"
	"image"
	_ "image/gif"  // for the sizes of images
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/runs"
)

const (
	maxNotebook = 64 << 20 // bytes of a notebook file
	maxImage    = 8 << 20  // bytes of an image
	maxImages   = 32 << 20 // bytes of all images
	maxPixels   = 50_000_000
	maxOutputs  = 200 // notebooks, images and texts
)

// file is a file among the outputs.
type file struct {
	Name string // below the outputs, for a reader
	Path string // as the log has it
	Data []byte
	Err  error
}

// images are the endings of images, and what they are.
var images = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml"}

// readOutputs reads the files that the page shows.
func (s *source) readOutputs() {
	shown := 0
	for _, a := range s.artifacts {
		if a.Kind != "notebook" && a.Kind != "output" {
			continue
		}
		ending := strings.ToLower(path.Ext(a.Path))
		limit := int64(maxImage)
		switch {
		case ending == ".ipynb":
			limit = maxNotebook
		case ending == ".md":
			limit = maxDocument
		case images[ending] == "":
			continue
		}
		if shown++; shown > maxOutputs {
			s.fault("outputs", fmt.Errorf("only the first %d notebooks, images and texts are on the page", maxOutputs))
			return
		}
		f := file{Name: strings.TrimPrefix(a.Path, runs.OutputsName+"/"), Path: a.Path}
		f.Data, f.Err = s.artifact(a, limit)
		switch ending {
		case ".ipynb":
			s.notebooks = append(s.notebooks, readNotebook(f))
		case ".md":
			s.reports = append(s.reports, f)
		default:
			s.figures = append(s.figures, f)
		}
	}
}

var errChanged = errors.New("the file was changed since the run")

// artifact reads a file that the log names. One outside of the folder is read only if it is what
// the log says: a stranger's log could name any file of this computer.
func (s *source) artifact(a event.RunArtifact, limit int64) (data []byte, err error) {
	if path.IsAbs(a.Path) {
		var root *os.Root
		root, err = os.OpenRoot(filepath.Dir(a.Path))
		if err == nil {
			data, err = plainfile.Read(root, filepath.Base(a.Path), limit)
			_ = root.Close() // only read
		}
	} else {
		data, err = s.run.ReadFile(a.Path, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be read, or has more than %d bytes", limit)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != a.SHA256 {
		return nil, errChanged
	}
	return data, nil
}

// image is an image as an element of the page, or the reason why it is none.
func (p *page) image(kind string, data []byte, alt string) (template.HTML, string) {
	switch {
	case len(data) > maxImage:
		return "", fmt.Sprintf("The image is not shown: it has %d bytes.", len(data))
	case p.images+len(data)*4/3 > maxImages:
		return "", "The image is not shown: the page has too many images already."
	}
	size := ""
	if kind == "image/svg+xml" {
		if err := drawable(data); err != nil {
			return "", "The image is not shown: " + err.Error() + "."
		}
	} else {
		config, found, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || "image/"+found != kind {
			return "", "The image is not shown: it is no " + kind + "."
		}
		if config.Width*config.Height > maxPixels {
			return "", fmt.Sprintf("The image is not shown: it has %d × %d pixels.", config.Width, config.Height)
		}
		size = fmt.Sprintf(` width="%d" height="%d"`, config.Width, config.Height)
	}
	element := `<img src="data:` + kind + `;base64,` + base64.StdEncoding.EncodeToString(data) + `" alt="` + html.EscapeString(alt) + `"` + size + `>`
	p.images += len(element)
	return template.HTML(element), "" //nolint:gosec // of escaped parts
}

// drawable refuses drawings that take a browser much longer to draw than to read: entities, and
// uses of parts that have uses themselves. In an img element a drawing runs no script and loads
// nothing.
func drawable(svg []byte) error {
	used := map[string]bool{}
	holders := map[string]bool{} // names of parts with uses
	var names []string           // of the open elements
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.New("it is no SVG")
		}
		switch t := t.(type) {
		case xml.Directive:
			if bytes.Contains(bytes.ToUpper(t), []byte("ENTITY")) {
				return errors.New("it has entities")
			}
		case xml.EndElement:
			names = names[:max(0, len(names)-1)]
		case xml.StartElement:
			id := ""
			for _, a := range t.Attr {
				if a.Name.Local == "id" {
					id = a.Value
				}
			}
			names = append(names, id)
			if t.Name.Local == "use" {
				for _, a := range t.Attr {
					if a.Name.Local == "href" {
						used[strings.TrimPrefix(strings.TrimSpace(a.Value), "#")] = true
					}
				}
				for _, n := range names {
					holders[n] = n != ""
				}
			}
		}
	}
	for name := range used {
		if holders[name] {
			return errors.New("it uses parts that use others")
		}
	}
	return nil
}
