// Package snapshot is the store of saved sandboxes: trees of files as content-addressed
// layers, of which each holds only what is new, and images of memory as they are.
// docs/snapshots.md has the format.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
)

// Store is a folder with snapshots. Any number of programs may use it at once. It is
// made when something is saved.
type Store struct {
	Dir string           // private to the user
	Now func() time.Time // nil = time.Now

	// Sign signs the statement of a snapshot that is saved; nil = it stays unsigned.
	Sign func(ctx context.Context, statement []byte) (armored []byte, err error)
}

// ErrNoFolder is the error of [StoreIn] where nobody can have saved anything.
var ErrNoFolder = errors.New("there is no home folder to keep snapshots in; set XDG_DATA_HOME")

// StoreIn is the store in the user's folder of data; empty is [ErrNoFolder].
func StoreIn(data string, now func() time.Time, sign func(context.Context, []byte) ([]byte, error)) (*Store, error) {
	if data == "" {
		return nil, ErrNoFolder
	}
	return &Store{Dir: filepath.Join(data, "snapshots"), Now: now, Sign: sign}, nil
}

// Kind says what a snapshot has.
type Kind string

// The kinds of snapshots.
const (
	FileSystem Kind = "fs"     // trees of files
	Memory     Kind = "memory" // and the processes with their memory
)

// Meta says what was saved. All of it but the name is part of what the ID is a hash of.
type Meta struct {
	Name        string    `json:"-"` // unique in a store; see [CheckName]
	Kind        Kind      `json:"kind"`
	Created     time.Time `json:"created"`          // zero = now
	Parent      string    `json:"parent,omitempty"` // Save takes a name, too; empty = the newest one of the same Sandbox
	Sandbox     string    `json:"sandbox,omitempty"`
	Provider    string    `json:"provider,omitempty"`
	Isolation   string    `json:"isolation,omitempty"`
	Experiment  string    `json:"experiment,omitempty"` // digest of the experiment's text
	Image       string    `json:"image,omitempty"`      // digest or reference of the root file system that it is on
	Layers      []string  `json:"layers,omitempty"`     // keys of the environment's layers
	Seer        string    `json:"seer,omitempty"`       // the version that saved it
	Description string    `json:"description,omitempty"`

	// Labels are the caller's own: what it needs to start the snapshot again.
	Labels map[string]string `json:"labels,omitempty"`
}

// ExistsError says that a name is taken.
type ExistsError struct{ Name string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("there is a snapshot %s already; take another name, or remove it", e.Name)
}

// Remedy implements [remedy.Carrier].
func (e *ExistsError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.RemoveSnapshot, Snapshot: e.Name}}
}

// NoParent as a Parent saves everything anew.
const NoParent = "none"

// Source is something to save. Without Opaque it is a tree, told as a tar stream that
// ends properly; paths in it are relative to the tree. Devices, pipes and sockets are left
// out, but for an overlay's whiteouts (character devices 0,0), which stay what they are.
type Source struct {
	Name   string // "workspace", "home", "root"; of an opaque one "memory/pages.img"
	Opaque bool   // bytes and no tar
	Open   func(ctx context.Context) (io.ReadCloser, error)
	Skip   []string // paths of a tree that are left out, with all below them and all hard links to it
	// File instead of Open is a file that nobody changes any more, for what is opaque. It
	// may become the store's own, under another name.
	File string
}

// Snapshot is one that is in the store.
type Snapshot struct {
	Meta
	ID      string // "sha256:…" of its document
	Trees   []Tree
	Blobs   []Blob
	Bytes   int64  // that its parts take in the store; some may be shared with others
	Damaged string // why it cannot be used, where that is known; it may be whole all the same

	Signature Signature // its signature, which nobody has checked; zero = it is not signed

	exact  bool  // it was asked for by its ID: nothing but these bytes will do
	unread error // the same as Damaged, where something keeps it from being read and nothing says that it is damaged
}

// Tree is a saved tree of files.
type Tree struct {
	Name    string `json:"name"`
	Layers  []Part `json:"layers"` // oldest first
	Index   Part   `json:"index"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`              // of its files
	New     int64  `json:"new"`                // of its files that its parent did not have
	LeftOut int64  `json:"left_out,omitempty"` // devices, pipes, sockets
}

// Blob is a saved opaque stream.
type Blob struct {
	Name   string `json:"name"`
	Part   Part   `json:"part"`
	Digest string `json:"digest"` // of the bytes themselves; Part is compressed, unless it has the same
	Bytes  int64  `json:"bytes"`
	// XXH3 has 128 bits of the bytes, in hexadecimal digits. It finds whatever a disk may do to
	// them five times as fast; only of a blob that is kept as it is.
	XXH3 string `json:"xxh3,omitempty"`
}

// Part is a file of the store.
type Part struct {
	Digest string `json:"digest"` // "sha256:…"
	Size   int64  `json:"size"`
}

func (s *Store) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (d document) parts() []Part {
	var all []Part
	for _, t := range d.Trees {
		all = append(append(all, t.Layers...), t.Index)
	}
	for _, b := range d.Blobs {
		all = append(all, b.Part)
	}
	return all
}

// document is what a snapshot's ID is the hash of.
type document struct {
	Version int `json:"seer_snapshot"`
	Meta
	Trees []Tree `json:"trees,omitempty"`
	Blobs []Blob `json:"blobs,omitempty"`
}

const version = 1
