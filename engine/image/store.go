package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// store is the folder of a cache.
//
//	roots/HEX/         root.json and tree/, complete; HEX is the hash of the digest's
//	roots/HEX.partial  while it is made, by the holder of the lock
//	blobs/HEX          a verified layer; HEX.part one that is being downloaded
//	refs/HASH.json     what a reference named when it was asked for last
//	locks/NAME         held by who works on it
type store struct{ dir string }

func openStore(dir string) (store, error) {
	if dir == "" {
		return store{}, errors.New("image: Options.Dir is empty; name a private folder for images")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return store{}, err
	}
	for _, sub := range []string{"roots", "blobs", "refs", "locks"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return store{}, state.NoSpace(dir, err)
		}
	}
	return store{dir}, nil
}

// record is root.json.
type record struct {
	Digest   string    `json:"digest"`
	Env      []string  `json:"env,omitempty"`
	Workdir  string    `json:"workdir,omitempty"`
	User     string    `json:"user,omitempty"`
	Platform string    `json:"platform"`
	Base     string    `json:"base,omitempty"`  // of a derived root: the digest of what it is derived from
	Layer    string    `json:"layer,omitempty"` // and of the layer
	Bytes    int64     `json:"bytes"`
	Files    int64     `json:"files"`
	Created  time.Time `json:"created"`
}

func (s store) root(digest string) string {
	return filepath.Join(s.dir, "roots", strings.TrimPrefix(digest, "sha256:"))
}

// get returns a root that is there, and notes that it was used.
func (s store) get(digest string) (Root, bool) {
	dir := s.root(digest)
	r, err := readRecord(dir)
	if err != nil || r.Digest != digest {
		return Root{}, false
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, "root.json"), now, now)
	return Root{Dir: filepath.Join(dir, "tree"), Digest: r.Digest, Env: r.Env, Workdir: r.Workdir, User: r.User, Platform: r.Platform}, true
}

func readRecord(dir string) (record, error) {
	var r record
	data, err := os.ReadFile(filepath.Join(dir, "root.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

// lock waits for the right to work on something, and says so if that takes a while.
func (s store) lock(ctx context.Context, name string, log func(string)) (*state.Lock, error) {
	path := filepath.Join(s.dir, "locks", name)
	lock, held, err := state.TryAcquire(path)
	if err != nil || !held {
		return lock, err
	}
	log("another program is at work on " + name[:min(12, len(name))] + "; waiting for it")
	return state.Acquire(ctx, path)
}

// build makes a root under its lock, with what fill puts into its tree, and gives it its
// name when it is complete.
func (s store) build(ctx context.Context, r record, log func(string), fill func(tree string) (bytes, files int64, err error)) (Root, error) {
	final := s.root(r.Digest)
	lock, err := s.lock(ctx, filepath.Base(final), log)
	if err != nil {
		return Root{}, err
	}
	defer lock.Remove()
	if root, ok := s.get(r.Digest); ok { // somebody else did the work meanwhile
		return root, nil
	}
	partial := final + ".partial"
	if err := removeTree(partial, final); err != nil { // of one that was killed, or that somebody took things out of
		return Root{}, err
	}
	err = func() error {
		tree := filepath.Join(partial, "tree")
		if err := os.MkdirAll(tree, 0o755); err != nil {
			return err
		}
		if r.Bytes, r.Files, err = fill(tree); err != nil {
			return err
		}
		r.Created = time.Now().UTC()
		data, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := state.WriteFile(filepath.Join(partial, "root.json"), append(data, '\n'), 0o600); err != nil {
			return err
		}
		return os.Rename(partial, final)
	}()
	if err != nil {
		return Root{}, errors.Join(state.NoSpace(s.dir, err), removeTree(partial))
	}
	root, ok := s.get(r.Digest)
	if !ok {
		return Root{}, fmt.Errorf("%s vanished while it was being made", final)
	}
	return root, nil
}

// removeTree removes folders. What was being unpacked may have some that we may not write to.
func removeTree(dirs ...string) error {
	for _, dir := range dirs {
		if err := state.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// named is a file of refs/.
type named struct {
	Ref      string    `json:"ref"`
	Platform string    `json:"platform"`
	Digest   string    `json:"digest"`
	At       time.Time `json:"at"`
}

func (s store) refFile(ref, platform string) string {
	sum := sha256.Sum256([]byte(ref + "\n" + platform))
	return filepath.Join(s.dir, "refs", hex.EncodeToString(sum[:])+".json")
}

func (s store) remember(n named) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return state.WriteFile(s.refFile(n.Ref, n.Platform), append(data, '\n'), 0o600)
}

// recall says what a reference named, if that root is still there.
func (s store) recall(ref, platform string) (Root, time.Time, bool) {
	var n named
	data, err := os.ReadFile(s.refFile(ref, platform))
	if err != nil || json.Unmarshal(data, &n) != nil || n.Ref != ref || n.Platform != platform {
		return Root{}, time.Time{}, false
	}
	root, ok := s.get(n.Digest)
	return root, n.At, ok
}

func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func invalid(format string, args ...any) error { return sdk.Errorf(sdk.Invalid, format, args...) }
