package notebook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
)

// Info asks the service what it is and which sessions there are.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	if err := c.json(ctx, request{method: http.MethodGet, safe: true}, &info); err != nil {
		return info, err
	}
	if info.Service != 1 {
		return info, protocol.Errorf(protocol.Unsupported, "what answers at %s does not speak version 1 of the notebook service: it says %d; use the version of Seer that started it", c.address, info.Service)
	}
	return info, nil
}

// Mode is how a session begins.
type Mode string

// The modes of [NewSession].
const (
	New      Mode = "new"
	Prepare  Mode = "prepare"
	Resume   Mode = "resume"
	Continue Mode = "continue"
)

// NewSession says which session is wanted.
type NewSession struct {
	Mode Mode   `json:"mode"`
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"` // of the notebook to go on with
	Key  string `json:"key,omitempty"`  // a repeat with the same one gives the first answer; default: made
}

// StartSession begins a session and answers when its kernel is ready, which with
// set-up may take long. The execution is that of the cells of a notebook that is taken up again.
func (c *Client) StartSession(ctx context.Context, n NewSession) (Session, *Execution, error) {
	var answer struct {
		Session   Session    `json:"session"`
		Execution *Execution `json:"execution"`
	}
	if n.Key == "" {
		n.Key = NewKey()
	}
	err := c.json(ctx, request{method: http.MethodPost, path: "/sessions", body: n, safe: true}, &answer)
	return answer.Session, answer.Execution, err
}

// Sessions lists the sessions.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	var answer struct {
		Sessions []Session `json:"sessions"`
	}
	return answer.Sessions, c.json(ctx, request{method: http.MethodGet, path: "/sessions", safe: true}, &answer)
}

// Session reads one session.
func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	return c.session(ctx, request{method: http.MethodGet, path: sessionPath(id), safe: true})
}

// EndSession ends a session's kernel. The notebook stays.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.json(ctx, request{method: http.MethodDelete, path: sessionPath(id)}, nil)
}

// Interrupt interrupts what runs and drops what is queued.
func (c *Client) Interrupt(ctx context.Context, id string) (Session, error) {
	return c.session(ctx, request{method: http.MethodPost, path: sessionPath(id) + "/interrupt", body: struct{}{}})
}

// Restart gives a session a new kernel. With setup, its set-up cells run again.
func (c *Client) Restart(ctx context.Context, id string, setup bool) (Session, error) {
	return c.session(ctx, request{method: http.MethodPost, path: sessionPath(id) + "/restart", body: map[string]bool{"setup": setup}})
}

func (c *Client) session(ctx context.Context, r request) (Session, error) {
	var s struct {
		Session
		Wrapped *Session `json:"session"`
	}
	if err := c.json(ctx, r, &s); err != nil || s.Wrapped == nil {
		return s.Session, err
	}
	return *s.Wrapped, nil
}

// HeaderVersion of an answer that is a whole notebook is the notebook's version.
const HeaderVersion = "X-Seer-Version"

// Notebook reads a notebook as Jupyter writes it, and its version. With unless, it
// waits until the notebook has another version; where it has none after wait, data is
// nil.
func (c *Client) Notebook(ctx context.Context, id string, unless Version, wait time.Duration) (data []byte, v Version, err error) {
	q := url.Values{}
	if unless != "" {
		q.Set("unless", string(unless))
		q.Set("wait", seconds(wait))
	}
	resp, err := c.do(ctx, request{method: http.MethodGet, path: sessionPath(id) + "/notebook", query: q, safe: true})
	if err != nil {
		return nil, "", err
	}
	defer drain(resp.Body)
	v = Version(resp.Header.Get(HeaderVersion))
	if resp.StatusCode == http.StatusNotModified {
		return nil, unless, nil
	}
	if data, err = io.ReadAll(resp.Body); errors.Is(err, errTooMuch) {
		return nil, "", protocol.Errorf(protocol.Internal, "the notebook of session %s: %v", id, err)
	} else if err != nil {
		return nil, "", fmt.Errorf("read the notebook of session %s: %w", id, &unreachable{err})
	}
	return data, v, nil
}

