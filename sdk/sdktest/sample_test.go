package sdktest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// flaws are the defects of a mutant, by name; a good one has none.
type flaws map[string]bool

func (f flaws) has(name string) bool { return f[name] }

// sample is a provider for [cloud], with places where a mutant goes wrong.
type sample struct {
	flaws
	http   *http.Client
	secret string // of one that holds its credential itself
}

const base = "https://api.cloud.example"

func (s *sample) do(ctx context.Context, method, path string, body, out any) error {
	if s.has("ignores cancellation") {
		ctx = context.WithoutCancel(ctx)
	}
	var send io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, send)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "cloud: %q is not a path", path)
	}
	if s.secret != "" {
		req.Header.Set("X-Extra-Key", s.secret)
	}
	resp, err := s.client().Do(req)
	if err != nil {
		return s.unanswered(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if resp.StatusCode/100 != 2 {
		return s.problem(resp, text)
	}
	if out == nil {
		return nil
	}
	switch {
	case err != nil && !s.has("takes half answers"):
		return s.unanswered(err)
	case s.has("takes junk for nothing") && !json.Valid(text):
		return nil
	case s.has("strict answers"):
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(out)
	default:
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		if s.has("malformed is invalid") {
			return sdk.Errorf(sdk.Invalid, "cloud: %v", err)
		}
		return sdk.Errorf(sdk.Internal, "cloud: the answer cannot be read: %v", err)
	}
	return nil
}

func (s *sample) client() *http.Client {
	if !s.has("follows redirects") {
		return s.http
	}
	c := *s.http
	c.Transport = nextOf(c.Transport)
	c.CheckRedirect = nil
	return &c
}

func (s *sample) unanswered(err error) error {
	var e *sdk.Error
	switch {
	case s.has("connection lost is internal"):
		return sdk.Errorf(sdk.Internal, "cloud: lost")
	case s.has("untyped errors"):
		return errors.New("cloud: it went wrong")
	case errors.As(err, &e):
		return sdk.Errorf(e.Code, "cloud: %s", e.Message)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "cloud cannot be reached: %v", errors.Unwrap(err))
}

var spaces = regexp.MustCompile(`[\pZ\pC]+`)

func (s *sample) problem(resp *http.Response, text []byte) error {
	var p struct{ Error string }
	_ = json.Unmarshal(text, &p)
	says := spaces.ReplaceAllString(p.Error, " ")
	switch {
	case s.has("shows raw bodies"):
		says = p.Error + string(text)
	case s.has("empty messages"):
		return &sdk.Error{Code: statusCode(resp.StatusCode)}
	case s.secret != "" && !s.has("shows its secret"):
		says = strings.ReplaceAll(says, s.secret, "[secret]")
	}
	e := sdk.Errorf(statusCode(resp.StatusCode), "cloud: HTTP %d %s", resp.StatusCode, says)
	if s.has("429 is internal") && resp.StatusCode == 429 {
		e.Code = sdk.Internal
	}
	if s.has("401 is internal") && resp.StatusCode == 401 {
		e.Code = sdk.Internal
	}
	if s.has("5xx is internal") && resp.StatusCode >= 500 {
		e.Code = sdk.Internal
	}
	if after := resp.Header.Get("Retry-After"); after != "" && !s.has("no retry-after") {
		e.Seconds = s.after(after)
	}
	if p.Error == "sold out" {
		e.Code = sdk.NoCapacity
		if s.has("sold out is unavailable") {
			e.Code = sdk.Invalid
		}
	}
	return e
}

func (s *sample) after(text string) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	at, err := http.ParseTime(text)
	if err != nil || s.has("no retry-after date") {
		return 0
	}
	return max(time.Until(at).Seconds(), 0)
}

func statusCode(status int) sdk.Code {
	switch {
	case status == 401 || status == 403:
		return sdk.Unauthorized
	case status == 404:
		return sdk.NotFound
	case status == 429:
		return sdk.RateLimited
	case status >= 500:
		return sdk.Unavailable
	}
	return sdk.Invalid
}

// Describe implements [sdk.Provider].
func (s *sample) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	info := sdk.ProviderInfo{Name: "cloud", Title: "Cloud, an example", Features: []sdk.Feature{sdk.FeatureSnapshot, sdk.FeatureTags}}
	if s.has("describe asks the network") {
		_ = s.do(ctx, "GET", "/v1/prices", nil, nil)
	}
	if slices.ContainsFunc(checkFlaws, s.has) {
		info.Features = append(info.Features, sdk.FeatureCheck, sdk.FeatureClean)
	}
	if s.has("unknown feature") {
		info.Features = append(info.Features, "teleport")
	}
	return info, nil
}

