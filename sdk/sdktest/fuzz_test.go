package sdktest

import (
	"strings"
	"testing"
)

func FuzzExchange(f *testing.F) {
	f.Add([]byte(`{"method":"GET","url":"/x","request":{},"status":200,"response":{"json":{"a":1},"header":{"A":"b"}}}`))
	f.Add([]byte(`{"method":"GET","status":200,"request":{"bytes":"AAE="}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseExchange(data)
		if err != nil {
			return
		}
		if once := e.Request.body(); canonicalBody([]byte(once)) != once {
			t.Errorf("%q is compared as %q and as %q", e.Request.raw(), once, canonicalBody([]byte(once)))
		}
	})
}

// FuzzScrub: whatever is around it, a secret does not stay.
func FuzzScrub(f *testing.F) {
	f.Add("before ", "s3cr+t/==", " after")
	f.Add("", "[secret", "]")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 4 || strings.Contains("[secret][secret]", secret) {
			return
		}
		r := &Recorder{secrets: []string{secret}}
		if out := r.scrub(before + secret + after); strings.Count(out, scrubbed) == 0 {
			t.Errorf("%q stays in %q", secret, out)
		}
	})
}

// FuzzMatchPath: patterns never panic, and ** is never all of a path.
func FuzzMatchPath(f *testing.F) {
	f.Add(".claude/skills/**", ".claude/skills/x/SKILL.md")
	f.Add("a/*", "a/b")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if matchPath(pattern, name) && strings.HasSuffix(pattern, "/**") && matchPath(pattern, strings.TrimSuffix(pattern, "/**")) {
			t.Errorf("%q matches the folder itself", pattern)
		}
	})
}
