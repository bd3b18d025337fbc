// Package program finds the program of an agent on this computer: where users have it, what it
// is, and what a confined process must see of the computer for it to run.
package program

import (
	"context"
	"errors"
)

// Program is a program that has been found.
type Program struct {
	// Path is the absolute path by which it was found, perhaps a symbolic link.
	Path string
	// Real is the file that Path leads to.
	Real string
	// Argv starts it, without arguments of the caller: the program, or the interpreter of a
	// script, its arguments, and the script. All paths are absolute.
	Argv []string
	// Version is what its package says, such as 1.2.3; empty = it is in no package.
	// [Program.AskVersion] asks the program itself.
	Version string
	// SHA256 is the digest of Real, in hexadecimal digits.
	SHA256 string
	// ReadOnly are absolute paths that must be visible at the same place, beyond the system's
	// tree (/usr, /etc …). A symbolic link among them is to be shown as a link. Sorted.
	ReadOnly []string
	// Search is the value of PATH with which it finds its interpreter and what is beside it.
	Search string
}

// NotFoundError says where a program was looked for. It has the code sdk.NotFound.
type NotFoundError struct {
	Name   string
	Looked []string // folders, in order
}

// Find looks for a program by its name or by a path. Names are looked for in PATH, then in the
// folders into which package managers install programs of users: npm, nvm, fnm, volta, pnpm, bun,
// pipx, Homebrew, and those of the agents themselves. It starts no program. env looks up
// variables of the user's environment, such as [os.Getenv].
func Find(ctx context.Context, name string, env func(string) string) (Program, error) {
	return Program{}, errors.ErrUnsupported
}

// AskVersion starts the program with args, such as --version, and takes the version from what it
// prints: digits with dots. It gets a PATH and an empty home of its own, and 20 seconds.
func (p Program) AskVersion(ctx context.Context, args ...string) (string, error) {
	return "", errors.ErrUnsupported
}
