package client

import "context"

type renamingKey struct{}

// Renaming makes [Files.Download] of a folder give each file and folder in it the name
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

type countedKey struct{}

// Counted is a context in which [Files.Upload], [Files.Download], [Files.Write] and
// [Files.Read] tell told of each piece of a file's content how many bytes it has, one
// piece at a time: what was sent, or what has come. Of [Files.ReadTree],
// [Files.WriteTree] and [Files.RestoreTree] it is the stream as it is.
func Counted(ctx context.Context, told func(bytes int64)) context.Context {
	return context.WithValue(ctx, countedKey{}, told)
}

// counter is what the context counts with, or nil.
func counter(ctx context.Context) func(int64) {
	told, _ := ctx.Value(countedKey{}).(func(int64))
	return told
}
