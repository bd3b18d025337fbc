package notebook_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// Whatever listens at Jupyter's port when Jupyter is gone may answer anything.

// endless answers with a beginning and goes on until nobody listens any more.
func endless(begin, more string) http.HandlerFunc {
	more = strings.Repeat(more, 1<<12)
	return func(w http.ResponseWriter, _ *http.Request) {
		_, err := fmt.Fprint(w, begin)
		for err == nil {
			_, err = fmt.Fprint(w, more)
		}
	}
}

func TestEndlessAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*notebook.Client) error
	}{
		"info":      {endless(`{"version":"`, "x"), func(c *notebook.Client) error { _, err := c.Info(t.Context()); return err }},
		"session":   {endless(`{"id":"s","message":"`, "x"), func(c *notebook.Client) error { _, err := c.Session(t.Context(), "s"); return err }},
		"spaces":    {endless(`{`, " \n"), func(c *notebook.Client) error { _, err := c.Session(t.Context(), "s"); return err }},
		"notebook":  {endless("", "x"), func(c *notebook.Client) error { _, _, err := c.Notebook(t.Context(), "s", "", 0); return err }},
		"one event": {endless(`{"t":"output","n":1,"output":{"text":"`, "x"), func(c *notebook.Client) error { _, err := c.Wait(t.Context(), "e"); return err }},
		"a save":    {endless(`{"id":"s","path":"`, "x"), func(c *notebook.Client) error { return notebook.NewMirror(c, "s", t.TempDir(), nil).Save(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, tc.answer)
			c.MaxAnswer = 1 << 20
			if err := tc.ask(c); err == nil || !strings.Contains(err.Error(), "longer than any") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// Any number of events is fine: each of them has its own limit.
func TestManyEvents(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for n := range 5 {
			fmt.Fprintf(w, `{"t":"output","n":%d,"output":{"text":"%s"}}`+"\n", n, strings.Repeat("x", 150<<10))
		}
		fmt.Fprint(w, `{"t":"end","n":5,"execution":{"id":"e","state":"done"}}`+"\n")
	})
	c.MaxAnswer = 256 << 10
	if e, err := c.Wait(t.Context(), "e"); err != nil || e.State != "done" {
		t.Errorf("%+v, %v", e, err)
	}
	exact := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1000)) })
	exact.MaxAnswer = 1000
	if data, _, err := exact.Notebook(t.Context(), "s", "", 0); err != nil || len(data) != 1000 {
		t.Errorf("as long as it may be: %d bytes, %v", len(data), err)
	}
}

// The token goes to the address that was given and to no other, wherever it sends the client.
func TestTokenIsNotTakenElsewhere(t *testing.T) {
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+r.URL.Path, status) })
		c.Patience = 0
		if _, err := c.Info(t.Context()); protocol.CodeOf(err) != protocol.Unsupported {
			t.Errorf("%d: %v", status, err)
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// A name that comes from the sandbox is shown in terminals and found in file managers.
func TestNamesAreShownAsTheyAre(t *testing.T) {
	b := newBook()
	c := b.client(t)
	for i, path := range []string{"\x1b[2Jgone.ipynb", "\u009b31mred.ipynb", "x\u202egnp.ipynb", "a\u2028b.ipynb", "tab\t.ipynb", "one\r\ntwo.ipynb", "z\u200bero.ipynb", "C:evil.ipynb", "CON\x00.ipynb"} {
		session := fmt.Sprint(i)
		b.write(session, path, "content")
		m := notebook.NewMirror(c, session, t.TempDir(), nil)
		err := m.Save(t.Context())
		name := filepath.Base(m.Path())
		if err != nil || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == ':' }) {
			t.Errorf("%q: %q, %v", path, name, err)
		}
		if data, err := os.ReadFile(m.Path()); err != nil || string(data) != "content" {
			t.Errorf("%q: %q, %v", path, data, err)
		}
	}
}

// Behind a socket everything may be below a path, too.
func TestSocketWithPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a-b_1/seer/v1" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"seer_notebook":1}`)
	})}}
	srv.Start()
	defer srv.Close()
	for text, code := range map[string]protocol.Code{"&base=/a-b_1/": "", "&base=a-b_1": "", "": protocol.Unsupported, "&base=/": protocol.Unsupported} {
		a, err := notebook.Parse("unix:" + path + "?token=" + token + text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := notebook.Parse(a.Full())
		if err != nil || again.Base != a.Base {
			t.Errorf("%s is read as %+v, %v", a.Full(), again, err)
		}
		if _, err := notebook.NewClient(again).Info(t.Context()); protocol.CodeOf(err) != code {
			t.Errorf("%q: %v", text, err)
		}
	}
}
