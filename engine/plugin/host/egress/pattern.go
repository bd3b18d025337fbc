package egress

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

var (
	grpcMethod   = lazyregexp.New(`^/[A-Za-z_][A-Za-z0-9_.]*/[A-Za-z_][A-Za-z0-9_]*$`)
	grpcPattern  = lazyregexp.New(`^/[A-Za-z_][A-Za-z0-9_.]*/[^/]+$`)
	escapedTwice = lazyregexp.New(`(?i)%(2e|2f|5c|25|00)`)
)

// checkPathPattern tells what is wrong with a pattern of a path.
func checkPathPattern(pattern string) error {
	if !strings.HasPrefix(pattern, "/") {
		return fmt.Errorf("%q does not begin with /", pattern)
	}
	if !plainWord(pattern) {
		return fmt.Errorf("%q is not a pattern in plain ASCII without spaces; write ? for another character", pattern)
	}
	rest := strings.TrimSuffix(pattern, "/**")
	if strings.Contains(rest, "**") {
		return fmt.Errorf("%q has ** elsewhere than as the last segment", pattern)
	}
	if _, err := path.Match(rest, ""); err != nil {
		return fmt.Errorf("%q is not a pattern: brackets and backslashes must be complete", pattern)
	}
	return nil
}

// plainWord reports whether a text can be a word of a permission's line; see package
// access.
func plainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// matchPath compares segment by segment; ** as the last one takes all the rest.
func matchPath(pattern, p string) bool {
	head, all := strings.CutSuffix(pattern, "/**")
	if !all {
		// Brackets could match a slash, and a pattern be wider than it looks.
		ok, err := path.Match(pattern, p)
		return err == nil && ok && strings.Count(pattern, "/") >= strings.Count(p, "/")
	}
	segments := strings.Split(p, "/")
	n := strings.Count(head, "/") + 1
	if len(segments) <= n {
		return false
	}
	ok, err := path.Match(head, strings.Join(segments[:n], "/"))
	return err == nil && ok
}

// plainPath gives the decoded path of a URL, and refuses one that a server or a
// proxy before it may read differently than we do.
func plainPath(u *url.URL) (string, error) {
	p := u.Path
	if p == "" {
		p = "/"
	}
	refuse := func(why string) (string, error) { return "", errors.New("the path " + u.EscapedPath() + " " + why) }
	raw := strings.ToLower(u.EscapedPath())
	switch {
	case !strings.HasPrefix(p, "/"):
		return refuse("does not begin with /")
	case strings.Contains(raw, "%2f"), strings.Contains(raw, "%5c"), strings.Contains(p, `\`):
		return refuse("holds an encoded slash or a backslash")
	case strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return refuse("has a query that is not encoded")
	case escapedTwice().MatchString(p):
		return refuse("is encoded twice")
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse("holds control characters")
	}
	segments := strings.Split(p[1:], "/")
	for i, s := range segments {
		// Some servers take "..;" for "..".
		name, _, _ := strings.Cut(s, ";")
		if name == "." || name == ".." || s == "" && i < len(segments)-1 {
			return refuse("holds empty or dot segments")
		}
	}
	return p, nil
}

func checkMethodPattern(pattern string) error {
	if !grpcPattern().MatchString(pattern) || !plainWord(pattern) {
		return fmt.Errorf("%q is not of the form /package.Service/Method", pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%q is not a pattern: brackets and backslashes must be complete", pattern)
	}
	return nil
}

func matchMethod(patterns []string, method string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, method); err == nil && ok {
			return true
		}
	}
	return false
}
