package sandboxfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/sandboxfs"
)

// filesOf is a sandbox at which nobody listens: whatever reaches it is an error of the
// provider.
func filesOf(t *testing.T, hidden func() (namesearch.Names, error)) sandboxfs.Files {
	t.Helper()
	c, err := client.New("unix:"+filepath.Join(t.TempDir(), "s"), "token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return sandboxfs.Files{Client: c, Hidden: hidden}
}

// Whatever has the name of a hidden model is refused before the sandbox is asked.
func TestNamesAreNotBroughtIn(t *testing.T) {
	t.Parallel()
	names := namesearch.Compile(namesearch.Spec{Names: []string{"acme/quokka-9b"}})
	f := filesOf(t, func() (namesearch.Names, error) { return names, nil })
	file := filepath.Join(t.TempDir(), "interface.py")
	if err := os.WriteFile(file, []byte("load('acme/quokka-9b')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for what, err := range map[string]error{
		"a name in bytes":        f.Write(ctx, "/workspace/a", []byte("it is acme/quokka-9b"), 0o600),
		"a name in a path":       f.Write(ctx, "/workspace/quokka-9b", nil, 0o600),
		"a name in a stream":     f.WriteFrom(ctx, "/workspace/a", strings.NewReader("it is acme/quokka-9b"), 0o600),
		"a name in a file":       f.Upload(ctx, file, "/workspace/a"),
		"a name in an interface": f.CheckInterface(ctx, "tools", file),
		// The loading reports it.
		"an unreadable interface": f.CheckInterface(ctx, "tools", filepath.Join(filepath.Dir(file), "none")),
	} {
		var found *blinding.HiddenError
		if refused := errors.As(err, &found); refused != strings.HasPrefix(what, "a name in") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Where the names are not known, nothing is brought in.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	lost := errors.New("the ledger cannot be read")
	f := filesOf(t, func() (namesearch.Names, error) { return namesearch.Names{}, lost })
	ctx := t.Context()
	for _, err := range []error{
		f.Write(ctx, "/workspace/a", nil, 0o600), f.WriteFrom(ctx, "/workspace/a", strings.NewReader(""), 0o600),
		f.Upload(ctx, t.TempDir(), "/workspace/a"), f.CheckInterface(ctx, "tools", "interface.py"),
	} {
		if !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
	}
}
