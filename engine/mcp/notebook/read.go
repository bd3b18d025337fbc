package notebook

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/clients"
	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/notebook"
)

const (
	// readCells is how many cells are read at once unless it is said.
	readCells = 50
	// shortText is how much of a cell's text outputs is told unless all are wanted.
	shortText = 2 << 10
	// readBytes is after how many bytes of sources and outputs reading ends.
	readBytes = 96 << 10
)

type (
	readArguments struct {
		Session string `json:"session_id"`
		From    int    `json:"from"`
		Count   int    `json:"count"`
		Outputs string `json:"outputs"`
	}
	variableArguments struct {
		Session string `json:"session_id"`
		Name    string `json:"name"`
	}
)

// cell is one as agents see it.
type cell struct {
	Index   int     `json:"index"`
	ID      string  `json:"cell_id"`
	Type    string  `json:"type"`
	Source  string  `json:"source"`
	Count   *int    `json:"execution_count,omitempty"`
	State   string  `json:"state,omitempty"`
	Outputs []shown `json:"outputs,omitempty"`
}

// page is a part of a notebook.
type page struct {
	SessionID string `json:"session_id"`
	Path      string `json:"notebook_path,omitempty"`
	Cells     []cell `json:"cells"`
	Total     int    `json:"total"`
	Next      string `json:"next,omitempty"`
}

// variables are those of a kernel.
type variables struct {
	SessionID string              `json:"session_id"`
	Variables []notebook.Variable `json:"variables"`
	Omitted   int                 `json:"omitted,omitempty"` // that are too many
}

func (s *server) addReadTools() {
	add(s, &mcp.Tool{
		Name: "read_notebook", Title: "Read the notebook", OutputSchema: answers[page](), Annotations: reads(),
		InputSchema: schema(props{"session_id": sessionArgument(), "from": whole("index of the first cell; a negative one counts from the end"), "count": whole("how many cells; default 50"),
			"outputs": choice("short: their beginning and end, without images; full: with images", "short", "full", "none")}),
		Description: "Reads the cells of the notebook as they are now, with what other agents and people have added and edited.",
	}, s.read)
	add(s, &mcp.Tool{
		Name: "variables", Title: "List variables", OutputSchema: answers[variables](), Annotations: reads(),
		InputSchema: schema(props{"session_id": sessionArgument(), "name": text("only this one")}),
		Description: "Lists the variables of the kernel with type, shape, dtype, size and a preview, without running a cell.",
	}, s.variables)
}

func (s *server) read(ctx context.Context, req *mcp.CallToolRequest, in readArguments) *mcp.CallToolResult {
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	if in.Outputs == "" {
		in.Outputs = string(notebook.ShortOutputs)
	}
	if !oneOf(in.Outputs, "short", "full", "none") {
		return badArgument("read_notebook", fmt.Sprintf("outputs is %q; it can be short, full or none", in.Outputs))
	}
	if in.Count <= 0 {
		in.Count = readCells
	}
	n, err := s.client.Session(ctx, id)
	if err != nil {
		return s.failure(err, req, id)
	}
	if in.From < 0 {
		in.From = max(0, n.Cells+in.From)
	}
	found, err := s.client.Cells(ctx, id, notebook.CellRange{From: in.From, Count: in.Count, Outputs: notebook.Detail(in.Outputs)})
	if err != nil {
		return s.failure(err, req, id)
	}
	answer, images := fill(found, in.Outputs == "full", clients.TextOf(req.Session, readBytes))
	answer.SessionID, answer.Path = id, n.Path
	s.use(req, id)
	return clients.Fit(reply.Answer(answer, images...), req.Session)
}

// fill makes a page of cells, as many as fit in room bytes of text; at least one.
func fill(found notebook.Cells, full bool, room int) (page, []mcp.Content) {
	p := page{Cells: []cell{}, Total: found.Total}
	var images []mcp.Content
	size := 0
	for _, c := range found.Cells {
		one := cell{Index: c.Index, ID: c.ID, Type: c.Type, Source: string(c.Source), Count: c.ExecutionCount}
		if c.State != "idle" {
			one.State = c.State
		}
		limit := shortText
		if full {
			limit = maxText
		}
		if len(p.Cells) == 0 {
			limit = min(limit, max(room-len(one.Source), 1<<10))
		}
		var o outputs
		for i := range c.Outputs {
			o.add(convert(&c.Outputs[i], full))
		}
		shown, pictures := o.show(limit, len(images)+1)
		if len(images)+len(pictures) > maxImages {
			for i := range shown {
				if shown[i].Image > 0 {
					shown[i].Image, shown[i].Note = 0, "image not shown; read_notebook with outputs full and a smaller count shows it"
				}
			}
			pictures = nil
		}
		one.Outputs = shown
		size += len(one.Source)
		for _, s := range shown {
			size += len(s.Text)
		}
		if size > room && len(p.Cells) > 0 {
			break
		}
		images = append(images, pictures...)
		p.Cells = append(p.Cells, one)
	}
	if n := len(p.Cells); n > 0 && p.Cells[n-1].Index+1 < p.Total {
		p.Next = fmt.Sprintf("There are more cells: read on with {\"from\": %d}.", p.Cells[n-1].Index+1)
	}
	return p, images
}

func (s *server) variables(ctx context.Context, req *mcp.CallToolRequest, in variableArguments) *mcp.CallToolResult {
	id, problem := s.choose(ctx, req, in.Session)
	if problem != nil {
		return problem
	}
	list, err := s.client.Variables(ctx, id, in.Name)
	if err != nil {
		return s.failure(err, req, id)
	}
	if list == nil {
		list = []notebook.Variable{}
	}
	const most = 500
	answer := variables{SessionID: id, Variables: list}
	if len(list) > most {
		answer.Variables, answer.Omitted = list[:most], len(list)-most
	}
	return reply.Answer(answer)
}
