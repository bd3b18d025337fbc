package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/runs/report"
	"github.com/seer-engine/seer/internal/testruns"
)

// page is the page of a run.
func page(t *testing.T, write func(root string) (*runs.Run, error)) string {
	t.Helper()
	run, err := write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.Write(&out, run); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// custom is the page of a run that fill writes.
func custom(t *testing.T, fill func(r *testruns.Run)) string {
	t.Helper()
	return page(t, func(root string) (*runs.Run, error) {
		r, err := testruns.New(root)
		if err != nil {
			return nil, err
		}
		fill(r)
		return r.End(runs.Finished, "")
	})
}

// textOf is what a reader sees of a page, with the places of links in brackets.
func textOf(t *testing.T, page string) string {
	t.Helper()
	var out strings.Builder
	hidden := false
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(out.String()), " ")
		case html.TextToken:
			if !hidden {
				out.Write(z.Text())
			}
		default:
			token := z.Token()
			hidden = token.Type == html.StartTagToken && (token.Data == "style" || token.Data == "script")
			for _, a := range token.Attr {
				if a.Key == "href" {
					out.WriteString("{" + a.Val + "}")
				}
			}
			if !slices.Contains([]string{"b", "code", "mark", "a", "strong"}, token.Data) {
				out.WriteByte(' ')
			}
		}
	}
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the page lacks %q", p)
		}
	}
}

func TestPageHasWhatTheRunHas(t *testing.T) {
	made := page(t, testruns.Sample)
	text := textOf(t, made)
	wants(t, text,
		"hidden-behaviour-audit – run-0123456789abcdef", "finished", "claude 2.1.330", "$0.06", "$0.41",
		"I look at the interface first, and then compare two layers.", "Read the interface completed", "cat lab/interface.md", "lab.score(layer: int) -> float",
		"audit.ipynb python", "100 % done", "[0.7312, 0.1875]", "<table><tr><td>0.7312</td></tr></table>", "IndexError: layer 99 is out of range",
		"lab.steer", "layer 99 is out of range", `{"args":[],"kwargs":{"layer":12,"seed":7}}`,
		"model-large 3 8 400 3 600 0 910", "model-small 1", "0.0008",
		"acme/subject-8b", "apache-2.0", "4f1c0de2a97be2d0a5c5d2b7d3c1a8f9e6b40312", "sha256:77aa in run.models.json", "hidden", "sha256:9d21c0ffee",
		"org.example.fetch-hub 1.4.0 sha256:c4a7", "2 packages of sb-7f3a, Python 3.12.4", "torch==2.9.1 sha256:b10c", "libssl3==3.0.17-1 (system)", "SHA-256 of Seer",
		"outputs/report.md", "Find out whether the model behaves differently", "the agent's memory is close to its limit", "budget: 2",
	)
	if n := strings.Count(made, "<img src=\"data:image/png;base64,"); n != 2 {
		t.Errorf("the page has %d PNG images, not that of the notebook and the figure", n)
	}
	if n := strings.Count(made, "<img src=\"data:image/svg+xml;base64,"); n != 1 {
		t.Errorf("the page has %d drawings, not 1", n)
	}
	if n := len(regexp.MustCompile(`<rect class="done"`).FindAllString(made, -1)); n != 3 {
		t.Errorf("the timeline has %d calls that are done, not 3", n)
	}
}

func TestCitationsAndMatchingNumbers(t *testing.T) {
	text := textOf(t, page(t, testruns.Sample))
	wants(t, text,
		"from 0.7312{#call-c1}matches call c1 to 0.1875{#call-c2}matches call c2", "{#call-c2}call:c2, and", "[call:c9], which does not exist",
		"0.021, over 512 prompts", "does not exist {#call-c3}call:c3.", "a [link](https://example.org) stays text", "From {#call-c1}call:c1 and",
	)
}

