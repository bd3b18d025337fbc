// Package report shows a run as one HTML page that needs nothing else: no server, no network, no
// other file. The content comes from strangers: agents, sandboxes, and whoever sent the folder. The
// page therefore has a Content-Security-Policy that allows its own style and script by their
// digests and images in the page, and nothing else; it links to places within itself only.
//
// Agents cite a call of the record as [call:ID] in their messages, in Markdown cells and in Markdown
// files among the outputs. The page links a citation to the call of exactly that ID; a citation of
// a call that the record lacks, or has twice, stays text.
//
// A number is marked with the call whose result it is. The rule:
//
//   - The number stands in the last message of the agent, or in a Markdown file of the outputs.
//   - The whole result of exactly one call is a number that equals it: both have the same decimal
//     text, or are the same float64. A percent sign, a unit or a rounded number changes nothing:
//     0.73 is not 0.7312, and 73.1 is not 0.731.
//   - It has at least three significant digits, from the first digit that is not zero to the last
//     one: 0.731 and 1234 have enough, 42, 0.50 and 7000 do not.
package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/seer-engine/seer/engine/runs"
)

// maxPage bounds the page without its images, in bytes.
const maxPage = 2_000_000

// limits are what a page shows of a run. They shrink until the page is small enough.
type limits struct {
	text  int // bytes of a message or a value; the last message may have 4 times as many
	items int // of the transcript, of the calls, of the requests and of the cells of notebooks
}

// Write writes the page of a run. Parts of the run that cannot be read are named on the page, and
// are no error.
func Write(w io.Writer, r *runs.Run) error {
	source := read(r)
	for l := (limits{text: 32 << 10, items: 6000}); ; l = l.smaller() {
		var out bytes.Buffer
		images, err := source.page(l).write(&out)
		if err != nil {
			return fmt.Errorf("make the page of the run %s: %w", r.ID, err)
		}
		if out.Len()-images <= maxPage || l.items == 1 {
			_, err = out.WriteTo(w)
			return err
		}
	}
}

// smaller cuts long texts first, and leaves items out where that is not enough.
func (l limits) smaller() limits {
	if l.text > 256 {
		return limits{l.text / 2, l.items}
	}
	return limits{l.text, max(1, l.items/2)}
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// policy allows exactly the style and the script of the page.
func policy() string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + digest(pageCSS) + "; script-src " + digest(pageJS) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

// write writes the page, and returns how many bytes of it are images.
func (p *page) write(out io.Writer) (int, error) {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return 0, err
	}
	p.Policy, p.CSS, p.JS = policy(), template.CSS(pageCSS), template.JS(pageJS) //nolint:gosec // files of this package
	return p.images, t.Execute(out, p)
}
