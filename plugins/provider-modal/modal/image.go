package modal

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/shell"
	"github.com/seer-engine/seer/sdk"
)

const defaultPython = "3.12"

var (
	pythonVersion = regexp.MustCompile(`^3\.[0-9]{1,2}(\.[0-9]{1,2})?$`)
	imageName     = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,254}$`)
	imageID       = regexp.MustCompile(`^im-[a-zA-Z0-9_-]+$`)
)

// layer is one step of an image: instructions of a Dockerfile after its FROM. Modal
// keeps the result of a layer by its content.
type layer struct {
	from  string // name in a registry; empty = the layer before
	run   string // shell command; empty = the base as it is
	title string // for people; empty = one of the others
}

// layers are those of an image, first to last. None are left when it is a snapshot
// as it is.
func layers(spec *sdk.Image) ([]layer, error) {
	if spec == nil {
		spec = &sdk.Image{}
	}
	var out []layer
	if spec.Snapshot == "" {
		base, err := baseImage(spec)
		if err != nil {
			return nil, err
		}
		out = append(out, layer{from: base})
	} else if !imageID.MatchString(spec.Snapshot) {
		return nil, sdk.Errorf(sdk.Invalid, "%q is not a snapshot of Modal's; those begin with im-", spec.Snapshot)
	}
	if len(spec.SystemPackages) > 0 {
		out = append(out, layer{
			title: "apt-get install " + strings.Join(spec.SystemPackages, " "),
			run: "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -- " +
				shell.Join(spec.SystemPackages) + " && rm -rf /var/lib/apt/lists/*",
		})
	}
	if len(spec.PythonPackages) > 0 {
		out = append(out, layer{
			title: "pip install " + strings.Join(spec.PythonPackages, " "),
			// A distribution's Python refuses pip without the first of these.
			run: "PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore python3 -m pip install " +
				"--no-input --no-cache-dir --disable-pip-version-check --progress-bar off -- " + shell.Join(spec.PythonPackages),
		})
	}
	for _, command := range spec.Commands {
		if strings.TrimSpace(command) != "" {
			out = append(out, layer{run: command})
		}
	}
	return out, nil
}

func baseImage(spec *sdk.Image) (string, error) {
	if spec.Base != "" {
		if spec.PythonVersion != "" {
			return "", sdk.Errorf(sdk.Invalid, "the image %s has its own Python; remove image.base or python_version", spec.Base)
		}
		if !imageName.MatchString(spec.Base) {
			return "", sdk.Errorf(sdk.Invalid, "%q is not a name of an image in a registry", spec.Base)
		}
		return spec.Base, nil
	}
	version := spec.PythonVersion
	if version == "" {
		version = defaultPython
	}
	if !pythonVersion.MatchString(version) {
		return "", sdk.Errorf(sdk.Invalid, "%q is not a version of Python such as 3.12", version)
	}
	return "python:" + version + "-slim", nil
}

// instructions are the layer as Modal wants it. The image's own entry point would
// stand before the machine's command.
func (l layer) instructions() []string {
	if l.from != "" {
		return []string{"FROM " + l.from, "ENTRYPOINT []"}
	}
	return []string{"FROM base", "RUN " + runArgument(l.run)}
}

// String is the layer for people.
func (l layer) String() string {
	text := l.title
	if text == "" {
		text = l.from + l.run // one of them is empty
	}
	text, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > 120 {
		text, more = string(runes[:120]), true
	}
	if more {
		text += " …"
	}
	return text
}

// plain is a command that means the same to a builder and to a shell: one line, no
// sign in front that the builder takes for its own, no here-document, no line that
// goes on.
var plain = regexp.MustCompile(`^[^\s\[#-][^\n\r]*[^\s\\]$`)

// runArgument is a shell command as the argument of RUN. What a builder could read
// otherwise is given as a list, which it does not look into.
func runArgument(command string) string {
	if plain.MatchString(command) && !strings.Contains(command, "<<") {
		return command
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode([]string{"/bin/sh", "-c", command}) // strings are always written
	return strings.TrimSuffix(out.String(), "\n")
}
