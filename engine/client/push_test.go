package client

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/resumable"
)

// fakeLoader takes pieces, and meets faults on the way.
type fakeLoader struct {
	have   []byte
	faults []string // of the next requests
}

func (l *fakeLoader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := ""
	if len(l.faults) > 0 {
		fault, l.faults = l.faults[0], l.faults[1:]
	}
	offset, _ := strconv.Atoi(r.Header.Get(protocol.HeaderOffset))
	body, _ := io.ReadAll(r.Body)
	switch fault {
	case "502", "404":
		status, _ := strconv.Atoi(fault)
		w.WriteHeader(status)
		return
	case "cut":
		panic(http.ErrAbortHandler)
	case "half":
		body = body[:len(body)/2]
	}
	if offset <= len(l.have) {
		l.have = append(l.have[:offset], append(body, l.have[min(len(l.have), offset+len(body)):]...)...)
	}
	if fault == "half" {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(resumable.Marker, "1")
	_ = json.NewEncoder(w).Encode(map[string]int{"have": len(l.have)})
}

func writeTestFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
