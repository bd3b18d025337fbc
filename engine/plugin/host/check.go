package host

import "github.com/seer-engine/seer/sdk"

// CheckManifest reads a manifest as strictly as a host with default limits does. Every
// problem is reported as "file:line: what", joined; file is only a name for messages.
func CheckManifest(file string, text []byte) (sdk.Manifest, error) {
	return parseManifest(file, text, Limits{}.withDefaults())
}

// Inspect learns all that can be known of the plugin in a .wasm file, and of the manifest
// beside it, without compiling or running it. What is wrong with it is an [*Error].
func Inspect(file string) (Plugin, error) {
	return readPlugin(file, Limits{}.withDefaults(), "")
}
