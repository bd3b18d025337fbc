package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/sdk"
)

// notes remembers, from one process to the next, what was found out once and
// cannot have changed: what a plugin file is, and the surface that a plugin has made
// of an interface. A subject has one note, which holds for one key only. It is a
// cache: what cannot be read is found out again.
type notes struct{ dir string }

type note struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

func (n notes) file(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return filepath.Join(n.dir, hex.EncodeToString(sum[:16])+".json")
}

func (n notes) get(subject, key string, value any) bool {
	if n.dir == "" || key == "" {
		return false
	}
	var found note
	data, err := os.ReadFile(n.file(subject))
	return err == nil && json.Unmarshal(data, &found) == nil && found.Key == key && json.Unmarshal(found.Value, value) == nil
}

func (n notes) put(subject, key string, value any) {
	if n.dir == "" || key == "" || privateDir(n.dir) != nil {
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		data, err = json.Marshal(note{key, data})
	}
	if err != nil {
		return
	}
	remember(n.file(subject), data)
}

// pluginKey changes whenever the files of a plugin do, and with all else that
// decides whether they can be used. It is empty while they have just been written.
func pluginKey(wasm string, limits Limits) string {
	key := fmt.Sprintf("3 %d %+v", sdk.ContractVersion, limits)
	for _, path := range []string{wasm, manifestPath(wasm)} {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			key += " -" // a plugin may do without the manifest beside it
			continue
		}
		if time.Since(time.Unix(0, st.Ctim.Nano())) < digestSettled {
			return ""
		}
		key += fmt.Sprintf(" %d:%d:%d:%d:%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
	}
	return key
}

// surfaceKey stands for one answer: [sdk.Exposer] is pure.
func surfaceKey(p Plugin, g Grant, req sdk.ExposeRequest) string {
	data, err := json.Marshal(req)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return "2 " + p.Digest + " " + g.key() + " " + hex.EncodeToString(sum[:])
}
