// Package archtest keeps the direction of imports: it lists which package may import which, and
// docs/architecture.md says what each is for.
package archtest

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/seer-engine/seer"

// allowed lists, for each package or folder of packages, what it may import of
// this module. A trailing /... covers a folder. The package's own key counts, otherwise the
// longest one that covers it.
var allowed = map[string][]string{
	"sdk":                         {},
	"sdk/gpu":                     {},
	"sdk/guest/...":               {"sdk", "sdk/guest/..."},
	"sdk/wasmfile":                {},
	"sdk/pack":                    {"sdk", "sdk/wasmfile"},
	"sdk/seer-pack":               {"sdk/pack"},
	"plugins/...":                 {"sdk", "sdk/gpu", "sdk/guest/...", "plugins/..."},
	"engine/protocol":             {"sdk", "engine/protocol/value"},
	"engine/protocol/value":       {},
	"engine/protocol/resumable":   {"internal/retry"},
	"engine/protocol/tartree":     {"engine/plainfile", "engine/protocol"},
	"engine/client":               {"internal/retry", "engine/protocol", "engine/protocol/resumable", "engine/protocol/tartree", "engine/protocol/value"},
	"engine/protocol/journal":     {"engine/protocol"},
	"engine/protocol/parking":     {},
	"engine/runtime":              {"internal/osfile", "sdk", "engine/protocol", "engine/protocol/parking", "engine/protocol/resumable", "engine/protocol/tartree", "engine/protocol/journal", "engine/runtime/..."},
	"engine/runtime/loader":       {},
	"engine/python":               {},
	"engine/runtime/seer-runtime": {"engine/runtime", "engine/python", "engine/netproxy", "engine/machine/local/watchdog", "engine/namesearch", "engine/batchjob", "engine/forward", "engine/pipe", "engine/sshhost"},
	"engine/netproxy":             {},
	"engine/kube":                 {"sdk", "engine/bring", "engine/kube/kubewire", "engine/pipe", "engine/state"},
	"engine/kube/kubewire":        {"sdk"},
	"engine/kube/cluster":         {"sdk", "engine/kube/kubewire", "internal/retry", "internal/spelling"},
	"engine/kube/seer-kube":       {"sdk", "engine/kube/cluster", "engine/kube/kubewire"},
	"engine/pipe":                 {"sdk"},
	"engine/forward":              {"sdk", "engine/kube", "engine/pipe", "engine/ssh", "engine/state"},
	"engine/bring":                {"engine/state"},
	"engine/ssh":                  {"sdk", "engine/bring", "engine/pipe", "engine/state", "internal/spelling", "internal/sshname"},
	"engine/batchjob":             {"sdk", "sdk/gpu", "engine/isolation", "engine/machine/local", "engine/pipe", "engine/runtime/loader", "engine/sshhost", "engine/state"},
	"engine/sshhost":              {"sdk", "sdk/gpu", "engine/image", "engine/image/registry", "engine/isolation", "engine/policy", "engine/machine/local", "engine/pipe", "engine/state", "internal/retry"},
	"engine/state":                {"internal/osfile"},
	"engine/remedy":               {},
	"engine/gpulease":             {"sdk/gpu", "internal/retry", "internal/text"},
	"engine/isolation":            {"sdk", "engine/isolation/runscbuild", "engine/isolation/seccomp"},
	"engine/isolation/cgroup":     {},
	"engine/isolation/filebits":   {},
	"engine/isolation/seccomp":    {},
	"engine/isolation/runscbuild": {},
	"engine/machine":              {"internal/retry", "sdk", "engine/state"},
	"engine/machine/local/...":    {"engine/gpulease", "engine/policy", "internal/bootid", "sdk", "engine/protocol/parking", "sdk/gpu", "engine/state", "engine/isolation", "engine/isolation/cgroup", "engine/netproxy", "engine/image", "engine/machine/local/...", "internal/text"},
	"engine/experiment":           {"internal/spelling", "sdk"},
	"engine/policy":               {"sdk", "internal/spelling", "internal/yamldoc"},
	"engine/preflight":            {"engine/policy", "sdk", "sdk/gpu", "engine/experiment", "engine/preflight/pyreq", "engine/workspace", "internal/spelling"},
	"engine/preflight/pyreq":      {},
	"engine/trust":                {"sdk", "engine/state", "engine/plugin/sign"},
	"engine/trust/effects":        {"sdk", "engine/agent", "engine/agent/profile", "engine/build/pipconfig", "engine/errdefs", "engine/experiment", "engine/isolation", "engine/plan", "engine/preflight", "engine/snapshot", "engine/trust"},
	"engine/plan":                 {"sdk", "engine/experiment", "engine/modelinfo", "engine/preflight", "internal/text", "engine/trust"},
	"engine/pkginstall":           {"sdk", "engine/client", "engine/event", "engine/protocol"},
	"engine/fetch":                {"sdk", "engine/gguf", "engine/safetensors", "engine/cachegc", "engine/fetch/hubcache", "engine/fetch/xetplan", "engine/state", "engine/transfer", "engine/transfer/xet", "internal/retry"},
	"engine/fetch/xetplan":        {"sdk", "engine/transfer", "engine/transfer/xet"},
	"engine/fetch/hubcache":       {"sdk", "engine/cachegc", "engine/state", "engine/transfer"},
	"engine/models":               {"sdk", "engine/cachegc", "engine/errdefs", "engine/event", "engine/experiment", "engine/fetch", "engine/fetch/hubcache", "engine/machine", "engine/state"},
	"engine/transfer":             {"internal/bootid", "engine/transfer/xet", "internal/httpretry", "internal/retry", "sdk", "engine/state"},
	"engine/transfer/xet":         {},
	"engine/image":                {"internal/ctxio", "sdk", "engine/cachegc", "engine/state", "internal/httpretry"},
	"engine/image/registry":       {"sdk", "engine/image", "engine/ociclient", "internal/httpretry"},
	"engine/ociclient":            {"sdk", "internal/httpretry"},
	"engine/snapshot":             {"internal/ctxio", "sdk", "engine/state"},
	"engine/pyjson":               {},
	"engine/sanitize":             {},
	"engine/safetensors":          {},
	"engine/gguf":                 {},
	"engine/modelfit":             {"engine/gguf", "engine/pyjson", "engine/safetensors"},
	"engine/modelload":            {"engine/pyjson", "engine/safetensors"},
	"engine/namesearch":           {"engine/safetensors"},
	"engine/codeserver":           {"sdk", "engine/client", "engine/protocol"},
	"engine/repl":                 {"engine/client", "engine/protocol"},
	"engine/plugin/host":          {"engine/plainfile", "internal/ctxio", "sdk", "sdk/wasmfile", "engine/sanitize", "engine/plugin/host/egress", "engine/plugin/host/access"},
	"engine/plugin/host/access":   {"sdk"},
	"engine/plugin/bundle":        {"sdk", "sdk/wasmfile", "internal/httpretry"},
	"internal/ctxio":              {},
	"internal/closed":             {},
	"internal/lazyregexp":         {},
	"internal/osfile":             {},
	"internal/retry":              {},
	"internal/bootid":             {},
	"internal/spelling":           {},
	"internal/yamldoc":            {"internal/spelling"},
	"engine/agent/mockmodel":      {"internal/yamldoc"},
	"engine/agent":                {"engine/agent/driver", "engine/agent/meter", "engine/agent/profile", "engine/agent/program", "engine/experiment", "internal/spelling"},
	"engine/agent/program":        {"sdk", "engine/isolation"},
	"engine/agent/profile":        {"sdk", "engine/agent/program", "internal/yamldoc"},
	"engine/agent/driver":         {"sdk", "engine/agent/profile"},
	"engine/agent/meter":          {"engine/event", "internal/yamldoc"},
	"engine/agent/inside":         {"engine/netproxy"},
	"engine/agent/mcpbridge":      {},
	"internal/sshname":            {},
	"internal/text":               {},
	"internal/httpretry":          {"internal/retry", "sdk"},
	"engine/plugin/sign":          {"sdk", "engine/plugin/bundle"},
	"engine/plugin/oci":           {"sdk", "engine/ociclient", "engine/plugin/bundle", "internal/httpretry"},
	"engine/plugin/store":         {"engine/policy", "internal/yamldoc", "sdk", "engine/state", "engine/plugin/host", "engine/plugin/host/access", "engine/plugin/host/egress", "engine/plugin/bundle"},
	"engine/plugin/install":       {"sdk", "sdk/sdktest", "internal/httpretry", "engine/plugin/host", "engine/plugin/host/access", "engine/plugin/..."},
	"engine/plugin/scaffold":      {"sdk", "sdk/pack", "engine/plugin/host"},
	"sdk/sdktest":                 {"sdk", "sdk/gpu"},
	"sdk/schema":                  {},
	"engine/plugin/host/egress":   {"engine/plainfile", "internal/spelling", "internal/sshname", "sdk", "engine/plugin/host/access"},
	"engine/plugin/host/hosttest": {"sdk", "sdk/pack", "sdk/wasmfile"},
	"engine/service":              {"sdk", "engine/client", "engine/errdefs", "engine/experiment", "engine/machine", "engine/event", "engine/protocol", "engine/protocol/value"},
	"engine/plainfile":            {},
	"engine/collect":              {"engine/isolation/filebits", "engine/plainfile"},
	"engine/surface":              {"sdk", "engine/plainfile", "engine/client", "engine/python", "engine/state"},
	"engine/enginetest/...":       {"internal/retry", "sdk", "sdk/gpu", "sdk/sdktest", "sdk/schema", "sdk/wasmfile", "engine/plugin/host", "engine/runtime/loader", "engine/enginetest/..."},
	"engine/enginetest/fakehub":   {"engine/enginetest/faults", "engine/transfer/xet"},
	"engine/event":                {"engine/client"},
	"engine/event/eventtext":      {"engine/event", "internal/text"},
	"engine/pyenv":                {"engine/isolation", "engine/preflight", "engine/python", "engine/state"},
	"engine/paths":                {"engine/errdefs"},
	"engine/readiness":            {"sdk", "engine/experiment", "engine/models", "engine/state"},
	"engine/doctor":               {"engine/policy", "sdk", "engine/experiment", "engine/readiness", "engine/gpulease", "engine/machine/local", "internal/text", "engine/codeserver", "engine/errdefs", "engine/netproxy", "engine/plugin/host", "engine/isolation", "engine/paths", "engine/event", "engine/pyenv", "engine/state"},
	"engine/plugin/registry":      {"sdk", "engine/errdefs", "engine/plugin/host", "engine/machine", "engine/paths", "engine/plugin/store", "engine/preflight", "engine/event", "engine/state", "engine/trust"},
	"engine/offers":               {"sdk"},
	"engine/cachegc":              {"engine/state", "internal/text"},
	"engine/blinding":             {"sdk", "engine/safetensors", "engine/cachegc", "engine/errdefs", "engine/experiment", "engine/modelload", "engine/machine", "engine/namesearch", "engine/plan", "engine/preflight", "engine/event", "engine/protocol", "engine/pyjson", "engine/state", "engine/workspace"},
	"engine/preflight/facts":      {"engine/policy", "sdk", "engine/readiness", "engine/agent", "engine/codeserver", "engine/errdefs", "engine/experiment", "engine/isolation", "engine/machine/local", "engine/offers", "engine/paths", "engine/plugin/registry", "engine/preflight", "engine/pyenv", "engine/state", "engine/trust"},
	"engine/session":              {"sdk", "engine/python", "engine/client", "engine/codeserver", "engine/errdefs", "engine/experiment", "engine/machine", "engine/machine/local", "engine/modelload", "engine/namesearch", "engine/notebook", "engine/event", "engine/protocol", "engine/repl", "engine/workspace"},
	"engine/snapshot/files":       {"engine/client", "engine/errdefs", "engine/experiment", "engine/isolation", "engine/machine", "engine/machine/local", "engine/pkginstall", "engine/event", "engine/protocol", "engine/session", "engine/snapshot", "engine/workspace"},
	"engine/modelinfo":            {"engine/gguf", "engine/modelfit", "engine/safetensors"},
	"engine/provision":            {"sdk", "sdk/gpu", "engine/safetensors", "engine/modelinfo", "engine/blinding", "engine/build", "engine/client", "engine/errdefs", "engine/experiment", "engine/fetch", "engine/fetch/hubcache", "engine/isolation", "engine/lease", "engine/machine", "engine/machine/local", "engine/modelload", "engine/models", "engine/namesearch", "engine/netproxy", "engine/pkginstall", "engine/plan", "engine/event", "engine/protocol", "engine/protocol/tartree", "engine/runtime/loader", "engine/session", "engine/snapshot", "engine/snapshot/files", "engine/workspace", "internal/text"},
	"engine/checkpoint":           {"sdk", "sdk/gpu", "engine/client", "engine/codeserver", "engine/errdefs", "engine/experiment", "engine/isolation", "engine/machine", "engine/machine/local", "engine/event", "engine/protocol", "engine/provision", "engine/session", "engine/snapshot", "engine/snapshot/files", "engine/state"},
	"engine/lease":                {"engine/state", "engine/errdefs", "engine/machine", "engine/protocol"},
	"engine/build/pipconfig":      {"sdk", "engine/errdefs", "engine/plainfile", "engine/preflight", "engine/trust"},
	"engine/build/wheels":         {"engine/cachegc", "engine/state"},
	"engine/build":                {"sdk", "engine/build/...", "engine/cachegc", "engine/client", "engine/errdefs", "engine/experiment", "engine/machine", "engine/notebook", "engine/pkginstall", "engine/plan", "engine/preflight", "engine/event", "engine/protocol", "engine/pyenv", "engine/state", "internal/text"},
	"engine/start":                {"sdk", "sdk/gpu", "engine/agent", "engine/blinding", "engine/build", "engine/checkpoint", "engine/codeserver", "engine/errdefs", "engine/experiment", "engine/image", "engine/machine", "engine/machine/local", "engine/modelinfo", "engine/models", "engine/namesearch", "engine/notebook", "engine/offers", "engine/paths", "engine/plan", "engine/plugin/registry", "engine/preflight", "engine/preflight/facts", "engine/event", "engine/provision", "engine/pyenv", "engine/readiness", "engine/session", "engine/snapshot", "engine/snapshot/files", "engine/state", "engine/trust", "engine/trust/effects", "engine/workspace"},
	"engine/inventory":            {"sdk", "engine/gpulease", "internal/text", "engine/errdefs", "engine/machine", "engine/machine/local", "engine/models", "engine/event", "engine/provision", "engine/session", "engine/state"},
	"engine/cleanup":              {"sdk", "engine/blinding", "engine/build", "engine/cachegc", "engine/checkpoint", "engine/errdefs", "engine/fetch", "engine/fetch/hubcache", "engine/image", "engine/machine", "engine/machine/local", "engine/session", "engine/snapshot", "engine/state"},
	"engine/newsession":           {"sdk", "engine/blinding", "engine/errdefs", "engine/event", "engine/experiment", "engine/machine", "engine/session", "engine/surface", "engine/workspace"},
	"engine/sandboxfs":            {"engine/blinding", "engine/client", "engine/collect", "engine/errdefs", "engine/namesearch", "engine/protocol"},
	"engine": {"sdk", "engine/agent", "engine/blinding", "engine/build", "engine/cachegc", "engine/checkpoint", "engine/cleanup", "engine/client", "engine/codeserver", "engine/doctor", "engine/errdefs", "engine/event", "engine/experiment", "engine/hosts", "engine/image", "engine/inventory",
		"engine/isolation", "engine/lease", "engine/machine", "engine/machine/local", "engine/models", "engine/namesearch", "engine/notebook", "engine/offers", "engine/paths", "engine/plan", "engine/plugin/host", "engine/plugin/registry", "engine/plugin/store", "engine/preflight", "engine/protocol",
		"engine/newsession", "engine/provision", "engine/pyenv", "engine/sandboxfs", "engine/service", "engine/session", "engine/snapshot", "engine/start", "engine/state", "engine/surface", "engine/trust", "engine/trust/effects", "engine/workspace"},
	"engine/hosts":           {"sdk", "engine/forward", "engine/kube", "engine/machine", "engine/plugin/host", "engine/ssh", "engine/state"},
	"engine/errdefs":         {"sdk", "engine/experiment", "engine/plugin/host", "engine/machine", "engine/protocol", "engine/trust"},
	"engine/record":          {"sdk", "engine/client", "engine/protocol", "engine/protocol/journal", "engine/plainfile", "engine/protocol/value"},
	"engine/agent/doctor":    {"sdk", "engine", "engine/agent", "engine/agent/driver", "engine/agent/mockmodel", "engine/agent/profile", "engine/event", "engine/experiment", "engine/isolation", "engine/machine/local/proc", "engine/paths", "engine/run"},
	"engine/runs":            {"engine/errdefs", "engine/event", "engine/plainfile", "engine/protocol/value", "engine/record", "engine/state"},
	"engine/runs/report":     {"engine/event", "engine/plainfile", "engine/protocol", "engine/protocol/value", "engine/record", "engine/runs", "engine/sanitize"},
	"engine/runs/inspectlog": {"engine/event", "engine/protocol", "engine/protocol/value", "engine/record", "engine/runs"},
	"engine/run": {"sdk", "internal/osfile", "engine", "engine/inventory", "engine/agent", "engine/agent/driver", "engine/agent/inside", "engine/agent/mcpbridge", "engine/agent/meter", "engine/agent/profile", "engine/agent/program", "engine/event", "engine/runs", "engine/state", "engine/record", "engine/repl", "engine/experiment", "engine/isolation", "engine/isolation/cgroup",
		"engine/isolation/filebits", "engine/client", "engine/machine/local/proc", "engine/pkginstall", "engine/protocol", "engine/namesearch", "engine/notebook", "engine/surface", "engine/sanitize", "engine/workspace", "engine/collect", "engine/plainfile", "engine/trust"},
	"engine/rpc":              {"sdk", "engine", "engine/event", "engine/event/eventtext", "engine/experiment", "engine/inventory", "engine/newsession", "engine/protocol", "engine/run", "engine/surface", "engine/workspace"},
	"python":                  {},
	"engine/mcp":              {"sdk", "engine/client", "engine/protocol", "engine/protocol/value", "engine/mcp/internal/..."},
	"engine/mcp/internal/...": {"internal/spelling", "engine/mcp/internal/...", "engine/protocol", "engine/sanitize"},
	"engine/mcp/shell":        {"engine/client", "engine/protocol", "engine/protocol/tartree", "engine/repl", "engine/mcp/internal/...", "engine/sanitize", "engine/collect"},
	"engine/mcp/notebook":     {"engine/protocol", "engine/notebook", "engine/mcp/internal/...", "engine/sanitize"},
	"engine/notebook":         {"internal/retry", "engine/client", "engine/protocol", "engine/python"},
	"engine/workspace":        {"engine/plainfile"},
	"examples/...":            {"sdk", "engine", "engine/..."},
	"examples/plugins/...":    {"sdk", "sdk/gpu", "sdk/guest/...", "examples/plugins/...", "engine/enginetest/container"},
	"internal/...":            {"..."},
	"e2e/...":                 {"e2e/fakes", "engine/enginetest/..."},
	"bench/...":               {"sdk", "sdk/guest", "engine", "engine/...", "plugins/..."},

	// The runtime's own packages, leaves first.
	"engine/runtime/internal/auth":        {"engine/protocol", "engine/runtime/internal/httpx"},
	"engine/runtime/internal/callproxy":   {"internal/osfile", "engine/protocol", "engine/protocol/journal", "engine/protocol/value", "engine/runtime/internal/auth", "engine/runtime/internal/environment", "engine/runtime/internal/httpx", "engine/runtime/internal/service"},
	"engine/runtime/internal/checkpoint":  {"internal/osfile", "engine/protocol", "engine/protocol/parking", "engine/runtime/internal/environment", "engine/runtime/internal/gpumemory", "engine/runtime/internal/httpx", "engine/runtime/internal/lease", "engine/runtime/internal/loaderconn", "engine/runtime/internal/portforward", "engine/runtime/internal/proc", "engine/runtime/internal/unixsocket"},
	"engine/runtime/internal/gpumemory":   {"engine/runtime/internal/proc", "engine/runtime/internal/spawn"},
	"engine/runtime/internal/download":    {"sdk", "engine/fetch/hubcache", "engine/protocol", "engine/state", "engine/transfer", "engine/runtime/internal/httpx"},
	"engine/runtime/internal/environment": {"engine/protocol", "engine/runtime/loader", "engine/runtime/internal/portforward", "engine/runtime/internal/redact"},
	"engine/runtime/internal/hublinks":    {},
	"engine/runtime/internal/httpx":       {"engine/protocol"},
	"engine/runtime/internal/lease":       {"engine/protocol", "engine/runtime/internal/httpx", "engine/runtime/internal/loaderconn"},
	"engine/runtime/internal/loaderconn":  {},
	"engine/runtime/internal/portforward": {"engine/protocol", "engine/runtime/internal/unixsocket"},
	"engine/runtime/internal/proc":        {},
	"engine/runtime/internal/process":     {"internal/osfile", "engine/protocol", "engine/runtime/internal/environment", "engine/runtime/internal/httpx", "engine/runtime/internal/proc", "engine/runtime/internal/redact", "engine/runtime/internal/spawn", "engine/runtime/internal/spool"},
	"engine/runtime/internal/redact":      {},
	"engine/runtime/internal/service":     {"internal/osfile", "sdk", "engine/protocol", "engine/protocol/journal", "engine/runtime/internal/environment", "engine/runtime/internal/httpx", "engine/runtime/internal/proc", "engine/runtime/internal/redact", "engine/runtime/internal/spawn", "engine/runtime/internal/spool", "engine/runtime/internal/unixsocket"},
	"engine/runtime/internal/spawn":       {},
	"engine/runtime/internal/spool":       {"internal/osfile", "engine/protocol"},
	"engine/runtime/internal/unixsocket":  {},
	"engine/runtime/internal/usage":       {"internal/osfile", "engine/protocol", "engine/runtime/internal/environment", "engine/runtime/internal/proc"},
	"engine/runtime/internal/watch":       {"engine/protocol"},

	// No family of commands imports another one.
	"cmd/seer":                        {"cmd/seer/internal/...", "engine/agent/inside", "engine/protocol", "engine/runs/inspectlog", "engine/runs/report"},
	"cmd/seer/internal/...":           {"cmd/seer/internal/cli", "cmd/seer/internal/term", "engine/...", "internal/httpretry", "internal/text", "sdk/..."},
	"cmd/seer/internal/cli":           {"cmd/seer/internal/term", "engine/...", "sdk"},
	"cmd/seer/internal/term":          {"engine", "engine/event", "engine/event/eventtext", "engine/experiment", "engine/sanitize"},
	"cmd/seer/internal/term/termtest": {},
}

