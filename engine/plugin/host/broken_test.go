package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
)

// A plugin that is meant to be used and cannot be is not replaced by another file of
// that id.
func TestBrokenPluginIsNotReplaced(t *testing.T) {
	h, err := host.New(host.Options{
		Dirs: []string{"testdata/v1"}, CacheDir: t.TempDir(), Access: host.GrantAll,
		Broken: map[string]error{"expose-v1": errors.New("the active version was changed")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	if _, err := h.Exposer(t.Context(), "v1"); err == nil || !strings.Contains(err.Error(), "the active version was changed") {
		t.Errorf("err = %v", err)
	}
	if _, err := h.Fetcher(t.Context(), "v1"); err != nil {
		t.Errorf("the others: %v", err)
	}
	if _, broken := h.Plugins(t.Context()); len(broken) != 1 {
		t.Errorf("%d are told as broken: %v", len(broken), broken)
	}
}
