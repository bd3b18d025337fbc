package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// A saved system is found by the name that Snapshot gives, and by no other.
func TestFind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home é")
	saved := filepath.Join(dir, "saved")
	if err := os.MkdirAll(saved, 0o700); err != nil {
		t.Fatal(err)
	}
	id := savedID(strings.Repeat("ab", 32), "")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(saved, id+name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func(ref string, want sdk.Code) {
		t.Helper()
		err := (&Store{SavedDir: saved}).Find(ref)
		if (want == "") != (err == nil) || err != nil && sdk.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	look(SavedPrefix+id, sdk.NotFound)
	put(".json", `{"version":1}`)
	look(SavedPrefix+id, sdk.Invalid) // its content is not there
	put(".tar", "")
	look(SavedPrefix+id, "")
	for _, ref := range []string{id, SavedPrefix, SavedPrefix + id[:64], SavedPrefix + id + "0", SavedPrefix + "../" + id[3:]} {
		look(ref, sdk.Invalid)
	}
	put(".json", `{"version":1,"base":"another"}`)
	look(SavedPrefix+id, sdk.Invalid)
}
