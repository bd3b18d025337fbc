package hosttest

import (
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// Module is the smallest Wasm module with the functions of a contract, which return 0, and a
// manifest. It need not be built.
func Module(kind sdk.Kind, manifest string) []byte {
	names := kind.Exports()
	functions, exports, code := []byte{byte(len(names))}, []byte{byte(len(names))}, []byte{byte(len(names))}
	for i, name := range names {
		functions = append(functions, 0)
		exports = append(append(append(exports, byte(len(name))), name...), 0, byte(i))
		code = append(code, 4, 0, 0x41, 0, 0x0b)
	}
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7f}
	for _, section := range []struct {
		id   byte
		body []byte
	}{{3, functions}, {7, exports}, {10, code}} {
		size := []byte{byte(len(section.body)&0x7f | 0x80), byte(len(section.body) >> 7)}
		out = append(append(append(out, section.id), size...), section.body...)
	}
	return wasmfile.AppendCustom(out, sdk.ManifestSection, []byte(manifest))
}
