package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine"
)

func TestParsePlace(t *testing.T) {
	for text, want := range map[string][2]string{
		"lab:/a/b":       {"lab", "/a/b"},
		"lab:a":          {"lab", "/workspace/a"},
		"lab:":           {"lab", "/workspace/"},
		"lab:a/":         {"lab", "/workspace/a/"},
		"lab:/":          {"lab", "/"},
		"lab:../../etc":  {"lab", "/etc"},
		"sb-4k.x_1:/a:b": {"sb-4k.x_1", "/a:b"},
		"./a:b":          {"", "./a:b"},
		"/a:b":           {"", "/a:b"},
		"-":              {"", "-"},
		":x":             {"", ":x"},
		"a b:c":          {"", "a b:c"},
		"plain":          {"", "plain"},
	} {
		if got := parsePlace(text); got.sandbox != want[0] || got.path != want[1] {
			t.Errorf("%q is %q in %q", text, got.path, got.sandbox)
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, seed := range []string{"lab:/a", "lab:", "-", "a:b:c", "./x:y", "\x00:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := parsePlace(text)
		if p.sandbox == "" && p.path != text {
			t.Errorf("%q is no place in a sandbox and became %q", text, p.path)
		}
		if p.sandbox != "" && !strings.HasPrefix(p.path, "/") {
			t.Errorf("%q is not absolute in the sandbox: %q", text, p.path)
		}
	})
}

func FuzzCallArguments(f *testing.F) {
	for _, seed := range [][2]string{{"", "a=1"}, {`{"a":1}`, "b=x"}, {"[1,2]", "k={}"}, {"null", "="}, {"", "a==b"}, {`{"a"`, ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, pair string) {
		args, kwargs, err := callArguments(text, []string{pair})
		if err != nil {
			return
		}
		key, value, _ := strings.Cut(pair, "=")
		if _, ok := kwargs[key]; !ok {
			t.Errorf("%q was lost", pair)
		}
		if s, ok := kwargs[key].(string); ok && s != value {
			t.Errorf("%q became %q", value, s)
		}
		if !utf8.ValidString(text) || !utf8.ValidString(pair) {
			return
		}
		if _, err := json.Marshal(map[string]any{"args": args, "kwargs": kwargs}); err != nil {
			t.Errorf("%q %q cannot be sent: %v", text, pair, err)
		}
	})
}

func TestExitCodesAreDocumented(t *testing.T) {
	kinds := []engine.Kind{
		engine.KindInternal, engine.KindConfig, engine.KindNotFound, engine.KindConflict, engine.KindPlugin, engine.KindProvider,
		engine.KindService, engine.KindCall, engine.KindInterrupted, engine.KindUnauthorized, engine.KindUnsupported, engine.KindNoSpace,
		engine.KindCancelled, engine.KindTimeout,
	}
	manual, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]engine.Kind{}
	for _, k := range kinds {
		code := codeOfKind(k)
		if before, twice := seen[code]; twice {
			t.Errorf("%s and %s have the same code %d", before, k, code)
		}
		seen[code] = k
		if !strings.Contains(exitCodesText, fmt.Sprint(code)) || !bytes.Contains(manual, fmt.Appendf(nil, "| %d |", code)) {
			t.Errorf("the code %d of %s is not documented", code, k)
		}
	}
}

func TestASignalCountsMoreThanWhatItLedTo(t *testing.T) {
	failed := &engine.Error{Kind: engine.KindProvider, Err: fmt.Errorf("gone")}
	for _, c := range []struct {
		err  error
		sig  os.Signal
		want int
	}{
		{nil, nil, 0}, {failed, nil, exitProvider}, {failed, syscall.SIGINT, 130}, {nil, syscall.SIGTERM, 143},
		{passThrough(9), syscall.SIGINT, 9}, {failedItself(failed), nil, exitExec}, {failedItself(failed), syscall.SIGINT, 130},
		{usagef("no"), nil, exitUsage}, {syscall.EPIPE, nil, 141}, {passThrough(0), nil, 0},
	} {
		if got := exitCode(c.err, c.sig); got != c.want {
			t.Errorf("%v after %v is %d, want %d", c.err, c.sig, got, c.want)
		}
	}
}

func TestJSONStreamKeepsCharactersWhole(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(os.Stdin, out, out)
	s := &jsonStream{app: a, mu: &sync.Mutex{}, name: "stdout"}
	for _, b := range []byte("hé €\xff.") {
		if _, err := s.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var c chunk
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		text += c.Text
	}
	if text != "hé €." || !strings.Contains(string(data), `"base64":"/w=="`) {
		t.Errorf("became %s", data)
	}
}