func (s *sample) options(raw json.RawMessage) error {
	if len(raw) == 0 || s.has("ignores options") {
		return nil
	}
	var o struct{ Cheap bool }
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return sdk.Errorf(sdk.Invalid, "cloud: provider_options: %v", err)
	}
	return nil
}

// Offers implements [sdk.Provider].
func (s *sample) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	if err := s.options(q.Options); err != nil {
		return nil, err
	}
	var answer struct{ Types []kind }
	if err := s.do(ctx, "GET", "/v1/prices", nil, &answer); err != nil {
		return nil, err
	}
	var out []sdk.Offer
	for _, k := range answer.Types {
		if s.fits(k, q) && k.ID != "" {
			name := gpu.Canonical(k.GPU)
			if s.has("GPU names of its own") {
				name = k.GPU
			}
			out = append(out, sdk.Offer{ID: k.ID, GPU: name, GPUCount: k.Count, MemoryGB: k.Memory, CostPerHour: k.Price, Region: k.Region})
		}
	}
	if !s.has("unsorted offers") {
		slices.SortFunc(out, func(a, b sdk.Offer) int { return cmp.Compare(a.CostPerHour, b.CostPerHour) })
	}
	if len(out) == 0 && s.has("nothing fits is an error") {
		return nil, sdk.Errorf(sdk.NoCapacity, "cloud: nothing fits")
	}
	return out, nil
}

func (s *sample) fits(k kind, q sdk.OfferQuery) bool {
	if (q.GPU == "") != (k.GPU == "") && !s.has("GPUs for everybody") || q.GPU != "" && !gpu.Match(q.GPU, k.GPU) {
		return false
	}
	if s.has("does not narrow") {
		return true
	}
	return k.Count >= q.GPUCount && k.CPU >= q.CPU && k.Memory >= q.MemoryGB && (len(q.Regions) == 0 || slices.Contains(q.Regions, k.Region))
}

func (s *sample) refuse(spec sdk.MachineSpec) error {
	asked := map[string]bool{
		"disk_gb": spec.DiskGB > 0, "ports": len(spec.Ports) > 0, "image": spec.Image != nil, "volumes": len(spec.Volumes) > 0,
		"mounts": len(spec.Mounts) > 0, "network": spec.Network != "" && spec.Network != "open", "isolation": spec.Isolation != "" && spec.Isolation != "auto",
	}
	for name, yes := range asked {
		if yes && !s.has("ignores "+name) {
			return sdk.Errorf(sdk.Unsupported, "cloud has no %s", name)
		}
	}
	return s.options(spec.Options)
}

type cursor struct{ Type, Pad string }

// Create implements [sdk.Provider].
func (s *sample) Create(ctx context.Context, spec sdk.MachineSpec, raw json.RawMessage) (sdk.CreateStep, error) {
	if err := s.refuse(spec); err != nil {
		return sdk.CreateStep{}, err
	}
	var c cursor
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			if s.has("panics at cursors") {
				panic("what is this")
			}
			return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "cloud: this cursor is nobody's")
		}
	}
	if c.Type == "" {
		return s.choose(ctx, spec)
	}
	m := machine{Type: c.Type, Command: spec.Command, Env: spec.Env, Port: spec.Port,
		Tags: map[string]string{"key": spec.Key, "owner": spec.Owner, "end": fmt.Sprint(spec.EndUnix), "unique": spec.Key}}
	s.spoil(ctx, &m)
	var made machine
	if err := s.do(ctx, "POST", "/v1/machines", m, &made); err != nil {
		return sdk.CreateStep{}, err
	}
	if made.ID == "" {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Internal, "cloud: the answer names no machine")
	}
	return sdk.CreateStep{Handle: made.ID, Log: []string{"rented " + made.ID}}, nil
}

// spoil changes what a mutant rents.
func (s *sample) spoil(ctx context.Context, m *machine) {
	if s.has("creates twice") {
		m.Tags["unique"] = ""
	}
	if s.has("looks, then creates") { // which is not enough for two at once, or a lost request that is repeated inside
		m.Tags["unique"] = ""
		if all, err := s.list(ctx, m.Tags["owner"]); err == nil {
			for _, have := range all {
				if have.Tags["key"] == m.Tags["key"] && have.State != "ended" {
					m.Tags["unique"], have.Tags["unique"] = "x", "x"
				}
			}
		}
	}
	if s.has("loses the command's quotes") {
		m.Command = strings.Fields(strings.Join(m.Command, " "))
	}
	if s.has("no variables") {
		m.Env = map[string]string{}
	}
	if s.has("no end") {
		delete(m.Tags, "end")
	}
	if s.has("one machine for an owner") {
		m.Tags["unique"] = m.Tags["owner"]
	}
}

