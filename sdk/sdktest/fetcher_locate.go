package sdktest

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

func (s *source) locateAll(ctx context.Context, t *trial) {
	m, _ := s.model(ctx, t)
	for i, f := range m.Files {
		if i == 50 {
			t.notef("the first %d of %d files were located", i, len(m.Files))
			break
		}
		at, err := s.locate(ctx, s.file(m, f.Path))
		if err != nil {
			t.failf("Locate of %s: %s", f.Path, describe(err))
		} else if namesNothing(at) && f.Size > 0 {
			t.failf("Locate of %s gave no address, content or parts", f.Path)
		} else if text := s.badLocation(at); text != "" {
			t.failf("Locate of %s gave %s, which %s", f.Path, shorten(at.URL), text)
		}
	}
}

func (s *source) file(m sdk.ResolvedModel, name string) sdk.FileRef {
	return sdk.FileRef{Source: s.kit.Model.Source, Name: m.Name, Revision: m.Revision, Path: name}
}

func namesNothing(at sdk.Location) bool {
	return at.URL == "" && len(at.Content)+len(at.Parts)+len(at.Fetches) == 0
}

func (s *source) badLocation(at sdk.Location) string {
	switch {
	case at.ExpiresSeconds < 0:
		return fmt.Sprintf("expires in %d seconds", at.ExpiresSeconds)
	case len(at.Content) > sdk.MaxContent:
		return fmt.Sprintf("holds %d bytes; the limit is %d", len(at.Content), sdk.MaxContent)
	case len(at.Parts) > 0 || len(at.Fetches) > 0:
		return s.badParts(at)
	case at.URL == "": // the file itself, which may be empty
		return ""
	}
	return s.badAddress(at.URL, at.Headers, true)
}

// badParts looks at a file in parts.
func (s *source) badParts(at sdk.Location) string {
	if at.URL != "" || len(at.Content) > 0 {
		return "has parts and something else"
	}
	if len(at.Parts) > sdk.MaxParts || len(at.Fetches) > sdk.MaxParts {
		return fmt.Sprintf("has more than %d parts or addresses", sdk.MaxParts)
	}
	for i, f := range at.Fetches {
		if text := s.badAddress(f.URL, f.Headers, false); text != "" {
			return fmt.Sprintf("has the address %d, which %s", i, text)
		}
	}
	for i, p := range at.Parts {
		switch {
		case p.Fetch < 0 || p.Fetch >= len(at.Fetches) || p.Length <= 0 || p.Offset < 0:
			return fmt.Sprintf("has the part %d, which names no bytes of an address", i)
		case p.Encoding == sdk.EncodingXet && (p.Range < 0 || p.Range >= len(at.Fetches[p.Fetch].Ranges) || p.EndChunk <= p.FirstChunk):
			return fmt.Sprintf("has the part %d, which names no chunks of a signed range", i)
		case p.Encoding != sdk.EncodingXet && p.Encoding != sdk.EncodingPlain:
			return fmt.Sprintf("has a part in the unknown encoding %q", p.Encoding)
		}
	}
	return ""
}

func (s *source) badAddress(address string, headers map[string]string, mayBeFile bool) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "cannot be read as a URL"
	case u.Scheme == "file" && mayBeFile:
		if u.Host != "" || path.Clean(u.Path) != u.Path || s.kit.Folder == "" || !strings.HasPrefix(u.Path, strings.TrimSuffix(s.kit.Folder, "/")+"/") {
			return "is not inside the kit's Folder " + s.kit.Folder
		}
	case u.Hostname() == "" || u.User != nil:
		return "names no host, or a user"
	case u.Scheme == "https" || u.Scheme == "http" && s.kit.AllowHTTP:
	default:
		return "is not https (AllowHTTP of the kit is for a source of the user's own)"
	}
	for name, value := range headers {
		if name == "" || strings.ContainsAny(name+value, "\r\n\x00") {
			return "has a header that cannot be sent"
		}
	}
	return ""
}

func (s *source) locateUnknown(ctx context.Context, t *trial) {
	m, ok := s.model(ctx, t)
	if !ok {
		return
	}
	for _, odd := range []string{"no-such-file.seer", "", ".", "../x", "/etc/passwd", "a/../../x", "a\x00b"} {
		at, err := s.locate(ctx, s.file(m, odd))
		if isDefect(err) || passing(err) {
			t.failf("Locate of %q: %s", odd, describe(err))
		}
		u, e := url.Parse(at.URL)
		inside := err == nil && e == nil && !namesNothing(at) && s.badLocation(at) == "" && path.Clean("/"+u.Path) == "/"+strings.TrimPrefix(u.Path, "/")
		if err == nil && !inside {
			t.failf("Locate of %q gave %s; not_found or invalid was expected", odd, shorten(at.URL))
		}
	}
}
