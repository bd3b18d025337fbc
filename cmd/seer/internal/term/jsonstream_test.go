package term

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestJSONStreamKeepsCharactersWhole(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	s := NewJSONStream(out, &sync.Mutex{}, "stdout", "")
	for _, b := range []byte("hé €\xff.") {
		if _, err := s.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
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
