package protocol

// WatchType is what happened to a path.
type WatchType string

// The types of [WatchEvent].
const (
	WatchReady      WatchType = "ready"      // what happens from now on is told; always the first
	WatchCreated    WatchType = "created"    // also a path that something was renamed to
	WatchWritten    WatchType = "written"    // its content
	WatchRemoved    WatchType = "removed"    //
	WatchRenamed    WatchType = "renamed"    // it has another name now, or has left
	WatchAttributes WatchType = "attributes" // mode, owner or times
	WatchLost       WatchType = "lost"       // events were lost: look at everything again
)

// WatchEvent is something that happened to a file or folder of the machine.
type WatchEvent struct {
	Path  string    `json:"path,omitempty"` // as the watched path was given, and what follows it
	Type  WatchType `json:"type"`
	IsDir bool      `json:"is_dir,omitempty"`
}
