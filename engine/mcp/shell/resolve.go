package shell

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
)

// maxLinks is how many symbolic links are followed on the way to one file.
const maxLinks = 40

// resolve follows symbolic links as the sandbox's system does, so that a file is changed
// where it is. Of a file that is not there it gives the path where it would be, too.
func resolve(ctx context.Context, c *client.Client, p string) (protocol.Entry, string, error) {
	e, err := c.Files().Stat(ctx, p)
	if err != nil || e.Type != protocol.EntrySymlink {
		return e, p, err
	}
	return walk(ctx, c, p)
}

// walk takes one name after the other: .. is above the folder to which a link has led, not
// above the link.
func walk(ctx context.Context, c *client.Client, p string) (e protocol.Entry, at string, err error) {
	at, names := begin(p)
	for links := 0; len(names) > 0; {
		name := names[0]
		names = names[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = above(at)
			continue
		}
		e, err = c.Files().Stat(ctx, below(at, name))
		switch {
		case err != nil:
			return e, below(at, path.Join(append([]string{name}, names...)...)), err
		case e.Type != protocol.EntrySymlink:
			at = below(at, name)
			continue
		}
		if links++; links > maxLinks {
			return protocol.Entry{}, p, fmt.Errorf("%s: too many symbolic links", p)
		}
		if path.IsAbs(e.Target) {
			at = "/"
		}
		names = append(strings.Split(e.Target, "/"), names...)
	}
	if at == "" {
		at = "."
	}
	e, err = c.Files().Stat(ctx, at) // it may be a folder above
	return e, at, err
}

// begin is where a path starts, and the names on it: the root, the home, or "" for the
// working folder.
func begin(p string) (at string, names []string) {
	names = strings.Split(p, "/")
	switch names[0] {
	case "":
		return "/", names[1:]
	case "~":
		return "~", names[1:]
	}
	return "", names
}

func below(at, name string) string {
	switch at {
	case "":
		return name
	case "/":
		return "/" + name
	}
	return at + "/" + name
}

func above(at string) string {
	switch base := path.Base(at); {
	case at == "", at == "~", base == "..":
		return below(at, "..")
	case path.Dir(at) == ".":
		return ""
	}
	return path.Dir(at)
}
