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
	// Have is a revision whose files the host knows. If Revision leads to it, Resolve may answer
	// it without Files and Omitted, and need not check access.
	Have string `json:"have,omitempty"`
}

// ResolvedModel is a model pinned to one revision.
type ResolvedModel struct {
	Name     string      `json:"name"`     // canonical name
	Revision string      `json:"revision"` // immutable
	Files    []ModelFile `json:"files"`
	// Omitted are files that the fetcher leaves out unless the user's patterns ask for them,
	// such as copies of the weights in other formats. The engine reports them to the user.
	Omitted []ModelFile `json:"omitted,omitempty"`
	License string      `json:"license,omitempty"` // as the source names it
	Gate    string      `json:"gate,omitempty"`    // how access is restricted, as the source names it; empty = it is not

	// Base is an address that ends with a slash. Anybody can read each file at Base and the
	// escaped path of the file. Then Locate need not be called for each file. Empty means
	// that the source has none.
	Base string `json:"base,omitempty"`
	// Probe lets the engine check without the fetcher that Revision is still current.
	Probe Probe `json:"probe,omitzero"`
}

// Probe is a question that the host asks by itself, with the credentials and within the
// permissions of the plugin. While URL answers a GET request with status 200 and a body of that
// SHA-256, Resolve would answer as it did.
type Probe struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
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

// Location is where a file can be read: at URL, or in Parts, or in the Location itself.
// URL is https://, http://, or file: with an absolute path inside the folder that the user
// named.
type Location struct {
	URL            string            `json:"url"`
	Headers        map[string]string `json:"headers,omitempty"`         // sent to the host of URL alone
	ExpiresSeconds int64             `json:"expires_seconds,omitempty"` // from now; 0 = does not expire
	// Content is the whole file, for a small one that can be read with a credential only.
	// URL is empty then. At most [MaxContent] bytes.
	Content []byte `json:"content,omitempty"`

	// Parts are the pieces of a file that is stored in pieces, in their order. Their lengths
	// add up to the size of the file. URL is empty then. At most [MaxParts].
	Parts   []Part  `json:"parts,omitempty"`
	Fetches []Fetch `json:"fetches,omitempty"` // the addresses of Parts; at most [MaxParts]

	// Xet says that the file at URL is in a Xet storage, too. The engine decides which of
	// the two it reads.
	Xet Xet `json:"xet,omitzero"`
}

// Fetch is an address of parts.
type Fetch struct {
	URL     string            `json:"url"`               // https:// or http://
	Headers map[string]string `json:"headers,omitempty"` // sent to the host of URL alone
	// Ranges are the byte ranges that URL is signed for, in ascending order. A request
	// names all of them, exactly. None means that any range can be read.
	Ranges []FetchRange `json:"ranges,omitempty"`
}

// FetchRange is a byte range of an address.
type FetchRange struct {
	Start      int64 `json:"start"`
	End        int64 `json:"end"`                   // exclusive
	FirstChunk int   `json:"first_chunk,omitempty"` // [EncodingXet]: number of the chunk that begins at Start
}

// Encoding says what the bytes of an address are.
type Encoding string

// Encodings of the bytes of an address.
const (
	EncodingPlain Encoding = ""    // the bytes of the file
	EncodingXet   Encoding = "xet" // a run of Xet chunks, each with its header
)

// Part is a piece of a file.
type Part struct {
	Encoding Encoding `json:"encoding,omitempty"`
	Fetch    int      `json:"fetch"`  // index in [Location].Fetches
	Length   int64    `json:"length"` // bytes of the file

	// Offset is where the piece begins in the address. With [EncodingXet] it is how many
	// raw bytes of the piece's chunks come before it.
	Offset int64 `json:"offset,omitempty"`

	Range      int `json:"range,omitempty"`       // [EncodingXet]: index in [Fetch].Ranges
	FirstChunk int `json:"first_chunk,omitempty"` // [EncodingXet]: number of the first chunk of the piece
	EndChunk   int `json:"end_chunk,omitempty"`   // [EncodingXet]: number of the chunk behind the last one
}

// Xet names a file of a Xet storage.
type Xet struct {
	Hash string `json:"hash"` // of the file, 64 hexadecimal digits as the storage spells it
	// TokenURL answers a GET request with {"casUrl", "accessToken", "exp"}. The host asks it,
	// with the credentials and within the permissions of the plugin, which never sees the
	// answer.
	TokenURL string `json:"token_url"`
}

// MaxContent is the size of the largest [Location].Content.
const MaxContent = 16 << 20

// MaxParts is how many parts, addresses, and ranges of all addresses a [Location] may have.
const MaxParts = 30_000
