package sdk

import "context"

// Fetcher finds a model's files. It never moves weights: the engine, or the
// runtime on the machine, downloads what Locate returns and verifies it.
type Fetcher interface {
	// Resolve pins a model to one immutable revision and lists its files. An empty
	// revision means the source's default. The files are sorted by path.
	Resolve(ctx context.Context, ref ModelRef) (ResolvedModel, error)

	// Locate says where one file of a resolved model is now. It is called anew
	// after the location has expired.
	Locate(ctx context.Context, file FileRef) (Location, error)
}

// ModelRef names a model at a source.
type ModelRef struct {
	Source   string   `json:"source"`             // folder, hub, or the scheme before the colon
	Name     string   `json:"name"`               // what follows the scheme; an absolute path for folder
	Revision string   `json:"revision,omitempty"` // branch, tag or commit
	Include  []string `json:"include,omitempty"`  // patterns, see Wants; empty = all
	Exclude  []string `json:"exclude,omitempty"`
	// Have is a revision whose files are all on the user's computer. If Revision leads to it,
	// Resolve may answer it without Files and Omitted, and need not check access.
	Have string `json:"have,omitempty"`
}

// ResolvedModel is a model pinned to one revision.
type ResolvedModel struct {
	Name     string      `json:"name"`     // canonical name
	Revision string      `json:"revision"` // immutable
	Files    []ModelFile `json:"files"`
	// Omitted are files that the fetcher leaves out unless the user's patterns ask for
	// them, such as copies of the weights in other formats. The user is told.
	Omitted []ModelFile `json:"omitted,omitempty"`
	License string      `json:"license,omitempty"` // as the source names it
	Gate    string      `json:"gate,omitempty"`    // how access is restricted, as the source names it; empty = it is not
}

// ModelFile is one file of a model.
type ModelFile struct {
	Path    string `json:"path"` // slash-separated, relative, without ..
	Size    int64  `json:"size"` // bytes
	SHA256  string `json:"sha256,omitempty"`
	GitSHA1 string `json:"git_sha1,omitempty"` // sha1 of "blob <size>\0" + content
}

// FileRef names one file of a resolved model.
type FileRef struct {
	Source   string `json:"source"`
	Name     string `json:"name"`
	Revision string `json:"revision"`
	Path     string `json:"path"`
}

// Location is where a file can be read. URL is https://, http://, or file: with
// an absolute path inside the folder that the user named.
type Location struct {
	URL            string            `json:"url"`
	Headers        map[string]string `json:"headers,omitempty"`
	ExpiresSeconds int64             `json:"expires_seconds,omitempty"` // from now; 0 = does not expire
	// Content is the whole file, for a small one that can be read with a credential only.
	// URL is empty then. At most [MaxContent] bytes.
	Content []byte `json:"content,omitempty"`
}

// MaxContent is the size of the largest [Location].Content.
const MaxContent = 16 << 20
