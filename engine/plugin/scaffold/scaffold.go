// Package scaffold is what the author of a plugin begins with: a new folder that builds
// and passes its tests at once, the build of a folder to a plugin's two files, and a
// build at every save.
package scaffold

import (
	"context"
	"io"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Lang is a language that plugins are written in.
type Lang string

// The languages with templates and a build.
const (
	Go             Lang = "go"
	AssemblyScript Lang = "assemblyscript"
)

// Options is what a new plugin is to be.
type Options struct {
	Kind sdk.Kind
	Name string // what selects the plugin: `provider: tiny` for tiny. Its id is provider-tiny, fetch-tiny or expose-tiny
	Lang Lang   // "" = Go
	Dir  string // the new folder; "" = the id, in the current folder
	SDK  string // the carried SDK; "" = [FindSDK]
}

// Created is a new plugin folder.
type Created struct {
	ID    string   `json:"id"`
	Dir   string   `json:"dir"`   // absolute
	Files []string `json:"files"` // slash-separated, relative, sorted; without those of the SDK
}

// New makes a plugin folder. It needs no network and no toolchain. A folder that exists
// and is not empty is refused with an error that is fs.ErrExist, and nothing half-written
// is ever left.
func New(ctx context.Context, o Options) (Created, error) { return create(ctx, o) }

// BuildOptions says what to build.
type BuildOptions struct {
	Dir    string    // the plugin's source folder
	Out    string    // where ID.wasm and ID.yaml go; "" = the folder dist in Dir
	Output io.Writer // what the compiler says, as it says it; nil = dropped
}

// Result is a built plugin.
type Result struct {
	Manifest sdk.Manifest  `json:"manifest"`
	Lang     Lang          `json:"lang"`
	Wasm     string        `json:"wasm"` // absolute path; the manifest is beside it
	YAML     string        `json:"yaml"`
	Digest   string        `json:"digest"` // of the .wasm
	Size     int64         `json:"size"`
	Removed  []string      `json:"removed,omitempty"` // signature and report of an earlier build with other bytes
	Took     time.Duration `json:"-"`
}

// Build makes the plugin in a folder. What is wrong with the manifest is found before
// the compiler runs, as "file:line: what" lines. A toolchain that is missing or too old
// is a [*ToolchainError], code that does not compile a [*CompileError]. The same sources
// and toolchain give the same bytes, wherever the folder is. When ctx ends, so do the
// compiler and all its children.
func Build(ctx context.Context, o BuildOptions) (Result, error) { return build(ctx, o) }

// Watch builds the plugin at once and whenever something in its folder has changed, and
// calls built after each build, with its error if it failed; the files of the last good
// build stay. It returns when ctx ends, with nil, or when the folder cannot be watched.
// What a build itself writes starts no other.
func Watch(ctx context.Context, o BuildOptions, built func(Result, error)) error {
	return watch(ctx, o, built)
}

// FindSDK is the SDK that Seer carries: the folder that $SEER_SDK_DIR names, else sdk
// beside the running program.
func FindSDK() (string, error) { return findSDK() }

// ToolchainError is a compiler that is missing or too old.
type ToolchainError struct {
	Tool  string // go, node, npm
	Need  string // "Go ≥ 1.24"
	Found string // its version; "" = there is none
	Where string // where to get it
}

func (e *ToolchainError) Error() string {
	found := "there is none on PATH"
	if e.Found != "" {
		found = "found " + e.Found
	}
	return e.Need + " is needed, " + found + "; get it from " + e.Where
}

// CompileError is code that does not compile.
type CompileError struct {
	Dir  string
	Text string // what the compiler said, its first 64 KiB: file:line: what, relative to Dir

	shown bool // it was written to [BuildOptions].Output already
}

func (e *CompileError) Error() string {
	if e.shown || e.Text == "" {
		return "the plugin in " + e.Dir + " does not compile"
	}
	return "the plugin in " + e.Dir + " does not compile:\n" + e.Text
}