func (s *sample) choose(ctx context.Context, spec sdk.MachineSpec) (sdk.CreateStep, error) {
	id := spec.Offer
	if id == "" && s.has("insists on an offer") {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "cloud: which offer?")
	}
	if id == "" || !s.has("any offer") {
		offers, err := s.Offers(ctx, sdk.OfferQuery{GPU: spec.GPU, GPUCount: spec.GPUCount, CPU: spec.CPU, MemoryGB: spec.MemoryGB, Options: spec.Options})
		if err != nil {
			return sdk.CreateStep{}, err
		}
		i := slices.IndexFunc(offers, func(o sdk.Offer) bool { return id == "" || o.ID == id })
		if i > 0 && s.has("the cheapest, whatever was asked for") {
			i = 0
		}
		if i < 0 {
			return sdk.CreateStep{}, sdk.Errorf(sdk.NoCapacity, "cloud: nothing fits")
		}
		id = offers[i].ID
	} else {
		id = "small"
	}
	c := cursor{Type: id}
	if s.has("fat cursor") {
		c.Pad = strings.Repeat("x", 5000)
	}
	data, err := json.Marshal(c)
	if s.has("null cursor") {
		data = []byte("null")
	}
	return sdk.CreateStep{Cursor: data}, err
}

func (s *sample) list(ctx context.Context, owner string, ids ...string) (all []machine, err error) {
	query := url.Values{"owner": {owner}, "id": ids}
	for {
		var answer struct {
			Machines []machine
			Next     string
		}
		err := s.do(ctx, "GET", "/v1/machines?"+query.Encode(), nil, &answer)
		all = append(all, answer.Machines...)
		if err != nil || answer.Next == "" || s.has("reads the first page") {
			return all, err
		}
		query.Set("after", answer.Next)
	}
}

func state(text string) sdk.State {
	switch text {
	case "up":
		return sdk.Running
	case "ended":
		return sdk.Stopped
	}
	return sdk.Starting
}

