package report

import (
	"encoding/base64"
	"encoding/json"
	"html/template"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/sanitize"
)

// notebook is a notebook file as Jupyter writes it.
type notebook struct {
	file
	Language string
	Cells    []cell
}

type cell struct {
	Type    string       `json:"cell_type"`
	Source  lines        `json:"source"`
	Count   *int         `json:"execution_count"`
	Outputs []cellOutput `json:"outputs"`
}

type cellOutput struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"`
	Text      lines                      `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Error     string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// lines is a text that a notebook has as one string, or as a list of lines.
type lines string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *lines) UnmarshalJSON(data []byte) error {
	var parts []string
	if json.Unmarshal(data, &parts) == nil {
		*l = lines(strings.Join(parts, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

func readNotebook(f file) notebook {
	n := notebook{file: f}
	var content struct {
		Format   int `json:"nbformat"`
		Metadata struct {
			Language struct {
				Name string `json:"name"`
			} `json:"language_info"`
		} `json:"metadata"`
		Cells []cell `json:"cells"`
	}
	if n.Err == nil {
		n.Err = json.Unmarshal(f.Data, &content)
	}
	n.Data, n.Language, n.Cells = nil, content.Metadata.Language.Name, content.Cells
	return n
}

// shownCell is a cell on the page.
type shownCell struct {
	Markdown template.HTML // of a cell that is no code
	Prompt   string
	Code     text
	Outputs  []shownOutput
	Note     string
}

type shownOutput struct {
	Image template.HTML
	Error bool
	text
}

func (p *page) cell(c cell, where string) shownCell {
	switch c.Type {
	case "markdown":
		t := start(string(c.Source), p.limits.text, where)
		return shownCell{Markdown: p.source.markdown(t.Text, style{}), Note: t.Note}
	case "code":
		out := shownCell{Prompt: " ", Code: plain(string(c.Source), p.limits.text, where)}
		if c.Count != nil {
			out.Prompt = strconv.Itoa(*c.Count)
		}
		for _, o := range c.Outputs {
			out.Outputs = append(out.Outputs, p.output(o, where))
		}
		return out
	}
	return shownCell{Code: plain(string(c.Source), p.limits.text, where)}
}

// output shows an image as one, and anything else as text: HTML, too.
func (p *page) output(o cellOutput, where string) shownOutput {
	switch o.Type {
	case "stream":
		return shownOutput{text: plain(carriage(string(o.Text)), p.limits.text, where), Error: o.Name == "stderr"}
	case "error":
		all := strings.Join(o.Traceback, "\n")
		if all == "" {
			all = o.Error + ": " + o.Value
		}
		return shownOutput{text: plain(all, p.limits.text, where), Error: true}
	}
	var alt lines
	_ = json.Unmarshal(o.Data["text/plain"], &alt) // then there is none
	why := ""
	for _, kind := range []string{"image/svg+xml", "image/png", "image/jpeg"} {
		var content lines
		if o.Data[kind] == nil || json.Unmarshal(o.Data[kind], &content) != nil {
			continue
		}
		data := []byte(content)
		if kind != "image/svg+xml" {
			data, _ = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), "")) // it is no image then
		}
		var element template.HTML
		if element, why = p.image(kind, data, "Output: "+line(string(alt), 200)); element != "" {
			return shownOutput{Image: element}
		}
	}
	for _, kind := range []string{"text/plain", "text/markdown", "text/latex", "text/html"} {
		var content lines
		if o.Data[kind] != nil && json.Unmarshal(o.Data[kind], &content) == nil {
			t := plain(string(content), p.limits.text, where)
			t.Note = strings.TrimSpace(t.Note + " " + why)
			return shownOutput{text: t}
		}
	}
	all, _ := json.Marshal(o.Data) // it was read from JSON
	return shownOutput{text: plain(string(all), p.limits.text, where)}
}

// carriage keeps of each line what stands behind the last carriage return: progress bars write
// over themselves.
func carriage(s string) string {
	all := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range all {
		l = strings.TrimRight(l, "\r")
		all[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return sanitize.Strip(strings.Join(all, "\n"))
}
