package fakerunpod

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const maxVCPU = 32

// availability is what a request for the catalogue wants to know of the stock.
type availability struct {
	wanted    bool
	count     int
	cloud     string
	countries []string
	cuda      []string
	minCuda   string
}

// words are the values of a parameter, separated by commas.
func words(q url.Values, name string) []string {
	return strings.FieldsFunc(q.Get(name), func(r rune) bool { return r == ',' })
}

// parseAvailability knows the rules between the parameters: what narrows the stock is
// only allowed where the stock is asked for.
func parseAvailability(q url.Values, products []string, filters ...string) (a availability, err error) {
	a = availability{count: 1, cloud: "SECURE"}
	include, product := words(q, "include"), words(q, "product")
	if err := oneOf("include", include, "AVAILABILITY"); err != nil {
		return a, err
	}
	if err := oneOf("product", product, products...); err != nil {
		return a, err
	}
	a.wanted = len(include) > 0
	switch {
	case a.wanted && len(product) == 0:
		return a, problemf(http.StatusBadRequest, "product is required with include=AVAILABILITY")
	case a.wanted:
		return a, a.narrow(q)
	}
	for _, name := range append(filters, "product") {
		if q.Has(name) {
			return a, problemf(http.StatusBadRequest, "%s is only valid with include=AVAILABILITY", name)
		}
	}
	return a, nil
}

var (
	countryForm = regexp.MustCompile(`^[A-Z]{2}$`)
	versionForm = regexp.MustCompile(`^\d+\.\d+$`)
)

func (a *availability) narrow(q url.Values) error {
	if text := q.Get("count"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return unprocessable("count", text)
		}
		a.count = n
	}
	if text := q.Get("cloud"); text != "" {
		if err := oneOf("cloud", []string{text}, "SECURE", "COMMUNITY"); err != nil {
			return err
		}
		a.cloud = text
	}
	a.countries, a.cuda, a.minCuda = words(q, "countryCodes"), words(q, "cudaVersions"), q.Get("minCudaVersion")
	if i := slices.IndexFunc(a.countries, func(s string) bool { return !countryForm.MatchString(s) }); i >= 0 {
		return unprocessable("countryCodes", a.countries[i])
	}
	if i := slices.IndexFunc(a.cuda, func(s string) bool { return !versionForm.MatchString(s) }); i >= 0 {
		return unprocessable("cudaVersions", a.cuda[i])
	}
	if a.minCuda != "" && !cudaForm.MatchString(a.minCuda) {
		return unprocessable("minCudaVersion", a.minCuda)
	}
	if len(a.cuda) > 0 && a.minCuda != "" {
		return problemf(http.StatusBadRequest, "cudaVersions and minCudaVersion are mutually exclusive")
	}
	return nil
}

func oneOf(name string, values []string, allowed ...string) error {
	for _, v := range values {
		if !slices.Contains(allowed, v) {
			return unprocessable(name, v)
		}
	}
	return nil
}

func unprocessable(name, value string) error {
	p := problemf(http.StatusUnprocessableEntity, "Request validation failed.")
	p.Errors = []string{name + ": value '" + value + "' is not allowed"}
	return p
}

// places are the data centres that the request does not leave out.
func (a availability) places(all []DataCenter) []DataCenter {
	return slices.DeleteFunc(slices.Clone(all), func(d DataCenter) bool {
		return len(a.countries) > 0 && !slices.Contains(a.countries, d.Country)
	})
}

func (a availability) versions(g GPU) []string {
	return gpuRequest{AllowedCuda: a.cuda, MinCuda: a.minCuda}.cudaHosts(g)
}
