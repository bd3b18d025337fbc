package protocol

import (
	"context"
	"strings"
)

type renamingKey struct{}

// Renaming makes [Client.Download] of a folder give each file and folder in it the name
// that rename returns for its own. Different names must stay different.
func Renaming(ctx context.Context, rename func(name string) string) context.Context {
	return context.WithValue(ctx, renamingKey{}, rename)
}

// IsRenaming reports whether the context says how files are named.
func IsRenaming(ctx context.Context) bool { return renamer(ctx) != nil }

func renamer(ctx context.Context) func(string) string {
	rename, _ := ctx.Value(renamingKey{}).(func(string) string)
	return rename
}

// renamed is a path with all its parts renamed.
func renamed(rename func(string) string, name string) string {
	if rename == nil || name == "." {
		return name
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = rename(part)
	}
	return strings.Join(parts, "/")
}
