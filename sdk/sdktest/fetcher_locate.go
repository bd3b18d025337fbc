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
		} else if text := s.badLocation(at); text != "" {
			t.failf("Locate of %s gave %s, which %s", f.Path, shorten(at.URL), text)
		}
	}
}

func (s *source) file(m sdk.ResolvedModel, name string) sdk.FileRef {
	return sdk.FileRef{Source: s.kit.Model.Source, Name: m.Name, Revision: m.Revision, Path: name}
}

func (s *source) badLocation(at sdk.Location) string {
	u, err := url.Parse(at.URL)
	switch {
	case err != nil:
		return "cannot be read as a URL"
	case at.ExpiresSeconds < 0:
		return fmt.Sprintf("expires in %d seconds", at.ExpiresSeconds)
	case u.Scheme == "file":
		if u.Host != "" || path.Clean(u.Path) != u.Path || s.kit.Folder == "" || !strings.HasPrefix(u.Path, strings.TrimSuffix(s.kit.Folder, "/")+"/") {
			return "is not inside the kit's Folder " + s.kit.Folder
		}
	case u.Hostname() == "" || u.User != nil:
		return "names no host, or a user"
	case u.Scheme == "https" || u.Scheme == "http" && s.kit.AllowHTTP:
	default:
		return "is not https (AllowHTTP of the kit is for a source of the user's own)"
	}
	for name, value := range at.Headers {
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
		inside := err == nil && e == nil && s.badLocation(at) == "" && path.Clean("/"+u.Path) == "/"+strings.TrimPrefix(u.Path, "/")
		if err == nil && !inside {
			t.failf("Locate of %q gave %s; not_found or invalid was expected", odd, shorten(at.URL))
		}
	}
}
