package modal

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// settings are what the user has configured.
type settings struct {
	server       *url.URL
	environment  string // empty = the workspace's default
	builder      string // version of Modal's image builder; empty = the environment's
	cpuBackend   int    // 1 or 2: which of Modal's back ends gets machines without a GPU
	snapshotDays int    // 0 = for ever
}

var environmentName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$`)

func parseSettings(values map[string]string) (settings, error) {
	s := settings{environment: values["environment"], builder: values["image_builder_version"], cpuBackend: 2}
	text := strings.TrimSuffix(values["server_url"], "/")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Path != "" || (u.Scheme != "https" && u.Scheme != "http") {
		return s, sdk.Errorf(sdk.Invalid, "Modal's setting server_url is %q; it must be https://host[:port]", values["server_url"])
	}
	s.server = u
	if s.environment != "" && !environmentName.MatchString(s.environment) {
		return s, sdk.Errorf(sdk.Invalid, "Modal's setting environment is %q, which is not a name of an environment", s.environment)
	}
	switch strings.ToLower(values["sandbox_v2"]) { // read as Modal's SDK reads it
	case "0", "false":
		s.cpuBackend = 1
	}
	if days := values["snapshot_days"]; days != "" {
		if s.snapshotDays, err = strconv.Atoi(days); err != nil || s.snapshotDays < 0 {
			return s, sdk.Errorf(sdk.Invalid, "Modal's setting snapshot_days is %q; it must be a number of days, or 0 for ever", days)
		}
	}
	return s, nil
}

// target is the server as a destination.
func (s settings) target() string { return s.server.Scheme + "://" + s.server.Host }

// scheme is how the tunnels of machines are reached. A server without TLS is a
// fake Modal, and so are its tunnels.
func (s settings) scheme() string { return s.server.Scheme }
