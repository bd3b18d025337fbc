package notebook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                       "red",
		"\x1b[38;5;208mx\x1b[K\x1b[?25l":           "x",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b]0;title\x07rest":                     "rest",
		"10%\r50%\r100%\ndone":                     "100%\ndone",
		"windows\r\nline\r\n":                      "windows\nline\n",
		"abd\bc":                                   "abc",
		"\xff\xfe é":                               "\uFFFD é",
		"nul\x00bell\x07tab\t":                     "nulbelltab\t",
		"":                                         "",
		strings.Repeat("long ", 40000) + "\rshort\n": "", // only that it ends
	} {
		if got := plain(in); got != want && want != "" {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestHTML(t *testing.T) {
	testkit.WantEach(t, htmlText, map[string]string{
		"<p>One <b>two</b>\n three<p>four<br>five":        "One two three\nfour\nfive",
		"<ul><li>a<li>b</ul>":                             "- a\n- b",
		"<script>alert(1)</script><style>x{}</style>seen": "seen",
		"<pre>a\n  b</pre>c":                              "a\n  b\nc",
		"a &lt;tag&gt; &amp; &eacute;":                    "a <tag> & é",
		"<table><thead><tr><th></th><th>x</th></tr></thead><tr><td>0<td>10</table>z": "   x\n0  10\nz",
		"<table><caption>T</caption><tr><td colspan=2>wide<td>end</table>":           "T\nwide    end",
		"": "",
	})
	if got := htmlText(strings.Repeat("<div><table><tr><td>", 5000) + "deep"); len(got) > 1<<20 {
		t.Errorf("%d bytes", len(got))
	}
}

func encode(t testing.TB, w, h int, noise bool) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		if img.Pix[i] = 255; noise {
			img.Pix[i] = byte(r.Uint32())
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPictures(t *testing.T) {
	small := encode(t, 64, 32, false)
	if p := shrink(small, "image/png"); !bytes.Equal(p.data, small) || p.note != "64 x 32" {
		t.Errorf("a small one is changed: %s", p.note)
	}
	for _, size := range [][2]int{{1100, 60}, {4000, 2}, {1, 3000}} {
		p := shrink(encode(t, size[0], size[1], true), "image/png")
		c, _, err := image.DecodeConfig(bytes.NewReader(p.data))
		if err != nil || c.Width > maxSide || c.Height > maxSide || len(p.data) > maxBytes || !strings.HasPrefix(p.note, fmt.Sprintf("scaled from %d x %d to ", size[0], size[1])) {
			t.Errorf("%v: %+v, %d bytes, %s, %v", size, c, len(p.data), p.note, err)
		}
	}
	// Noise of few pixels can be too many bytes as well.
	if p := shrink(encode(t, 620, 620, true), "image/png"); p.mime != "image/jpeg" || len(p.data) > maxBytes || !strings.Contains(p.note, "shown as image/jpeg") {
		t.Errorf("%s, %d bytes, %s", p.mime, len(p.data), p.note)
	}
	var animation bytes.Buffer
	if err := gif.Encode(&animation, image.NewPaletted(image.Rect(0, 0, 9, 9), color.Palette{color.White, color.Black}), nil); err != nil {
		t.Fatal(err)
	}
	if p := shrink(animation.Bytes(), "image/gif"); p.mime != "image/png" || p.data == nil {
		t.Errorf("%+v", p)
	}
	bomb := append([]byte(nil), small...)
	copy(bomb[16:24], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65536 x 65536
	for name, data := range map[string][]byte{"empty": nil, "no image": []byte("<svg/>"), "cut": small[:len(small)/2], "bomb": bomb} {
		if p := shrink(data, "image/png"); p.data != nil || !strings.HasPrefix(p.note, "not shown: ") {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func bundleOf(pairs ...string) map[string]json.RawMessage {
	data := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		text, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic(err)
		}
		data[pairs[i]] = text
	}
	return data
}

func TestForms(t *testing.T) {
	png64 := base64.StdEncoding.EncodeToString(encode(t, 8, 8, false))
	for name, tc := range map[string]struct {
		data       map[string]json.RawMessage
		text, mime string
	}{
		"frame of pandas":   {bundleOf("text/plain", "   a\n0  1", "text/html", "<table><tr><td>1"), "   a\n0  1", "text/plain"},
		"HTML alone":        {bundleOf("text/plain", "<IPython.core.display.HTML object>", "text/html", "<b>x</b>"), "x", "text/html"},
		"figure":            {bundleOf("text/plain", "<Figure size 640x480>", "image/png", png64+"\n"), "<Figure size 640x480>", "image/png"},
		"SVG":               {bundleOf("text/plain", "<X>", "image/svg+xml", "<svg><circle/></svg>"), "<svg><circle/></svg>", "image/svg+xml"},
		"JSON":              {map[string]json.RawMessage{"application/json": json.RawMessage(`{"a": [1]}`)}, `{"a":[1]}`, "application/json"},
		"only for browsers": {bundleOf("application/vnd.x+json", "{}"), "[application/vnd.x+json: it can be seen in the browser only]", "application/vnd.x+json"},
		"as lines":          {map[string]json.RawMessage{"text/plain": json.RawMessage(`["a\n","b"]`)}, "a\nb", "text/plain"},
		"nothing":           {nil, "", ""},
	} {
		n := convert(&notebook.Output{Type: "display_data", Data: tc.data}, true)
		if got := n.text.first(n.text.size); got != tc.text || n.mime != tc.mime || (n.picture != nil) != (tc.mime == "image/png") {
			t.Errorf("%s: %q as %s", name, got, n.mime)
		}
	}
}

func event(text string) notebook.Event {
	return notebook.Event{Type: notebook.EventOutput, Output: &notebook.Output{Type: "stream", Name: "stdout", Text: notebook.Text(text)}}
}

// A cell that prints a gigabyte costs no memory here, and its ends are seen.
func TestMuchOutput(t *testing.T) {
	o := outputs{where: "seer://x"}
	line := strings.Repeat("é", 511) + "\n"
	o.take(event("the beginning\n"), nil)
	for range 64 << 10 {
		o.take(event(line), nil)
	}
	o.take(event("the end"), nil)
	list, _ := o.show(maxText, 1)
	whole := len("the beginning\n") + 64<<10*len(line) + len("the end")
	got := list[0].Text
	if len(list) != 1 || !strings.HasPrefix(got, "the beginning\n") || !strings.HasSuffix(got, "the end") || !utf8.ValidString(got) || len(got) > maxText+200 {
		t.Fatalf("%d outputs, %d bytes", len(list), len(got))
	}
	head, rest, _ := strings.Cut(got, "\n[cut by Seer: ")
	said, tail, _ := strings.Cut(rest, "]\n")
	if want := fmt.Sprintf("%d bytes left out; the whole is seer://x", whole-len(head)-len(tail)); said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if size := cap(o.list[0].text.head) + cap(o.list[0].text.tail); size > 1<<20 {
		t.Errorf("%d bytes are kept", size)
	}
}

func TestManyOutputs(t *testing.T) {
	o := outputs{where: "seer://x"}
	for i := range 5000 {
		o.take(notebook.Event{Type: notebook.EventOutput, Output: &notebook.Output{Type: "stream", Name: []string{"stdout", "stderr"}[i%2], Text: notebook.Text(fmt.Sprintf("line %d %s\n", i, strings.Repeat(".", 200)))}}, nil)
	}
	picture := encode(t, 8, 8, false)
	for range 60 {
		e := notebook.Event{Type: notebook.EventOutput, Output: &notebook.Output{Type: "display_data", Data: bundleOf("image/png", base64.StdEncoding.EncodeToString(picture))}}
		o.take(e, prepare(e))
	}
	list, images := o.show(maxText, 1)
	text := 0
	for _, s := range list {
		text += len(s.Text)
	}
	if len(list) > maxOutputs+10 || len(images) != maxImages || text > maxText+2000 || !strings.HasPrefix(list[0].Text, "line 0 ") {
		t.Errorf("%d outputs, %d images, %d bytes of text", len(list), len(images), text)
	}
	if list[len(list)-1].Image != maxImages {
		t.Errorf("the last image is %d", list[len(list)-1].Image)
	}
}

func TestClearAndUpdate(t *testing.T) {
	display := func(id, text string) notebook.Event {
		return notebook.Event{Type: notebook.EventOutput, DisplayID: id, Output: &notebook.Output{Type: "display_data", Data: bundleOf("text/plain", text)}}
	}
	var o outputs
	take := func(e notebook.Event) { o.take(e, prepare(e)) }
	take(event("gone"))
	take(notebook.Event{Type: notebook.EventClear, Wait: true})
	if list, _ := o.show(maxText, 1); len(list) != 1 {
		t.Errorf("cleared too early: %+v", list)
	}
	take(display("d", "one"))
	take(display("", "other"))
	update := display("d", "two")
	update.Type = notebook.EventUpdate
	take(update)
	if list, _ := o.show(maxText, 1); len(list) != 2 || list[0].Text != "two" || list[1].Text != "other" {
		t.Errorf("%+v", list)
	}
	take(notebook.Event{Type: notebook.EventClear})
	if list, _ := o.show(maxText, 1); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add("a\rb\x1b[1mc\n\xff", "<table><tr><td>x", []byte("\x89PNG"), 10)
	f.Add(strings.Repeat("é", 20000), "<pre>", []byte("GIF89a"), 3)
	f.Fuzz(func(t *testing.T, text, html string, data []byte, limit int) {
		limit = max(2, limit%maxText)
		o := outputs{where: "seer://x"}
		for i, part := range strings.SplitAfter(text, "\n") {
			if i > 300 {
				break
			}
			o.take(event(part), nil)
			e := notebook.Event{Type: notebook.EventOutput, Output: &notebook.Output{Type: "execute_result",
				Data: bundleOf("text/html", html, "image/png", base64.StdEncoding.EncodeToString(data))}}
			if i > 0 {
				delete(e.Output.Data, "image/png")
			}
			o.take(e, prepare(e))
		}
		list, images := o.show(limit, 1)
		size := 0
		for _, s := range list {
			if !utf8.ValidString(s.Text) || strings.Contains(s.Text, "\x1b") {
				t.Errorf("%q", s.Text)
			}
			size += len(s.Text)
		}
		if len(images) > maxImages || size > limit+len(list)*120+3*limit {
			t.Errorf("%d images, %d bytes with the limit %d", len(images), size, limit)
		}
	})
}
