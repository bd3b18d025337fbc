package install

import "golang.org/x/mod/semver"

// older reports whether version a comes before b.
func older(a, b string) bool { return compareVersions(a, b) < 0 }

// compareVersions compares semantic versions, which manifests write without a v.
func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
