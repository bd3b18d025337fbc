package sdktest_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk/sdktest"
)

const recordSecret = "s3cr+t/of?mine=="

func echoing(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Set-Cookie", "session=abcdefgh12345; Path=/")
	w.Header().Set("X-Trace", "for "+recordSecret)
	shown := strings.Trim(fmt.Sprintf("%q", body), `"`)
	_, _ = fmt.Fprintf(w, `{"you_sent":"%s","plain":%q,"base64":%q,"hex":%q,"url":%q,"n":%d}`, shown, recordSecret,
		base64.StdEncoding.EncodeToString([]byte("user:"+recordSecret)), hex.EncodeToString([]byte(recordSecret)), url.QueryEscape(recordSecret), len(body))
}

func ask(t *testing.T, c *http.Client, method, address, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+recordSecret)
	req.Header.Set("X-Own", "another-credential")
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

func TestRecordAndReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traffic")
	rec, err := sdktest.Record(dir, sdktest.Serve(http.HandlerFunc(echoing)), []string{recordSecret}, "X-Own")
	if err != nil {
		t.Fatal(err)
	}
	live := &http.Client{Transport: rec}
	bodies := []string{`{"a": 1, "b": [2]}`, "", "text " + recordSecret}
	for _, body := range bodies {
		got, err := ask(t, live, "POST", "https://api.example/v1/things?key="+url.QueryEscape(recordSecret), body)
		if err != nil || !strings.Contains(got, recordSecret) {
			t.Fatalf("the answer that is passed on is not whole: %s, %v", got, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != len(bodies) || filepath.Base(files[0]) != "0001-post-v1-things.json" {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{recordSecret, "another-credential", "abcdefgh12345", url.QueryEscape(recordSecret), hex.EncodeToString([]byte(recordSecret)),
			base64.StdEncoding.EncodeToString([]byte("user:" + recordSecret))[8:24]} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s has %q in it:\n%s", file, secret, data)
			}
		}
	}
	if _, err := sdktest.Record(dir, nil, nil); err == nil {
		t.Error("a second recording was mixed with the first")
	}
	replays(t, dir)
}

func replays(t *testing.T, dir string) {
	again, err := sdktest.Replay(dir, recordSecret)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: again}
	address := "https://api.example/v1/things?key=" + url.QueryEscape(recordSecret)
	for range 2 { // the only one of its kind serves again
		if got, err := ask(t, c, "POST", address, `{"b":[2],"a":1}`); err != nil || !strings.Contains(got, `"n": 18`) {
			t.Errorf("%s, %v", got, err)
		}
	}
	if left := again.Unused(); len(left) != 2 {
		t.Errorf("unused: %q", left)
	}
	_, err = ask(t, c, "POST", address, `{"a":2}`)
	if err == nil || !strings.Contains(err.Error(), "nothing is recorded for POST https://api.example/v1/things") || !strings.Contains(err.Error(), "0001-post-v1-things.json") {
		t.Errorf("%v", err)
	}
	if strings.Contains(fmt.Sprint(err), "the body "+recordSecret) {
		t.Errorf("the error shows the secret: %v", err)
	}
}

func TestReplayOfWhatIsNoRecording(t *testing.T) {
	dir := t.TempDir()
	if _, err := sdktest.Replay(dir); err == nil {
		t.Error("an empty folder is a recording")
	}
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"method":"GET","status":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sdktest.Replay(dir); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("%v", err)
	}
}

// failures is a test that is expected to fail.
type failures struct {
	*testing.T
	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func TestCanned(t *testing.T) {
	f := &failures{T: t}
	c := sdktest.Canned(f, sdktest.Routes{
		"GET /v1/a":      {Body: `{"a":1}`},
		"GET /v1/a?b=c":  {Body: `{"a":2}`, Status: 404, Header: http.Header{"x-y": {"z"}}},
		"POST /v1/check": {Check: func(body string) error { return fmt.Errorf("wrong: %s", body) }},
	})
	for address, want := range map[string]string{"https://x/v1/a": `{"a":1}`, "https://x/v1/a?c=d": `{"a":1}`, "https://x/v1/a?b=c": `{"a":2}`} {
		if got, err := ask(t, c, "GET", address, ""); err != nil || got != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	if len(f.texts) > 0 {
		t.Errorf("%q", f.texts)
	}
	_, _ = ask(t, c, "POST", "https://x/v1/check", "this")
	_, err := ask(t, c, "PUT", "https://x/v1/b", "")
	if err == nil || len(f.texts) != 2 || !strings.Contains(f.texts[0], "wrong: this") || !strings.Contains(f.texts[1], "PUT /v1/b") {
		t.Errorf("%q, %v", f.texts, err)
	}
}