// engineWide is what every package of the engine may import, beside its own line.
const engineWide = "engine/remedy"

// anywhere are what every package may import: a function each.
var anywhere = []string{"internal/closed", "internal/lazyregexp"}

// onlyImporters names outside packages that may be imported in one place only.
var onlyImporters = map[string][]string{
	"github.com/extism/go-sdk":               {"engine/plugin/host"},
	"github.com/tetratelabs/wazero":          {"engine/plugin/host"},
	"github.com/extism/go-pdk":               {"sdk/guest"},
	"github.com/modelcontextprotocol/go-sdk": {"engine/mcp", "cmd/seer/internal/mcpcmd"},
	"github.com/modal-labs/modal-client":     {"plugins/provider-modal", "engine/enginetest/fakemodal"},
	"google.golang.org/grpc":                 {"bench/helper", "engine/plugin/host", "sdk/guest/guestgrpc", "plugins/provider-modal", "engine/enginetest/fakemodal"},
	"github.com/spf13/cobra":                 {"cmd/seer"},
	"oras.land/oras-go":                      {"engine/ociclient", "engine/plugin/oci", "engine/image/registry"},
	"github.com/hiddeco/sshsig":              {"engine/plugin/sign"},
	"github.com/pierrec/lz4":                 {"engine/transfer/xet"},
	"github.com/hashicorp/yamux":             {"engine/pipe"},
	"k8s.io":                                 {"engine/kube/cluster"},
	"github.com/gorilla/websocket":           {"engine/kube/cluster"},
	"github.com/zeebo/blake3":                {"engine/transfer/xet"},
	"github.com/jedib0t/go-pretty":           {"cmd/seer/internal/term"},
}

