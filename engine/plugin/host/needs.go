package host

import (
	"encoding/json"
	"fmt"

	"golang.org/x/mod/semver"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

const maxNeeds = 64 << 10

var releasePattern = lazyregexp.New(`^v?(\d{1,6}\.\d{1,6}\.\d{1,6})`)

// needsOf is what the build of a module noted of its needs. It only makes errors
// clearer: what decides is what the module imports and its manifest says. A note that
// cannot be read is as none.
func needsOf(m wasmfile.Module) sdk.Needs {
	var n sdk.Needs
	text, ok := m.Custom(sdk.NeedsSection)
	if !ok || len(text) > maxNeeds || json.Unmarshal(text, &n) != nil {
		return sdk.Needs{}
	}
	return n
}

// newerSeer is the beginning of an error about something that this program lacks, when
// a build noted which version has it; "" when it did not, or when this program should.
func newerSeer(since, version string) string {
	if !isNewer(since, version) {
		return ""
	}
	text := "needs seer ≥ " + releasePattern().FindString(since)
	if version != "" {
		text += fmt.Sprintf(" (this is %s)", version)
	}
	return text
}

// isNewer compares releases. One of no known form is older than all.
func isNewer(since, version string) bool {
	return semver.Compare(release(since), release(version)) > 0
}

// release is a version without what comes before or after the release; "" where it has none.
func release(version string) string {
	m := releasePattern().FindStringSubmatch(version)
	if m == nil {
		return ""
	}
	return "v" + m[1]
}
