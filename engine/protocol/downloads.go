package protocol

import "github.com/seer-engine/seer/sdk"

// DownloadSpec is files that the machine downloads by itself. It asks for the location of
// each one when it needs it; see [Download.Wanted].
type DownloadSpec struct {
	Dir   string         `json:"dir"` // absolute; made if it is missing
	Files []DownloadFile `json:"files"`
	Store *DownloadStore `json:"store,omitempty"` // nil = the files themselves are in Dir
	Tries int            `json:"tries,omitempty"` // faults before the first byte of a file that end it; 0 = 8
}

// DownloadStore is a folder that keeps repositories of the Hub for other machines, in the layout
// of the Hub's own cache. The folder of the download then has symbolic links to them.
type DownloadStore struct {
	Dir       string `json:"dir"`                 // absolute
	Name      string `json:"name"`                // of the repository, as the user wrote it
	Canonical string `json:"canonical,omitempty"` // as the Hub calls it now; empty = the same
	Revision  string `json:"revision,omitempty"`  // as the user wrote it; empty = main
	Commit    string `json:"commit"`              // 40 hexadecimal digits
}

// DownloadFile is one file of a [DownloadSpec].
type DownloadFile struct {
	Path    string `json:"path"`               // relative to the folder, slash-separated, without ..
	Size    int64  `json:"size"`               // bytes
	SHA256  string `json:"sha256,omitempty"`   // of the content that is downloaded, in hexadecimal digits
	GitSHA1 string `json:"git_sha1,omitempty"` // of "blob <size>\0" and that content
	// Prefix takes the place of the first bytes of the content, after that was verified.
	Prefix    []byte `json:"prefix,omitempty"`
	MtimeUnix int64  `json:"mtime_unix,omitempty"` // 0 = when it arrived
}

// DownloadState is where a download is in its life.
type DownloadState string

// The states of a [Download].
const (
	DownloadRunning DownloadState = "running"
	DownloadDone    DownloadState = "done"
	DownloadFailed  DownloadState = "failed" // see Download.Error; what has arrived is kept
)

// Download says how far one is.
type Download struct {
	State       DownloadState `json:"state"`
	Done        int64         `json:"done"`                   // bytes of all files that are there
	Total       int64         `json:"total"`                  // bytes of all files
	Rate        float64       `json:"rate,omitempty"`         // bytes per second; 0 = not known yet
	LeftSeconds float64       `json:"left_seconds,omitempty"` // 0 = not known
	// Wanted are files that wait for a location: they have none, or that has expired.
	Wanted []string `json:"wanted,omitempty"`
	Error  *Error   `json:"error,omitempty"`
}

// DownloadLocation tells a download where one of its files is now.
type DownloadLocation struct {
	Path     string       `json:"path"`
	Location sdk.Location `json:"location"`
}
