package hubcache

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// spare is a name in dir that nothing has.
func spare(dir string) string { return filepath.Join(dir, ".seer-"+strings.ToLower(rand.Text())) }

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// publish makes the snapshot of the commit, its list of files, and the revision.
func (j *job) publish() error {
	for _, name := range j.names {
		if err := j.adopt(j.blobs[name]); err != nil {
			return err
		}
	}
	for _, f := range j.Files {
		if err := j.linkSnapshot(f); err != nil {
			return err
		}
	}
	if err := j.writeTree(); err != nil {
		return err
	}
	return j.writeRef()
}

// adopt gives the repository's folder a blob that was found elsewhere: in a view that has
// outlived the blob, or under another name of the repository.
func (j *job) adopt(b *blob) error {
	path := filepath.Join(j.repo, "blobs", b.name)
	if b.at == path || strings.HasPrefix(b.at, filepath.Join(j.repo, "snapshots")+"/") || same(b.at, path) {
		return nil
	}
	err := j.hardLink(b.at, path, spare(filepath.Dir(path)))
	if cannotLink(err) {
		return nil
	}
	return err
}

// linkSnapshot makes the link of a file in the snapshot. One that leads elsewhere is replaced
// in one step.
func (j *job) linkSnapshot(f sdk.ModelFile) error {
	target := filepath.Join(j.repo, "blobs", blobName(f))
	path := filepath.Join(j.repo, "snapshots", j.Commit, filepath.FromSlash(f.Path))
	if _, err := os.Stat(target); err != nil || same(path, target) {
		return nil // the file itself may be in the snapshot
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	relative, err := filepath.Rel(filepath.Dir(path), target)
	if err != nil {
		return err
	}
	if err := os.Symlink(relative, path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	temporary := spare(filepath.Dir(target))
	if err := os.Symlink(relative, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// treeEntry is a file in the list of a commit.
type treeEntry struct {
	Size    int64  `json:"size"`
	BlobID  string `json:"blob_id"` // in git; of a large file, the hash of its pointer
	SHA256  string `json:"lfs_sha256,omitempty"`
	LFSSize *int64 `json:"lfs_size,omitempty"`
	XetHash string `json:"xet_hash,omitempty"`
}

// writeTree writes the list of all files of the commit, from which clients tell without the
// network whether a snapshot is complete. A list that is there may say more, and stays.
func (j *job) writeTree() error {
	path := filepath.Join(j.repo, "trees", j.Commit+".json")
	if _, err := os.Lstat(path); err == nil || j.Part != "" || !Fits(j.Commit, j.Others) {
		return nil
	}
	files := map[string]treeEntry{}
	for _, list := range [][]sdk.ModelFile{j.Files, j.Others} {
		for _, f := range list {
			files[f.Path] = entryOf(f)
		}
	}
	text, err := json.MarshalIndent(struct {
		Version int                  `json:"format_version"`
		Files   map[string]treeEntry `json:"files"`
	}{1, files}, "", " ")
	if err != nil {
		return err
	}
	return replace(path, text)
}

// blob is the name of the blob with the content of a file; empty = it is not known.
func (e treeEntry) blob() string {
	if e.SHA256 != "" {
		return e.SHA256
	}
	return e.BlobID
}

// maxTree bounds the list of a commit, which other programs may have written.
const maxTree = 64 << 20

// readTree reads the list of all files of a commit, by their paths. Nothing is known without
// one, or of another version.
func readTree(repo, commit string) (map[string]treeEntry, error) {
	f, err := os.Open(filepath.Join(repo, "trees", commit+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list struct {
		Version int                  `json:"format_version"`
		Files   map[string]treeEntry `json:"files"`
	}
	if json.NewDecoder(io.LimitReader(f, maxTree)).Decode(&list) != nil || list.Version != 1 {
		return nil, nil
	}
	return list.Files, nil
}

func entryOf(f sdk.ModelFile) treeEntry {
	if f.SHA256 == "" {
		return treeEntry{Size: f.Size, BlobID: f.GitSHA1}
	}
	// What git has of a large file is this text, so that its hash need not be asked for.
	pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", f.SHA256, f.Size)
	id := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(pointer), pointer))
	return treeEntry{Size: f.Size, BlobID: fmt.Sprintf("%x", id), SHA256: f.SHA256, LFSSize: &f.Size}
}

// writeRef notes which commit the revision is. A commit needs no note.
func (j *job) writeRef() error {
	revision := j.Revision
	if revision == "" {
		revision = "main"
	}
	if commit().MatchString(revision) || !fs.ValidPath(revision) || revision == "." {
		return nil
	}
	path := filepath.Join(j.repo, "refs", filepath.FromSlash(revision))
	if text, err := os.ReadFile(path); err == nil && string(text) == j.Commit {
		return nil
	}
	return replace(path, []byte(j.Commit))
}

// replace writes a file that all who share the cache can read, as a whole.
func replace(path string, text []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	temporary := path + "." + strings.ToLower(rand.Text())[:8] + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}
