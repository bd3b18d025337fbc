package image

import (
	"fmt"
	"runtime"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

func thisPlatform() string { return "linux/" + runtime.GOARCH }

func parsePlatform(text string) (v1.Platform, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return v1.Platform{}, invalid("%q is not a platform; write linux/amd64", text)
	}
	p := v1.Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p, nil
}

func platformText(p v1.Platform) string {
	text := fmt.Sprintf("%s/%s", p.OS, p.Architecture)
	if p.Variant != "" {
		text += "/" + p.Variant
	}
	return text
}

// fits reports whether what an image is made for runs where it is wanted. arm64 has one
// variant that everybody means.
func fits(have, want v1.Platform) bool {
	if have.OS != want.OS || have.Architecture != want.Architecture {
		return false
	}
	return want.Variant == "" || have.Variant == want.Variant || have.Variant == ""
}