func TestNumbersMatchOnlyExactly(t *testing.T) {
	text := textOf(t, custom(t, func(r *testruns.Run) {
		for i, result := range []string{"0.731", "42", "7000", "0.5", "1234", "6.02e23", "9007199254740993", "3.14159", "3.14159", "-0.0875", `"0.999"`, "[0.888]", "NaN"} {
			r.Call(record.Entry{ID: fmt.Sprintf("n%d", i), Service: "s", Function: "f", State: protocol.CallDone}, "", result)
		}
		r.Say("agent_message_chunk", "same 0.731, padded 0.7310, percent 0.731%, rounded 0.73, longer 0.7311, small 42, zeros 7000, half 0.500, "+
			"int 1234, other 1234.0, exp 6.02E+23, big 9007199254740992, exact 9007199254740993, twice 3.14159, minus -0.0875, unicode \u22120.0875, plus 0.0875, "+
			"text 0.999, list 0.888, version 1.0.731, date 2026-1234, word x1234, path a/1234, range 5-1234, bold **0.731**, huge 1e999999999, end 0.731.")
	}))
	_, text, _ = strings.Cut(text, "The last message of the agent.")
	text, _, _ = strings.Cut(text, "Transcript")
	found := regexp.MustCompile(`([a-z]+) (\S+)\{#call-(\w+)\}matches call`).FindAllStringSubmatch(text, -1)
	got := make([]string, len(found))
	for i, f := range found {
		got[i] = f[1] + " " + f[2] + " " + f[3]
	}
	want := []string{
		"same 0.731 n0", "padded 0.7310 n0", "percent 0.731 n0", "int 1234 n4", "other 1234.0 n4", "exp 6.02E+23 n5", "exact 9007199254740993 n6",
		"minus -0.0875 n9", "unicode \u22120.0875 n9", "bold 0.731 n0", "end 0.731 n0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the marked numbers are\n%q, not\n%q", got, want)
	}
}

// allowed are the elements of a page, and their attributes beside class.
var allowed = map[string][]string{
	"html": {"lang"}, "head": nil, "meta": {"charset", "http-equiv", "content", "name"}, "title": nil, "style": nil, "script": nil, "body": nil,
	"a": {"href", "tabindex"}, "header": nil, "nav": {"aria-label"}, "main": {"id"}, "section": {"id"}, "h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil,
	"p": {"id", "hidden"}, "ul": nil, "ol": {"start"}, "li": nil, "button": {"type", "id"}, "dl": nil, "div": {"role", "tabindex", "aria-label"}, "dt": nil, "dd": nil,
	"details": {"id"}, "summary": nil, "article": nil, "strong": nil, "em": nil, "del": nil, "br": nil, "hr": nil, "pre": nil, "code": nil, "blockquote": nil, "mark": nil,
	"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"align"}, "td": {"align"}, "figure": nil, "figcaption": nil, "img": {"src", "alt", "width", "height"},
	"span": nil, "b": nil, "i": nil, "time": nil, "small": nil, "sup": nil,
	"svg": {"width", "height", "role", "aria-label"}, "line": {"x1", "x2", "y1", "y2"}, "text": {"x", "y", "dy", "dx"}, "rect": {"x", "y", "width", "height"},
}

// harmless fails for an element, an attribute, a link or a name that the page must not have.
func harmless(t *testing.T, page string) {
	t.Helper()
	if count := contained(t, page); count["script"] != 1 || count["style"] != 1 {
		t.Errorf("the page has %d scripts and %d styles", count["script"], count["style"])
	}
}

// contained is harmless for a part of a page. It returns how many elements of each name there are.
func contained(t *testing.T, page string) (count map[string]int) {
	t.Helper()
	names := map[string]int{}
	count = map[string]int{}
	for z := html.NewTokenizer(strings.NewReader(page)); z.Next() != html.ErrorToken; {
		token := z.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		count[token.Data]++
		attributes, ok := allowed[token.Data]
		if !ok {
			t.Errorf("the page has an element %s", token.Data)
		}
		for _, a := range token.Attr {
			if a.Key != "class" && !slices.Contains(attributes, a.Key) {
				t.Errorf("the page has an attribute %s of %s", a.Key, token.Data)
			}
			if a.Key == "id" {
				names[a.Val]++
			}
			if a.Key == "href" && !regexp.MustCompile(`^#[A-Za-z0-9_.-]+$`).MatchString(a.Val) || a.Key == "src" && !strings.HasPrefix(a.Val, "data:image/") {
				t.Errorf("the page leads to %.80q", a.Val)
			}
		}
	}
	for name, n := range names {
		if n > 1 {
			t.Errorf("%d places of the page are called %q", n, name)
		}
	}
	for _, r := range page {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x202e || r == 0x2066 || r == 0x9b {
			t.Fatalf("the page has the character %U", r)
		}
	}
	return count
}

func TestHostileContentIsText(t *testing.T) {
	made := page(t, testruns.Hostile)
	harmless(t, made)
	harmless(t, page(t, testruns.Sample))
	text := textOf(t, made)
	wants(t, text,
		"<script>window.acted=1</script>", `[x](javascript:window.acted=1)`, "[call:twice]", "{#call-c1}call:c1", "[call:x]", `\u202e`,
		"it uses parts that use others", "it is no image/png", "slow.svg", "{{.}} ${x}",
		"bytes are here; the whole is in events.jsonl, from event", "Not shown: it cannot be read",
	)
	if len(made) > 2_000_000 {
		t.Errorf("the page has %d bytes", len(made))
	}
	if strings.Contains(text, "call:twice{") || strings.Count(made, `id="call-c1"`) != 1 {
		t.Error("a place was forged")
	}
}

