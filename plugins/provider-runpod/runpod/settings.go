package runpod

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// settings say where RunPod is.
type settings struct {
	api   string // origin
	proxy string // with {pod} and {port}
}

func parseSettings(values map[string]string) (settings, error) {
	s := settings{api: strings.TrimSuffix(values["api_url"], "/"), proxy: values["proxy_url"]}
	u, err := url.Parse(s.api)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return s, sdk.Errorf(sdk.Invalid, "RUNPOD_API_BASE_URL is not an origin such as https://api.runpod.io; write it without /v2")
	}
	if !strings.Contains(s.proxy, "{pod}") || !strings.Contains(s.proxy, "{port}") {
		return s, sdk.Errorf(sdk.Invalid, "RUNPOD_PROXY_URL must contain {pod} and {port}, as https://{pod}-{port}.proxy.runpod.net does")
	}
	return s, nil
}

// endpoint is where a port of a pod is reached.
func (s settings) endpoint(pod string, port int) sdk.Endpoint {
	place := strings.NewReplacer("{pod}", pod, "{port}", strconv.Itoa(port))
	return sdk.Endpoint{Port: port, URL: place.Replace(s.proxy)}
}
