package meter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// answers are seeds: what each interface sends, and what is nearly that.
var answers = []string{
	`{"model":"m","usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation":{"ephemeral_1h_input_tokens":1}}}`,
	"event: message_start\ndata: {\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\nevent: x\ndata: {\"delta\":{\"text\":\"a \\\"b\\\" \\u00e9\"}}\n\ndata: {\"usage\":{\"output_tokens\":9}}\n\n",
	"data: {\"delta\":\"text\"}\r\n\r\ndata: {\"response\":{\"model\":\"m\",\"usage\":{\"input_tokens\":5,\"input_tokens_details\":{\"cached_tokens\":2},\"output_tokens\":7}}}\r\n\r\n",
	": comment\ndata:{\"choices\":[{\"delta\":{\"content\":\"x\"}}],\ndata: \"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\ndata: [DONE]\n\n",
	"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}],\"usageMetadata\":{\"promptTokenCount\":4,\"thoughtsTokenCount\":3,\"totalTokenCount\":9}}\n,{\"modelVersion\":\"m\"}]",
	"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
	"\ufeff \r\ndata: {}\r\rdata\rda: 1\ndata: [[[[\n\n",
	`{"a":1,,"b":]}{"usage":{"input_tokens":1}}`, `{"usage":{"input_tokens":-1,"output_tokens":1e400}}`, `{"us\u0061ge":{"input_tokens":8}}`, "<html>", "",
}

// read is what an answer says when it comes in pieces of a length.
func read(api, answer string, piece int) (stated, error) {
	s := newStated(api)
	e := &events{scan: newScanner(s.found)}
	for rest := []byte(answer); len(rest) > 0; {
		n := min(piece, len(rest))
		e.write(rest[:n])
		rest = rest[n:]
	}
	if len(e.scan.path) > maxKeys*(maxText+1) || len(e.scan.text) > maxText || len(e.scan.stack) > maxDepth || len(e.name) > longestName+1 {
		return *s, fmt.Errorf("it keeps %d, %d, %d, %d", len(e.scan.path), len(e.scan.text), len(e.scan.stack), len(e.name))
	}
	return *s, nil
}

// FuzzUsage reads answers whole and in pieces: both must say the same.
func FuzzUsage(f *testing.F) {
	for _, answer := range answers {
		f.Add(answer, 1)
		f.Add(answer, 7)
	}
	f.Fuzz(func(t *testing.T, answer string, piece int) {
		for api := range fields {
			whole, err := read(api, answer, len(answer)+1)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := read(api, answer, max(1, piece))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(whole, parts) {
				t.Fatalf("%s: whole %+v, in pieces of %d %+v", api, whole, piece, parts)
			}
			for _, u := range []usage{whole.usage(api, int64(len(answer)))} {
				if u.input < 0 || u.output < 0 || u.cacheRead < 0 || u.cacheWrite < u.cacheWriteHour || u.cacheWriteHour < 0 {
					t.Fatalf("%s: %+v", api, u)
				}
			}
		}
	})
}