// notInEngine must not be linked into a program that imports only the façade.
var notInEngine = []string{
	"github.com/modelcontextprotocol/", "github.com/spf13/cobra", "oras.land/", "github.com/jedib0t/", "github.com/modal-labs/",
	"k8s.io/", module + "/engine/run", module + "/engine/mcp",
}

// notInSeer must not be linked into the program: it would do its work at each start.
var notInSeer = []string{"github.com/santhosh-tekuri/jsonschema"}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	return goListFor(t, nil, args...)
}

func goListFor(t *testing.T, platform []string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), platform...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func covers(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pattern == pkg
}

// ruleFor returns the key of allowed that counts for a package, or "" if none covers it.
func ruleFor(pkg string) string {
	if _, exact := allowed[pkg]; exact {
		return pkg
	}
	best := ""
	for key := range allowed {
		if covers(key, pkg) && len(key) > len(best) {
			best = key
		}
	}
	return best
}

func coveredByAny(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if covers(p, pkg) {
			return true
		}
	}
	return false
}

// platforms are those on which the packages of this module differ in their imports.
var platforms = [][]string{
	{"GOOS=linux", "GOARCH=amd64"},
	{"GOOS=darwin", "GOARCH=arm64"},
	{"GOOS=wasip1", "GOARCH=wasm"},
}

