package namesearch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Variables is an environment as a text to search, a line for each variable.
func Variables(env map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "%s=%s\n", name, env[name])
	}
	return b.String()
}