// Detail is how much of their outputs is told with cells.
type Detail string

// The details of [CellRange].
const (
	FullOutputs  Detail = "full"
	ShortOutputs Detail = "short"
	NoOutputs    Detail = "none"
)

// CellRange says which cells are wanted. The zero value is all, with their outputs.
type CellRange struct {
	From, Count int // Count 0 = to the end
	Outputs     Detail
}

// Cells are some of the cells of a notebook.
type Cells struct {
	Cells   []Cell  `json:"cells"`
	Total   int     `json:"total"`
	Version Version `json:"version"`
}

// Cells reads cells.
func (c *Client) Cells(ctx context.Context, id string, r CellRange) (Cells, error) {
	q := url.Values{}
	if r.From > 0 {
		q.Set("from", strconv.Itoa(r.From))
	}
	if r.Count > 0 {
		q.Set("count", strconv.Itoa(r.Count))
	}
	if r.Outputs != "" {
		q.Set("outputs", string(r.Outputs))
	}
	var cells Cells
	return cells, c.json(ctx, request{method: http.MethodGet, path: sessionPath(id) + "/cells", query: q, safe: true}, &cells)
}

// NewCell is a cell to be added.
type NewCell struct {
	Type   string `json:"type"` // code, markdown, raw
	Source string `json:"source"`
	Index  *int   `json:"index,omitempty"` // nil = at the end
	Run    bool   `json:"run"`
	Hidden bool   `json:"hidden"`        // it runs without a cell
	Key    string `json:"key,omitempty"` // a repeat with the same one gives the first answer; default: made
}

// AddCell adds a cell, or runs code without one.
func (c *Client) AddCell(ctx context.Context, id string, n NewCell) (Run, error) {
	if n.Key == "" {
		n.Key = NewKey()
	}
	var run Run
	return run, c.json(ctx, request{method: http.MethodPost, path: sessionPath(id) + "/cells", body: n, safe: true}, &run)
}

// CellEdit changes a cell. What is nil or empty stays.
type CellEdit struct {
	Source *string `json:"source,omitempty"`
	Type   string  `json:"type,omitempty"`
	Run    bool    `json:"run"`
	Key    string  `json:"key,omitempty"`
}

// EditCell changes a cell, which is named by its id or its index; a negative one counts
// from the end.
func (c *Client) EditCell(ctx context.Context, id, cell string, e CellEdit) (Run, error) {
	if e.Key == "" {
		e.Key = NewKey()
	}
	var run Run
	return run, c.json(ctx, request{method: http.MethodPatch, path: cellPath(id, cell), body: e, safe: true}, &run)
}

// RunCell runs a cell as it is.
func (c *Client) RunCell(ctx context.Context, id, cell string) (Run, error) {
	var run Run
	body := map[string]string{"key": NewKey()}
	return run, c.json(ctx, request{method: http.MethodPost, path: cellPath(id, cell) + "/run", body: body, safe: true}, &run)
}

// MoveCell gives a cell another index.
func (c *Client) MoveCell(ctx context.Context, id, cell string, index int) error {
	return c.json(ctx, request{method: http.MethodPost, path: cellPath(id, cell) + "/move", body: map[string]int{"index": index}}, nil)
}

// DeleteCell takes a cell out.
func (c *Client) DeleteCell(ctx context.Context, id, cell string) error {
	return c.json(ctx, request{method: http.MethodDelete, path: cellPath(id, cell)}, nil)
}

// Variables lists the user's names in the kernel, or the one that is named. While a cell
// runs, the error has the code conflict.
func (c *Client) Variables(ctx context.Context, id, name string) ([]Variable, error) {
	q := url.Values{}
	if name != "" {
		q.Set("name", name)
	}
	var answer struct {
		Variables []Variable `json:"variables"`
	}
	return answer.Variables, c.json(ctx, request{method: http.MethodGet, path: sessionPath(id) + "/variables", query: q, safe: true}, &answer)
}

func sessionPath(id string) string { return "/sessions/" + url.PathEscape(id) }

func cellPath(session, cell string) string {
	return sessionPath(session) + "/cells/" + url.PathEscape(cell)
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}
