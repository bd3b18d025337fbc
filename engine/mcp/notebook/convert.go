package notebook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/notebook"
)

// prepare makes of an event's output what is kept of it; nil where there is nothing to
// prepare.
func prepare(e notebook.Event) *output {
	if e.Output == nil || e.Output.Type == "stream" {
		return nil
	}
	return convert(e.Output, true)
}

// convert makes of an output of nbformat what is kept of it. Without images, o is one of
// [notebook.ShortOutputs], which has only a remark in their place.
func convert(o *notebook.Output, images bool) *output {
	switch o.Type {
	case "stream":
		n := &output{kind: "stream", name: o.Name}
		n.text.add(plain(string(o.Text)))
		return n
	case "error":
		n := &output{kind: "error", ename: plain(o.EName), evalue: plain(o.EValue)}
		n.text.add(traceback(o))
		return n
	}
	n := &output{kind: "display"}
	if o.Type == "execute_result" {
		n.kind = "result"
	}
	n.bundle(o.Data, images)
	return n
}

// traceback is an error as Python would print it without a terminal.
func traceback(o *notebook.Output) string {
	text := strings.TrimRight(plain(strings.Join(o.Traceback, "\n")), "\n")
	if text == "" {
		text = plain(o.EName + ": " + o.EValue)
	}
	return text
}

// bundle takes from the forms of a datum the one that an agent can use best.
func (n *output) bundle(data map[string]json.RawMessage, images bool) {
	for _, kind := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		raw, there := data[kind]
		if !there {
			continue
		}
		n.mime, n.picture = kind, &picture{note: "image not shown; read_notebook with outputs full shows it"}
		if images {
			n.picture = decodePicture(texts(raw), kind)
		}
		n.text.add(plain(texts(data["text/plain"])))
		return
	}
	n.mime, _ = n.readable(data)
}

func decodePicture(text, kind string) *picture {
	image, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return &picture{note: "the " + kind + " is damaged: " + err.Error()}
	}
	return shrink(image, kind)
}

// readable adds the datum as text, and says what the text was.
func (n *output) readable(data map[string]json.RawMessage) (string, bool) {
	asText := texts(data["text/plain"])
	html := texts(data["text/html"])
	switch {
	case html != "" && (asText == "" || placeholder(asText)):
		n.text.add(plain(htmlText(html)))
		return "text/html", true
	case data["text/markdown"] != nil && (asText == "" || placeholder(asText)):
		n.text.add(plain(texts(data["text/markdown"])))
		return "text/markdown", true
	case data["text/latex"] != nil && (asText == "" || placeholder(asText)):
		n.text.add(plain(texts(data["text/latex"])))
		return "text/latex", true
	case data["image/svg+xml"] != nil:
		n.text.add(plain(texts(data["image/svg+xml"])))
		return "image/svg+xml", true
	case data["application/json"] != nil && (asText == "" || placeholder(asText)):
		var b bytes.Buffer
		if json.Compact(&b, data["application/json"]) == nil {
			n.text.add(plain(b.String()))
		}
		return "application/json", true
	case asText != "":
		n.text.add(plain(asText))
		return "text/plain", true
	}
	kinds := make([]string, 0, len(data))
	for kind := range data {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		return "", false
	}
	n.text.add("[" + strings.Join(kinds, ", ") + ": it can be seen in the browser only]")
	return kinds[0], true
}

// placeholder reports whether a text says only which object it stands for, as
// "<IPython.core.display.HTML object>" does.
func placeholder(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") && !strings.Contains(text, "\n")
}

// texts reads a text of a bundle, which may be a list of lines.
func texts(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var t notebook.Text
	if json.Unmarshal(raw, &t) != nil {
		return string(raw)
	}
	return string(t)
}
