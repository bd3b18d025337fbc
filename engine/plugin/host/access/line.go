package access

import (
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// freeMemoryMB is what an instance may use without a permission.
const freeMemoryMB = 256

// line joins the words of a permission. What a manifest's check lets through are plain
// words; anything else is quoted, so that no two permissions have one line.
func line(words ...string) string {
	for i, w := range words {
		words[i] = word(w)
	}
	return strings.Join(words, " ")
}

func word(w string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }
	if w != "" && !strings.ContainsFunc(w, odd) {
		return w
	}
	return strings.ReplaceAll(strconv.QuoteToASCII(w), " ", `\x20`)
}

// HTTP is the line of one method and path pattern of an HTTP permission of m.
func HTTP(m sdk.Manifest, p sdk.HTTPPermission, method, path string) string {
	return line("http", method, place(m, p.Destination), path)
}

// GRPC is the line of one method of a gRPC permission of m.
func GRPC(m sdk.Manifest, p sdk.GRPCPermission, method string) string {
	return line("grpc", place(m, p.Destination), method)
}

// SSH is the line of one use of one pattern of hosts of m.
func SSH(m sdk.Manifest, pattern, use string) string { return line("ssh", place(m, pattern), use) }

// Kube is the line of one use of patterns of contexts and namespaces of m. The namespace is ""
// with [sdk.KubeCluster].
func Kube(m sdk.Manifest, context, namespace, use string) string {
	if use == sdk.KubeCluster {
		return line("kube", "context", place(m, context), use)
	}
	return line("kube", "context", place(m, context), "namespace", place(m, namespace), use)
}

// CapturedCall is the line that allows a method at the URL of a capture's URLField.
func CapturedCall(c sdk.Capture, method string) string {
	return line("capture", c.Name, c.Method, c.Field, "calls", "url:"+c.URLField, method)
}

// Secret is the line of the use of a secret of m at one place.
func Secret(m sdk.Manifest, s sdk.Secret, b sdk.Binding) string {
	return line("secret", s.Name, sources(s.Env, s.Profile), b.Header, place(m, b.Destination))
}

// Folders is the line that allows a fetcher to read what the experiment names as models.
const Folders = "folders"

// Command is the line of a program that a surface may name.
func Command(name string) string { return line("command", name) }

// Env is the line of a variable that a surface may set.
func Env(name string) string { return line("env", name) }

// File is the line of a pattern of files that a surface may write.
func File(pattern string) string { return line("file", pattern) }

func capture(m sdk.Manifest, c sdk.Capture, b sdk.Binding) string {
	to := "url:" + c.URLField
	if c.URLField == "" {
		to = place(m, b.Destination)
	}
	return line("capture", c.Name, c.Method, c.Field, b.Header, to)
}

func setting(s sdk.Setting) string { return line("setting", s.Name, sources(s.Env, s.Profile)) }

// asks reports whether a setting reads anything of the user's.
func asks(s sdk.Setting) bool { return len(s.Env) > 0 || s.Profile != "" }

func profile(p sdk.Profile) string {
	words := []string{"profile", p.File}
	if p.FileEnv != "" {
		words = append(words, p.FileEnv)
	}
	for _, f := range p.Folders {
		words = append(words, "folder="+f.Env, "file="+f.File)
	}
	for _, more := range [][2]string{{"name=", p.NameEnv}, {"active=", p.Active}, {"section=", p.Section}} {
		if more[1] != "" {
			words = append(words, more[0]+more[1])
		}
	}
	return line(words...)
}

func memory(mb int) string { return line("memory", strconv.Itoa(mb)) }

// place is a destination, with its default where a setting says it.
func place(m sdk.Manifest, destination string) string {
	if s, ok := settingOf(m, destination); ok && s.Default != "" {
		return destination + "=" + s.Default
	}
	return destination
}

// settingOf is the setting that a destination names.
func settingOf(m sdk.Manifest, destination string) (sdk.Setting, bool) {
	for _, s := range m.Settings {
		if destination == "{"+s.Name+"}" {
			return s, true
		}
	}
	return sdk.Setting{}, false
}

// sources are where a value comes from: variables, then ~ and the key in the profile.
func sources(env []string, key string) string {
	list := strings.Join(env, ",")
	if key == "" {
		return list
	}
	return strings.TrimPrefix(list+",~"+key, ",")
}
