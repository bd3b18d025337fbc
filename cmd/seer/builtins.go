package main

import "strings"

// builtins are the digests of the plugins that come with seer, id=sha256:…,…, set by
// the linker; see scripts/builtins.
var builtins string

// parseBuiltins reads them. What is no pair is nobody's plugin.
func parseBuiltins(list string) map[string]string {
	known := map[string]string{}
	for _, pair := range strings.Split(list, ",") {
		if id, digest, ok := strings.Cut(pair, "="); ok && id != "" && digest != "" {
			known[id] = digest
		}
	}
	return known
}
