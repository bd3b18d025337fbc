package term

import (
	"bytes"
	"strings"
	"testing"
)

func TestTablesGiveNoOrders(t *testing.T) {
	var out bytes.Buffer
	if err := PrintTable(&out, 0, []Column{{Title: "CALL"}, {Title: "FUNCTION"}}, [][]string{{"a-1", "tools.\x1b]0;x\x07\n\u202e"}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\u202e") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%q", out.String())
	}
}