func TestPolicyAllowsOnlyThePage(t *testing.T) {
	made := page(t, testruns.Empty)
	found := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(made)
	if found == nil {
		t.Fatal("the page has no policy")
	}
	policy := html.UnescapeString(found[1])
	if !regexp.MustCompile(`^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'$`).MatchString(policy) {
		t.Errorf("the policy is %s", policy)
	}
}

func TestStates(t *testing.T) {
	wants(t, textOf(t, page(t, testruns.Interrupted)), "interrupted", "The log has no end")
	wants(t, textOf(t, page(t, testruns.Failed)), "failed", "the agent's language model refused the key")
	wants(t, textOf(t, page(t, testruns.Stopped)), "stopped by the user")
	wants(t, textOf(t, page(t, testruns.Empty)), "The record has no calls", "The log has no messages of the agent")
}

func TestLongRunsFit(t *testing.T) {
	made := page(t, func(root string) (*runs.Run, error) { return testruns.Long(root, 5000) })
	if len(made) > 2_000_000 {
		t.Errorf("the page has %d bytes", len(made))
	}
	wants(t, textOf(t, made), "Message 0:", "Message 4999:", "items are left out here; events.jsonl has all.")
}

// A log may name any file of the computer on which the page is made.
func TestFilesElsewhereAreReadOnlyByDigest(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(secret, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := textOf(t, custom(t, func(r *testruns.Run) {
		r.Send(event.RunArtifact{Path: secret, Kind: "output", SHA256: strings.Repeat("0", 64)})
		r.Send(event.RunArtifact{Path: "../../../../../../../../" + secret, Kind: "output", SHA256: strings.Repeat("0", 64)})
	}))
	if strings.Contains(text, "the secret") {
		t.Error("the page has a file that the log has no digest of")
	}
	text = textOf(t, custom(t, func(r *testruns.Run) {
		r.Send(event.RunArtifact{Path: secret, Kind: "output", SHA256: digest([]byte("the secret"))})
	}))
	wants(t, text, "the secret")
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func FuzzTexts(f *testing.F) {
	f.Add(testruns.Attack)
	f.Add("| a | b |\n|:-|-:|\n| [call:c1] | ~~0.7312~~ |\n\n3. x\n\n```<b\ny\n```\n")
	f.Fuzz(func(t *testing.T, written string) {
		count := contained(t, report.Markdown(written))
		for _, own := range []string{"script", "style", "img", "svg", "section", "details", "button", "meta"} {
			if count[own] > 0 {
				t.Errorf("a text has made an element %s", own)
			}
		}
	})
}

func FuzzDrawings(f *testing.F) {
	f.Add([]byte(testruns.AttackSVG))
	f.Add([]byte(testruns.SlowSVG))
	f.Add([]byte(`<!DOCTYPE svg [<!ENTITY a "b">]><svg><g/></svg>`))
	f.Fuzz(func(_ *testing.T, svg []byte) { _ = report.Drawable(svg) })
}

func TestSlowDrawingsAreRefused(t *testing.T) {
	for svg, shown := range map[string]bool{
		testruns.AttackSVG: true, testruns.SlowSVG: false,
		`<!DOCTYPE svg PUBLIC "x" "y"><svg><defs><path id="a"/></defs><g id="text"><use xlink:href="#a"/><use href="#a"/></g></svg>`: true,
		`<!DOCTYPE svg [<!ENTITY a "b">]><svg/>`: false, `<svg><g id="a"><use href=" #a"/></g></svg>`: false, `<svg`: false,
	} {
		if err := report.Drawable([]byte(svg)); (err == nil) != shown {
			t.Errorf("%.60s: %v", svg, err)
		}
	}
}

// Texts that are made to be slow are not.
func BenchmarkNestedText(b *testing.B) {
	root := b.TempDir()
	r, err := testruns.New(root)
	if err != nil {
		b.Fatal(err)
	}
	for _, part := range []string{"[", "*_", "`", "> ", "- ", "~~", "|", "[call:"} {
		r.Say("agent_message_chunk", strings.Repeat(part, 20_000))
		r.Tool(part, "x", nil, "")
	}
	run, err := r.End(runs.Finished, "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := report.Write(io.Discard, run); err != nil {
			b.Fatal(err)
		}
	}
}