// FuzzScanner compares the scanner with encoding/json, for documents that are JSON.
func FuzzScanner(f *testing.F) {
	for _, answer := range answers {
		f.Add([]byte(answer))
	}
	f.Add([]byte(` {"a" : [ { "b":"x\ty\\" }, 1.5e3, true,[],{}], "c":{"d":{"e":null}}} `))
	f.Add([]byte(`{"":"","a.b":{"":1}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if !json.Valid(document) {
			return
		}
		var got []string
		s := newScanner(func(path, value string, _ int64) { got = append(got, path+"="+value) })
		for _, c := range document {
			s.write([]byte{c})
		}
		s.write([]byte("\n")) // the end of a number
		if s.want == wantNothing || len(s.stack) > 0 {
			t.Fatalf("%q: not understood", document)
		}
		var want []string
		d := json.NewDecoder(bytes.NewReader(document))
		d.UseNumber()
		if !leaves(d, nil, &want) {
			return
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q:\ngot  %q\nwant %q", document, got, want)
		}
	})
}

// leaves are the values of a document with their paths; false = one is longer than what a scanner
// keeps.
func leaves(d *json.Decoder, path []string, out *[]string) bool {
	token, err := d.Token()
	if err != nil {
		return true
	}
	switch v := token.(type) {
	case json.Delim:
		for d.More() {
			inner := path
			if v == '{' {
				key, _ := d.Token()
				if len(key.(string)) > maxText/6 {
					return false
				}
				inner = append(path[:len(path):len(path)], key.(string))
			}
			if !leaves(d, inner, out) {
				return false
			}
		}
		_, _ = d.Token()
		return true
	case string:
		if len(v) > maxText/6 {
			return false
		}
		add(path, v, out)
	case nil:
		add(path, "null", out)
	case json.Number:
		if len(v) > maxText {
			return false
		}
		add(path, v.String(), out)
	default:
		add(path, fmt.Sprint(v), out)
	}
	return true
}

func add(path []string, value string, out *[]string) {
	if len(path) > maxKeys {
		return
	}
	joined := ""
	for _, key := range path { // a first key that is empty needs no separator
		if joined != "" {
			joined += "."
		}
		joined += key
	}
	*out = append(*out, joined+"="+value)
}

// FuzzQuestion passes requests: what arrives is the same document, of the promised length, and a
// stream asks for its usage.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte(`{"model":"m","stream":true}`), 1)
	f.Add([]byte(`{"stream":true,"stream_options":{"include_usage":false},"messages":[{"stream":1}]} `), 3)
	f.Add([]byte(`{"str\u0065am" : true , "x":[{"stream_options":{}}]}`+"\n"), 5)
	f.Add([]byte(`{}`), 9)
	f.Add([]byte(`[1]`), 9)
	f.Add([]byte(`{"stream":false}`), 9)
	f.Fuzz(func(t *testing.T, body []byte, piece int) {
		q := newQuestion(io.NopCloser(&pieces{body, max(1, piece%100)}), true, true)
		got, err := io.ReadAll(q)
		if err != nil || len(got) != len(body)+len(wantUsage) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(body), err)
		}
		var sent, arrived map[string]any
		if json.Unmarshal(body, &sent) != nil || sent == nil {
			return
		}
		if err := json.Unmarshal(got, &arrived); err != nil {
			t.Fatalf("%q became %q: %v", body, got, err)
		}
		if q.stream && !q.options {
			if options, _ := arrived["stream_options"].(map[string]any); options["include_usage"] != true {
				t.Fatalf("%q became %q", body, got)
			}
			delete(arrived, "stream_options")
			delete(sent, "stream_options") // null
		}
		if !reflect.DeepEqual(sent, arrived) {
			t.Fatalf("%q became %q", body, got)
		}
	})
}

// pieces reads a text in pieces of a length.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzRedactor hides a secret wherever the pieces of a text begin.
func FuzzRedactor(f *testing.F) {
	f.Add("aXabababcXab", "ababc", 3)
	f.Add("secretsecretsecre", "secret", 1)
	f.Fuzz(func(t *testing.T, text, secret string, piece int) {
		if len(secret) < 2 || strings.Contains(secret, "*") {
			return
		}
		r := redactor{secrets: []string{secret}}
		var got []byte
		for rest := []byte(text); len(rest) > 0; {
			n := min(max(1, piece), len(rest))
			got = append(got, r.write(bytes.Clone(rest[:n]))...)
			rest = rest[n:]
		}
		got = append(got, r.end()...)
		if want := strings.ReplaceAll(text, secret, strings.Repeat("*", len(secret))); string(got) != want {
			t.Fatalf("%q without %q in pieces of %d is %q, not %q", text, secret, piece, got, want)
		}
	})
}