// look asks for machines by their ids, or for all.
func (s *sample) look(ctx context.Context, handles []string) (all []machine, err error) {
	switch {
	case s.has("observes by ids"):
		return s.list(ctx, "", handles...)
	case s.has("observes one by one"):
		for range handles[1:] {
			if _, err = s.list(ctx, ""); err != nil {
				return nil, err
			}
		}
	case s.has("observes one by one by query"):
		for _, h := range handles {
			some, err := s.list(ctx, "", h)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	return s.list(ctx, "")
}

// Observe implements [sdk.Provider].
func (s *sample) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	if len(handles) == 0 {
		return nil, nil
	}
	all, err := s.look(ctx, handles)
	if err != nil && !s.has("takes errors for ends") {
		return nil, err
	}
	var out []sdk.Observation
	for _, h := range handles {
		i := slices.IndexFunc(all, func(m machine) bool { return m.ID == h })
		o := sdk.Observation{Handle: h, State: sdk.Stopped}
		switch {
		case i >= 0:
			o.State, o.CostPerHour = state(all[i].State), all[i].Price
			if o.State == sdk.Running && !s.has("no endpoint") {
				o.Endpoints = []sdk.Endpoint{{Port: all[i].Port, URL: all[i].URL}}
				if s.has("bad endpoint") {
					o.Endpoints[0].URL = strings.TrimPrefix(all[i].URL, "https://")
				}
				if s.has("routes") || s.has("a route to everything") || s.has("a route to nowhere") {
					o.Endpoints[0].URL = sdk.RouteURL
				}
			}
		case s.has("unknown handles are left out"):
			continue
		case s.has("unknown handles are errors"):
			return nil, sdk.Errorf(sdk.NotFound, "cloud has no machine %q", h)
		case s.has("unknown handles start"):
			o.State = sdk.Starting
		}
		out = append(out, o)
	}
	return out, nil
}

// Route implements [sdk.Router].
func (s *sample) Route(ctx context.Context, handle string, port int) (sdk.Route, error) {
	all, err := s.look(ctx, []string{handle})
	if err != nil {
		return sdk.Route{}, err
	}
	r := sdk.Route{SSH: &sdk.SSHRoute{Host: "box", Target: fmt.Sprint("tcp:", port)}}
	switch known := slices.ContainsFunc(all, func(m machine) bool { return m.ID == handle }); {
	case s.has("a route to nowhere"):
		r.SSH.Target = "box:" + fmt.Sprint(port)
	case !known && !s.has("a route to everything"):
		return sdk.Route{}, sdk.Errorf(sdk.NotFound, "cloud has no machine %q", handle)
	}
	return r, nil
}

// List implements [sdk.Provider].
func (s *sample) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	ask := owner
	if s.has("lists everybody's") {
		ask = ""
	}
	all, err := s.list(ctx, ask)
	if err != nil {
		if s.has("takes errors for nothing") {
			return nil, nil
		}
		return nil, err
	}
	var out []sdk.Listed
	for _, m := range all {
		end, _ := strconv.ParseInt(m.Tags["end"], 10, 64)
		if m.ID != "" && m.Tags["owner"] != "" && (m.State != "ended" || s.has("lists the dead as alive")) {
			l := sdk.Listed{Handle: m.ID, Key: m.Tags["key"], Owner: m.Tags["owner"], State: state(m.State), EndUnix: end}
			if s.has("lists the dead as alive") {
				l.State = sdk.Running
			}
			if s.has("claims the owner") {
				l.Owner = owner
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// Terminate implements [sdk.Provider].
func (s *sample) Terminate(ctx context.Context, handle string) error {
	if s.has("does not terminate") {
		return nil
	}
	if !regexp.MustCompile(`^m[0-9]+$`).MatchString(handle) && !s.has("any handle") {
		return nil // none of ours
	}
	var err error
	if handle == "" || s.has("any handle") && strings.ContainsAny(handle, "*") {
		return s.everything(ctx)
	}
	if err = s.do(ctx, "DELETE", "/v1/machines/"+url.PathEscape(handle), nil, nil); sdk.CodeOf(err) == sdk.NotFound && !s.has("unknown is an error") {
		return nil
	}
	if err != nil && s.has("terminates for sure") {
		return nil
	}
	return err
}

func (s *sample) everything(ctx context.Context) error {
	all, err := s.list(ctx, "")
	for _, m := range all {
		err = errors.Join(err, s.do(ctx, "DELETE", "/v1/machines/"+m.ID, nil, nil))
	}
	return err
}

// Snapshot implements [sdk.Snapshotter].
func (s *sample) Snapshot(ctx context.Context, handle, key string, _ json.RawMessage) (sdk.SnapshotStep, error) {
	var answer struct{ Image string }
	err := s.do(ctx, "POST", "/v1/machines/"+url.PathEscape(handle)+"/copy?key="+url.QueryEscape(key), nil, &answer)
	return sdk.SnapshotStep{Image: answer.Image}, err
}

// checkFlaws are those with which the sample checks and cleans; "checks" is none.
var checkFlaws = []string{"checks", "checks any option", "finds without a fix", "finds in a state of its own", "finds nothing", "checks by renting",
	"cleans machines", "cleans with a negative size"}

// Check implements [sdk.Checker].
func (s *sample) Check(ctx context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	if err := s.options(q.Options); err != nil && !s.has("checks any option") {
		return nil, err
	}
	found := []sdk.Finding{{Name: "key", State: sdk.FindingOK}, {Name: "quota", State: sdk.FindingWarning, Fix: "ask for more"}}
	switch {
	case s.has("finds without a fix"):
		found[1].Fix = ""
	case s.has("finds in a state of its own"):
		found[1].State = "so so"
	case s.has("finds nothing"):
		found = nil
	case s.has("checks by renting"):
		probe := sdk.MachineSpec{Key: "seer-probe", Owner: "own-probe", Command: []string{"true"}, Port: 1, TimeoutSeconds: 60}
		step, err := s.Create(ctx, probe, nil)
		if err == nil {
			_, err = s.Create(ctx, probe, step.Cursor)
		}
		return found, err
	}
	return found, nil
}

// Clean implements [sdk.Cleaner].
func (s *sample) Clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	switch {
	case s.has("cleans machines"):
		all, err := s.list(ctx, "")
		for _, m := range all {
			err = errors.Join(err, s.Terminate(ctx, m.ID))
		}
		return nil, err
	case s.has("cleans with a negative size"):
		return []sdk.Cleaned{{Name: "cache", Bytes: -1}}, nil
	}
	return []sdk.Cleaned{{Name: "cache", Bytes: 1}}, nil
}