// importsOfAll returns what each package imports, on any of the platforms.
func importsOfAll(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, platform := range platforms {
		for _, line := range goListFor(t, platform, "-e", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...") {
			fields := strings.Fields(line)
			pkg := strings.TrimPrefix(fields[0], module+"/")
			for _, imp := range fields[1:] {
				if !slices.Contains(found[pkg], imp) {
					found[pkg] = append(found[pkg], imp)
				}
			}
			if found[pkg] == nil {
				found[pkg] = []string{}
			}
		}
	}
	return found
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	unused := map[string]map[string]bool{} // rule → what no package under it imports
	for key, patterns := range allowed {
		unused[key] = map[string]bool{}
		for _, p := range patterns {
			unused[key][p] = true
		}
	}
	unmatched := maps.Clone(unused)
	for pkg, imports := range importsOfAll(t) {
		key := ruleFor(pkg)
		if key == "" {
			t.Errorf("%s has no rule: add it to docs/architecture.md and to this test", pkg)
			continue
		}
		delete(unmatched, key)
		for _, imp := range imports {
			checkForeign(t, pkg, imp)
			own, ours := strings.CutPrefix(imp, module+"/")
			if !ours || slices.Contains(anywhere, own) || own == engineWide && covers("engine/...", pkg) {
				continue
			}
			for _, p := range allowed[key] {
				if covers(p, own) {
					delete(unused[key], p)
				}
			}
			if own != pkg && !coveredByAny(allowed[key], own) {
				t.Errorf("%s must not import %s", pkg, own)
			}
		}
	}
	for key, left := range unused {
		if _, none := unmatched[key]; none {
			t.Errorf("the rule of %s covers no package: remove it", key)
		} else if len(left) > 0 {
			t.Errorf("the rule of %s allows what nothing imports: remove %s", key, slices.Sorted(maps.Keys(left)))
		}
	}
}

