package hubcache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Source is the source of models that this package stores.
const Source = "hub"

// Cache is a cache of the Hub's clients, and the engine's own beside it.
type Cache struct {
	Dir string // of the Hub's clients; need not exist
	Own string // private to the engine: views, and what is remembered of blobs

	// Symbolic has views be of symbolic links to the blobs, for a machine whose cache is on a
	// volume of its own.
	Symbolic bool

	link  func(from, to string) error // of tests; nil = os.Link
	folds func(dir string) bool       // of tests; nil = foldsCase
}

// Dir is where the Hub's clients have their cache, by the same variables as they use:
// HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME.
func Dir(getenv func(string) string) (string, error) {
	dir := getenv("HF_HUB_CACHE")
	if dir == "" {
		dir = getenv("HUGGINGFACE_HUB_CACHE")
	}
	if home := getenv("HF_HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, "hub")
	}
	if base := getenv("XDG_CACHE_HOME"); dir == "" && base != "" {
		dir = filepath.Join(base, "huggingface", "hub")
	}
	if dir == "" {
		dir = "~/.cache/huggingface/hub"
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("cannot find the Hugging Face cache: HOME is not an absolute path; set HF_HUB_CACHE or HOME to one")
		}
		dir = filepath.Join(home, rest)
	}
	return filepath.Abs(expand(dir, getenv))
}

// Offline is why the Hub may not be asked, by the same variables as the Hub's clients use:
// HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE. Empty = it may be asked.
func Offline(getenv func(string) string) string {
	for _, name := range []string{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"} {
		value := getenv(name)
		switch strings.ToUpper(value) {
		case "1", "ON", "YES", "TRUE":
			return name + " is set"
		}
		if value != "" { // the first one that is set counts
			break
		}
	}
	return ""
}

var variable = lazyregexp.New(`\$(\w+|\{[^}]*\})`)

// expand replaces variables as Python does: those that are not set stay.
func expand(path string, getenv func(string) string) string {
	return variable().ReplaceAllStringFunc(path, func(word string) string {
		if value := getenv(strings.Trim(word, "${}")); value != "" {
			return value
		}
		return word
	})
}

const datasets = "datasets/"

// part is a part of a repository's name. Two dashes separate parts in names of folders.
var part = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// folderName is the folder of a repository: models--org--name for org/name, and
// datasets--org--name for datasets/org/name.
func folderName(repo string) (string, error) {
	kind, id := "models", repo
	if rest, ok := strings.CutPrefix(repo, datasets); ok {
		kind, id = "datasets", rest
	}
	parts := strings.Split(id, "/")
	for _, p := range parts {
		if !part().MatchString(p) || strings.Contains(p, "--") || len(parts) > 2 || len(p) > 96 {
			return "", sdk.Errorf(sdk.Invalid, "%.200q is not the name of a repository of the Hub; write org/name", repo)
		}
	}
	return strings.Join(append([]string{kind}, parts...), "--"), nil
}

// repoName is the repository of a folder.
func repoName(folder string) (string, bool) {
	kind, id, ok := strings.Cut(folder, "--")
	name := strings.ReplaceAll(id, "--", "/")
	switch {
	case !ok || kind != "models" && kind != "datasets":
		return "", false
	case kind == "datasets":
		name = datasets + name
	}
	back, err := folderName(name)
	return name, err == nil && back == folder
}

var (
	commit = lazyregexp.New(`^[0-9a-f]{40}$`)
	sha256 = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// Fits reports whether files at a revision can be stored in the Hub's layout: the revision is
// a commit, and each file has a hash.
func Fits(revision string, files []sdk.ModelFile) bool {
	for _, f := range files {
		if blobName(f) == "" {
			return false
		}
	}
	return commit().MatchString(revision)
}

// blobName is the name of the blob with the content of a file; empty = its hash is not known.
func blobName(f sdk.ModelFile) string {
	switch {
	case sha256().MatchString(f.SHA256):
		return f.SHA256
	case f.SHA256 == "" && commit().MatchString(f.GitSHA1):
		return f.GitSHA1
	}
	return ""
}

// mode is what the umask leaves of the permissions of a new file in dir.
func mode(dir string) (os.FileMode, error) {
	path := spare(dir)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}
