package python

import (
	"embed"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

//go:embed seer_client/*.py seer_worker/values/*.py
var clientFiles embed.FS

// clientModules are joined in this order: each uses only those before it.
var clientModules = []string{
	"seer_client/errors.py",
	"seer_worker/values/types.py",
	"seer_worker/values/body.py",
	"seer_worker/values/array.py",
	"seer_worker/values/frames.py",
	"seer_worker/values/foreign.py",
	"seer_worker/values/plain_form.py",
	"seer_worker/values/encoding.py",
	"seer_worker/values/decoding.py",
	"seer_client/settings.py",
	"seer_client/endpoint.py",
	"seer_client/framing.py",
	"seer_client/web.py",
	"seer_client/socket_transport.py",
	"seer_client/http_transport.py",
	"seer_client/codec.py",
	"seer_client/call.py",
	"seer_client/handle.py",
	"seer_client/futures.py",
	"seer_client/client.py",
	"seer_client/library.py",
}

// Client is client.py: one file that calls a service from any Python 3.8 or newer
// with nothing installed. Its docstring says how a generated module uses it. It is
// put together from the modules of seer_client and the worker's own of values, of
// which the imports from each other are left out; so no two of them may give
// different things the same name.
func Client() []byte {
	var out strings.Builder
	for _, name := range clientModules {
		data, err := clientFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("an embedded file is missing: %v", err))
		}
		out.WriteString(relativeImport().ReplaceAllString(string(data), ""))
	}
	return []byte(out.String())
}

// relativeImport is one line, or one with a list in parentheses.
var relativeImport = lazyregexp.New(`(?m)^from (?:\.\w*|seer_worker\.\w+) import (?:\([^)]*\)|.*)\n`)