// checkForeign refuses packages of others that have one place only.
func checkForeign(t *testing.T, pkg, imp string) {
	t.Helper()
	for outside, places := range onlyImporters {
		if strings.HasPrefix(imp, outside) && !inPlaces(places, pkg) {
			t.Errorf("%s must not import %s: only %s may", pkg, imp, strings.Join(places, ", "))
		}
	}
}

func inPlaces(places []string, pkg string) bool {
	for _, p := range places {
		if pkg == p || strings.HasPrefix(pkg, p+"/") {
			return true
		}
	}
	return false
}

func TestNothingUnusedIsLinked(t *testing.T) {
	for root, unused := range map[string][]string{"./engine": notInEngine, "./cmd/seer": notInSeer} {
		for _, dep := range goList(t, "-deps", root) {
			for _, banned := range unused {
				// engine/run must not stand for engine/runtime.
				if strings.HasPrefix(dep+"/", strings.TrimSuffix(banned, "/")+"/") {
					t.Errorf("%s links %s", root, dep)
				}
			}
		}
	}
}

// The SDK is built without the rest of this module, and without a network. guestgrpc is not
// among what is carried along; see scripts/build-sdk.
func TestSDKStandsAlone(t *testing.T) {
	for _, pkg := range goList(t, "./sdk/...") {
		if strings.Contains(pkg, "/guestgrpc") || strings.HasSuffix(pkg, "/sdk/schema") {
			continue
		}
		for _, dep := range goList(t, "-deps", pkg) {
			own := strings.HasPrefix(dep, module+"/sdk") || strings.HasPrefix(dep, "github.com/extism/go-pdk")
			if strings.Contains(strings.SplitN(dep, "/", 2)[0], ".") && !own {
				t.Errorf("%s depends on %s, which plugin authors do not have", pkg, dep)
			}
		}
	}
}

func TestSDKIsStandardLibraryOnly(t *testing.T) {
	for _, dep := range goList(t, "-deps", "./sdk") {
		if strings.Contains(strings.SplitN(dep, "/", 2)[0], ".") && dep != module+"/sdk" {
			t.Errorf("sdk depends on %s", dep)
		}
	}
}
