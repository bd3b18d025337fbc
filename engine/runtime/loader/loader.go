// Package loader holds the first program of a machine: a small Python script
// that takes the runtime from the engine, starts it and outlives it.
package loader

import (
	"bytes"
	"compress/zlib"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

//go:embed seer_loader/*.py
var files embed.FS

// modules are joined in this order: each uses only those before it.
var modules = []string{"system", "processes", "holder", "program", "self_end", "http", "store", "requests", "supervisor", "__main__"}

// Boot is what a machine is told when it starts: the JSON in SEER_BOOT. It holds
// no secret.
type Boot struct {
	Listen      string            `json:"listen"`                 // unix:/path or tcp:HOST:PORT
	AdminSHA256 string            `json:"admin_sha256"`           // hex; see protocol.HashToken
	Cache       string            `json:"cache,omitempty"`        // folder of runtime binaries
	BootSeconds float64           `json:"boot_seconds,omitempty"` // 0 = 120
	EndUnix     int64             `json:"end_unix,omitempty"`     // hard end of the machine; 0 = none
	Roots       map[string]string `json:"roots,omitempty"`        // well-known folder → real one
	Machine     string            `json:"machine,omitempty"`      // becomes SEER_MACHINE of everything started there
	Scratch     string            `json:"scratch,omitempty"`      // private folder of the runtime
	Sockets     string            `json:"sockets,omitempty"`      // folder for sockets of workers; empty = Scratch
	Python      string            `json:"python,omitempty"`       // filled in by the loader: its own interpreter
	Trusted     map[string]string `json:"trusted,omitempty"`      // file in Cache → SHA-256, of those that are used
}

// BootVariable is the environment variable with the [Boot].
const BootVariable = "SEER_BOOT"

// PortTaken is the loader's exit code when it cannot listen.
const PortTaken = 98

// Command is the program a provider starts on a machine. Its last argument is one
// line that stays whole within single quotes, whatever splits it.
func Command(python string) []string { return command(python, source()) }

// source is the modules as one program, without their imports of each other; so no two of
// them may give different things the same name.
func source() string {
	var out strings.Builder
	for _, name := range modules {
		data, err := files.ReadFile("seer_loader/" + name + ".py")
		if err != nil {
			panic(fmt.Sprintf("an embedded file is missing: %v", err))
		}
		out.Write(internal().ReplaceAll(data, nil))
	}
	return out.String()
}

func command(python, source string) []string {
	return []string{python, "-I", "-S", "-c", `import binascii,zlib;exec(zlib.decompress(binascii.a2b_base64("` + packed(source) + `")))`}
}

// packed is the source as small as it gets: some clouds limit a command.
func packed(source string) string {
	var out bytes.Buffer
	w, _ := zlib.NewWriterLevel(&out, zlib.BestCompression) // the level is valid
	_, _ = w.Write([]byte(bare(source)))                    // memory takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

var (
	internal  = lazyregexp.New(`(?m)^(?:from \.\w* import .*|""".*""")\n`) // also the line that says what a module is
	docstring = lazyregexp.New(`(?m)^( +)"""[^"]*"""$`)
	comment   = lazyregexp.New(`(?m)(^|  )# [^"'\n]*$|^ *# .*$`)
	indent    = lazyregexp.New(`(?m)^(    )+`)
)

// bare is the source without what only people read. A line keeps its number in source.
func bare(source string) string {
	source = docstring().ReplaceAllStringFunc(source, func(text string) string {
		return docstring().FindStringSubmatch(text)[1] + "0" + strings.Repeat("\n", strings.Count(text, "\n"))
	})
	source = comment().ReplaceAllString(source, "")
	return indent().ReplaceAllStringFunc(source, func(spaces string) string { return spaces[:len(spaces)/4] })
}

// BootEnv is the environment that belongs to [Command].
func BootEnv(b Boot) (map[string]string, error) {
	if b.Listen == "" || len(b.AdminSHA256) != 64 {
		return nil, fmt.Errorf("boot environment: an address to listen on and the SHA-256 of the admin token are needed")
	}
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return map[string]string{BootVariable: string(data)}, nil
}

// SetEnd sets the hard end in the environment of a machine whose time begins only now. An
// environment without a [Boot] stays as it is.
func SetEnd(env map[string]string, unix int64) error {
	text, ok := env[BootVariable]
	if !ok {
		return nil
	}
	var boot map[string]json.RawMessage // all of it, also what a later version has added
	if err := json.Unmarshal([]byte(text), &boot); err != nil {
		return fmt.Errorf("read %s: %w", BootVariable, err)
	}
	boot["end_unix"] = json.RawMessage(strconv.FormatInt(unix, 10))
	data, err := json.Marshal(boot)
	if err == nil {
		env[BootVariable] = string(data)
	}
	return err
}
