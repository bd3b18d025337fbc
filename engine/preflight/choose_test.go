package preflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// clouds is a lab with two clouds that have been asked for all their offers.
func clouds(t *testing.T) *lab {
	l := newLab(t)
	l.facts.Providers = append(l.facts.Providers,
		sdk.ProviderInfo{Name: "runpod", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureVolumes}},
		sdk.ProviderInfo{Name: "modal", GPUs: []string{"H100", "A100-40GB", "A100-80GB"}, MaxTimeoutSeconds: 24 * 3600,
			Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureVolumes, sdk.FeatureBuild, sdk.FeatureSnapshot}})
	l.facts.GPUProviders = []string{"modal"}
	l.facts.Offers = map[string][]sdk.Offer{
		"local": {{ID: "local"}},
		"runpod": {
			{ID: "h-nvl", GPU: "H100-NVL", GPUCount: 1, CostPerHour: 3.19, Stock: sdk.StockLow},
			{ID: "h-sxm", GPU: "H100-SXM", GPUCount: 1, CostPerHour: 2.99, Stock: sdk.StockHigh},
			{ID: "h-pcie", GPU: "H100-PCIE", GPUCount: 1, CostPerHour: 2.39, Stock: sdk.StockNone},
			{ID: "h-sxm-eu", GPU: "H100-SXM", GPUCount: 1, CostPerHour: 3.09, Region: "EU", Stock: sdk.StockHigh},
			{ID: "a80", GPU: "A100-80GB-SXM", GPUCount: 1, CostPerHour: 1.89, Stock: sdk.StockLow},
			{ID: "cpu", CostPerHour: 0.08, Stock: sdk.StockHigh},
			{ID: "cpu-big", CostPerHour: 0.32, Stock: sdk.StockHigh},
		},
		"modal": {
			{ID: "H100", GPU: "H100", CostPerHour: 3.95},
			{ID: "A100-40GB", GPU: "A100-40GB", CostPerHour: 2.1},
			{ID: "A100-80GB", GPU: "A100-80GB", CostPerHour: 2.5},
			{ID: "cpu", CostPerHour: 0.14},
		},
	}
	return l
}

// TestGPUProviders names who rents a GPU that this computer lacks, or why nobody does.
func TestGPUProviders(t *testing.T) {
	for _, c := range []struct {
		gpu  []string // Facts.GPUProviders
		text string
		want string
	}{
		{nil, "{gpu: H100}", "sandbox.gpu: this computer has no H100, and no installed provider is for GPUs; name one in provider"},
		{[]string{"modal", "runpod"}, "{gpu: H100}", "sandbox.gpu: this computer has no H100, and several providers are for GPUs: modal, runpod; name one of them in provider, or in providers.default_gpu"},
		{[]string{"gone"}, "{gpu: H100}", "sandbox.gpu: this computer has no H100, and the provider `gone` is not installed; leave gpu empty"},
		{[]string{"modal"}, "{gpu: A1000}", "sandbox.gpu: there is no GPU `A1000`"},
		{nil, "{gpu: A1000}", "sandbox.gpu: there is no GPU `A1000`"},
		{[]string{"modal"}, "{provider_options: {runpod: {a: 1}}}", "sandbox.provider_options.runpod: `runpod` is not a provider of this experiment; use local or modal, or name it under provider"},
		{[]string{"modal"}, "{provider_options: {modal: {a: 1}}}", ""},
		{nil, "{provider: runpod, gpu: H100}", ""},
	} {
		l := clouds(t)
		l.facts.GPUProviders = c.gpu
		r := l.check("sandbox: " + c.text)
		err := r.Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || len(r.Findings) != 1 || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v %s: %v", c.gpu, c.text, err)
		}
	}
}

// TestAdministratorsPolicy names the providers and networks that this computer's administrator does
// not allow.
func TestAdministratorsPolicy(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                     `sandbox.network: the network "open" is not allowed on this computer: networks in /etc/seer/policy.yaml allows none, hosts`,
		"{network: none}":                        "",
		"{network: [pypi.org]}":                  "",
		"{network: [pypi.org, example.com]}":     `sandbox.network: the host "example.com"`,
		"{provider: modal}":                      `sandbox.provider: the provider "modal" is not allowed on this computer: providers in /etc/seer/policy.yaml allows local, runpod`,
		"{provider: [runpod, modal], gpu: H100}": `sandbox.provider.1: the provider "modal"`,
		"{provider: runpod, gpu: H100}":          "",
		"{gpu: H100}":                            `sandbox.provider: the provider "modal"`,
	} {
		l := clouds(t)
		l.facts.Policy = policy.Policy{File: policy.File, Providers: []string{"local", "runpod"}, Networks: []string{"none", "hosts"}, Hosts: []string{"pypi.org"}}
		err := l.check("sandbox: " + text).Err()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

func short(choices []preflight.Choice) string {
	var out []string
	for _, c := range choices {
		price, known := c.CostPerHour()
		text := c.Provider.Name + "/" + c.Offer.ID
		if c.GPU != "" {
			text += fmt.Sprintf(" %dx%s", c.GPUCount, c.GPU)
		}
		if known {
			text += fmt.Sprintf(" %.2f", price)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestChoices(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"this computer", "{}", "local/local 0.00"},
		{"modal for a GPU", "sandbox: {gpu: H100}", "modal/H100 1xH100 3.95"},
		{"cheapest first, none without stock, each GPU once", "sandbox: {provider: runpod, gpu: H100}", "runpod/h-sxm 1xH100-SXM 2.99, runpod/h-nvl 1xH100-NVL 3.19"},
		{"one form", "sandbox: {provider: runpod, gpu: H100-NVL}", "runpod/h-nvl 1xH100-NVL 3.19"},
		{"nothing better", "sandbox: {provider: modal, gpu: H100!}", "modal/H100 1xH100! 3.95"},
		{"any A100", "sandbox: {provider: [runpod, modal], gpu: A100}", "runpod/a80 1xA100-80GB-SXM 1.89, modal/A100-40GB 1xA100-40GB 2.10, modal/A100-80GB 1xA100-80GB 2.50"},
		{"a name of another cloud", "sandbox: {provider: modal, gpu: NVIDIA A100 80GB PCIe}", "modal/A100-80GB 1xA100-80GB 2.50"},
		{"GPUs before providers", "sandbox: {provider: [modal, runpod], gpu: [A100-80GB, H100]}",
			"modal/A100-80GB 1xA100-80GB 2.50, runpod/a80 1xA100-80GB-SXM 1.89, modal/H100 1xH100 3.95, runpod/h-sxm 1xH100-SXM 2.99, runpod/h-nvl 1xH100-NVL 3.19"},
		{"nothing twice", "sandbox: {provider: runpod, gpu: [A100-80GB, A100]}", "runpod/a80 1xA100-80GB-SXM 1.89"},
		{"not too dear", "sandbox: {provider: [modal, runpod], gpu: H100, max_price: 3}", "runpod/h-sxm 1xH100-SXM 2.99"},
		{"without a GPU", "sandbox: {provider: [runpod, modal]}", "runpod/cpu 0.08, runpod/cpu-big 0.32, modal/cpu 0.14"},
		{"free is not too dear", "sandbox: {provider: local, max_price: 0.01, budget: 0.01}", "local/local 0.00"},
		{"a GPU that one does not have", "sandbox: {provider: [local, modal], gpu: H100}", "modal/H100 1xH100 3.95"},
		{"local at last", "sandbox: {provider: [modal, local]}", "modal/cpu 0.14, local/local 0.00"},
		{"not asked", "sandbox: {provider: cloud, gpu: [T4, A100, H100]}", "cloud/ 1xA100-80GB, cloud/ 1xH100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := clouds(t).check(c.text)
			if got := short(r.Choices); got != c.want || r.Err() != nil {
				t.Errorf("got  %s (%v)\nwant %s", got, r.Err(), c.want)
			}
			if first := r.Choices[0]; r.Provider.Name != first.Provider.Name || r.GPU != first.GPU || r.Isolation != first.Isolation {
				t.Errorf("the report is not about its first choice: %+v", r)
			}
		})
	}
}

// TestEachHostIsAChoice takes the same GPU on another host of the user's as another choice, and
// two partitions of one cluster as one.
func TestEachHostIsAChoice(t *testing.T) {
	l := clouds(t)
	l.facts.Providers = append(l.facts.Providers, sdk.ProviderInfo{Name: "ssh", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureFree, sdk.FeatureRoutes}})
	l.facts.Offers["ssh"] = []sdk.Offer{
		{ID: "a/local-L4", GPU: "L4", Region: "a", Stock: sdk.StockHigh}, {ID: "b/local-L4", GPU: "L4", Region: "b", Stock: sdk.StockHigh}, {ID: "b/other", GPU: "L4", Region: "b", Stock: sdk.StockHigh},
	}
	var got []string
	for _, c := range l.check("sandbox: {provider: ssh, gpu: L4}").Choices {
		got = append(got, c.Offer.ID)
	}
	if strings.Join(got, " ") != "a/local-L4 b/local-L4" {
		t.Errorf("%v", got)
	}
}

func TestSkippedOffersAreKept(t *testing.T) {
	l := clouds(t)
	l.facts.Offers["runpod"] = slices.Repeat(l.facts.Offers["runpod"], 2) // asked once for each GPU
	r := l.check("sandbox: {provider: [runpod, modal], gpu: [H100, B200], max_price: 3}")
	var got []string
	for _, s := range r.Skipped {
		got = append(got, fmt.Sprintf("%s %s %s: %s", s.Provider, s.GPU, s.Offer.ID, s.Reason))
	}
	for _, want := range []string{
		"runpod H100 h-pcie: is not free now",
		"runpod H100 h-nvl: costs $3.19 an hour, more than max_price $3.00",
		"modal H100 H100: costs $3.95 an hour, more than max_price $3.00",
		"modal B200 : has no B200",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if slices.Sort(got); len(slices.Compact(got)) != len(r.Skipped) {
		t.Errorf("something is there twice: %q", got)
	}
}

func TestNoChoice(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		code             sdk.Code
	}{
		{"unknown GPU", "sandbox: {provider: modal, gpu: H101}", "sandbox.gpu: provider `modal` has no H101; it has H100, A100-40GB, A100-80GB", ""},
		{"unknown GPU of a cloud that lists none", "sandbox: {provider: runpod, gpu: H101}", "sandbox.gpu: provider `runpod` has no H101; it has H100-NVL, H100-SXM, H100-PCIE, A100-80GB-SXM", ""},
		{"out of stock", "sandbox: {provider: runpod, gpu: H100-PCIE}", "sandbox.gpu: provider `runpod` has no H100-PCIE free now; try again later, or name another GPU or provider", sdk.NoCapacity},
		{"too dear", "sandbox: {provider: runpod, gpu: H100, max_price: 2.5}", "sandbox.max_price: provider `runpod` has no H100 that would do: H100-SXM costs $2.99 an hour, more than max_price $2.50; raise it, or name another GPU or provider", ""},
		{"too dear everywhere", "sandbox: {provider: [runpod, modal], gpu: H100, max_price: 1}", "sandbox.max_price: no machine is available: runpod has no H100 that would do: H100-SXM costs $2.99 an hour, more than max_price $1.00; modal has no H100 that would do: H100 costs $3.95 an hour, more than max_price $1.00; look at what the providers offer", ""},
		{"several reasons", "sandbox: {provider: [runpod, modal], gpu: [H100-PCIE, A100-80GB], max_price: 1}", "sandbox.gpu: no machine is available: runpod has no H100-PCIE free now; modal has no H100-PCIE that would do", sdk.NoCapacity},
		{"budget for nothing", "sandbox: {provider: modal, gpu: H100, budget: 0.05}", "sandbox.budget: provider `modal` has no H100 that would do: H100 uses up the budget of $0.05 within a minute, at $3.95 an hour; raise it", ""},
		{"budget without a price", "sandbox: {provider: cloud, gpu: H100, budget: 5}", "sandbox.budget: provider `cloud` has no H100 that would do: H100 has no known price", ""},
		{"limit without a price", "sandbox: {provider: cloud, gpu: H100, max_price: 5}", "sandbox.max_price: provider `cloud` has no H100 that would do: H100 has no known price", ""},
		{"another number of GPUs", "sandbox: {provider: runpod, gpu: H100-NVL, gpu_count: 2}", "sandbox.gpu: provider `runpod` has no H100-NVL that would do: H100-NVL has gpu_count 1, not 2", ""},
		{"refused", "sandbox: {provider: broke, gpu: H100}", "sandbox.provider: provider `broke` cannot be asked for its offers: the token is wrong", sdk.Unauthorized},
		{"nothing at all", "sandbox: {provider: empty}", "sandbox.provider: provider `empty` has nothing that fits; ask for less, or use another provider", ""},
		{"only GPUs", "sandbox: {provider: gpus}", "sandbox.provider: provider `gpus` has only machines with a GPU; set sandbox.gpu to one of L4, T4, or use another provider", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := clouds(t)
			l.facts.Providers = append(l.facts.Providers, sdk.ProviderInfo{Name: "broke", Features: []sdk.Feature{sdk.FeatureSelfEnd}},
				sdk.ProviderInfo{Name: "empty", Features: []sdk.Feature{sdk.FeatureSelfEnd}},
				sdk.ProviderInfo{Name: "gpus", Features: []sdk.Feature{sdk.FeatureSelfEnd}})
			l.facts.OfferErrors = map[string]error{"broke": sdk.Errorf(sdk.Unauthorized, "the token is wrong")}
			l.facts.Offers["empty"] = nil
			l.facts.Offers["gpus"] = []sdk.Offer{{ID: "a", GPU: "L4"}, {ID: "b", GPU: "T4"}, {ID: "c", GPU: "L4"}}
			err := l.check(c.text).Err()
			want := l.dir + "/e.yaml:1: " + c.want
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got  %v\nwant %s", err, want)
			}
			if code := sdk.CodeOf(err); c.code != "" && code != c.code || c.code == "" && code != sdk.Internal {
				t.Errorf("code %s, want %q", code, c.code)
			}
		})
	}
}

func TestAProviderThatCannotBeAskedIsLeftOut(t *testing.T) {
	l := clouds(t)
	l.facts.OfferErrors = map[string]error{"runpod": sdk.Errorf(sdk.Unauthorized, "RUNPOD_API_KEY is not set")}
	r := l.check("sandbox: {provider: [runpod, modal], gpu: [H100, A100-80GB]}")
	if r.Err() != nil || short(r.Choices) != "modal/H100 1xH100 3.95, modal/A100-80GB 1xA100-80GB 2.50" {
		t.Errorf("got %s, %v", short(r.Choices), r.Err())
	}
	if w := r.Warnings(); len(w) != 1 || !strings.Contains(w[0].Error.Error(), "e.yaml:1: sandbox.provider.0: provider `runpod` is left out: cannot be asked for its offers: RUNPOD_API_KEY is not set") {
		t.Errorf("warnings %v", w)
	}
}

// TestClosedNetwork lets a provider without isolations close the network of a machine if it says
// that it can, and not limit it to hosts.
func TestClosedNetwork(t *testing.T) {
	l := clouds(t)
	l.facts.Providers = append(l.facts.Providers, sdk.ProviderInfo{Name: "pods", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureFree, sdk.FeatureNoNetwork}})
	l.facts.Offers["pods"] = []sdk.Offer{{ID: "cpu", Region: "lab"}}
	if err := l.check("sandbox: {provider: pods, network: none}").Err(); err != nil {
		t.Error(err)
	}
	if err := l.check("sandbox: {provider: pods, network: [example.org]}").Err(); err == nil || !strings.Contains(err.Error(), "provider `pods` cannot limit the sandbox to a list of hosts") {
		t.Error(err)
	}
}

// hosts is a provider of computers that have the sandboxes of this one.
var hosts = sdk.ProviderInfo{Name: "hosts", Features: []sdk.Feature{sdk.FeatureSelfEnd, sdk.FeatureFree, sdk.FeatureImageFiles},
	Isolations: []sdk.Isolation{{Name: "auto", Usable: true}, {Name: "none", Usable: true}}}

// What a provider cannot do is found before anything is rented.
func TestAbilities(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"wild", "sandbox: {provider: wild}", "sandbox.provider: provider `wild` cannot end its machines by itself: a forgotten one costs money until you end it; use another provider, or allow one that is unguarded"},
		{"second of a list", "sandbox: {provider: [modal, wild]}", "sandbox.provider.1: provider `wild` cannot end its machines by itself"},
		{"too long", "sandbox: {provider: modal, timeout: 2d}", "sandbox.timeout: provider `modal` keeps a machine for 24h at most; make it shorter"},
		{"host network", "sandbox: {provider: runpod, network: host}", "sandbox.network: `host` is the network of this computer, and provider `runpod` rents another one; set network: open, or provider: local"},
		{"host ports", "sandbox: {provider: runpod, host_ports: [8000]}", "sandbox.host_ports: they are ports of this computer, and provider `runpod` rents another one; remove the key, or set provider: local"},
		{"network", "sandbox: {provider: runpod, network: none}", "sandbox.network: provider `runpod` cannot keep the sandbox off the network; set network: open, or use another provider"},
		{"network of hosts", "sandbox: {provider: runpod, network: [example.org]}", "sandbox.network: provider `runpod` cannot limit the sandbox to a list of hosts; set network: open, or use another provider"},
		{"isolation", "sandbox: {provider: [local, modal], isolation: bubblewrap}", "sandbox.isolation: provider `modal` has its own isolation; remove the key"},
		{"snapshot", "sandbox: {provider: runpod, image: {snapshot: x}}", "sandbox.image.snapshot: provider `runpod` has no snapshots; use image.base, or another provider"},
		{"snapshot of a cloud here", "sandbox: {image: {snapshot: im-x}}", "sandbox.image.snapshot: `im-x` is not a system that was saved on this computer; such a name begins with local:sha256:; name the provider"},
		{"image without isolation", "sandbox: {isolation: none, image: {base: debian:12}}", "sandbox.image: without isolation a sandbox has the file system of this computer; set sandbox.isolation to auto, or remove the key"},
		{"image of a host here", "sandbox: {image: {base: /images/a.sif}}", "sandbox.image.base: provider `local` takes images of registries, and this is a path; name an image of a registry"},
		{"image of a host in a cloud", "sandbox: {provider: modal, image: {base: /images/a.sif}}", "sandbox.image.base: provider `modal` takes images of registries, and this is a path"},
		{"image without isolation elsewhere", "sandbox: {provider: hosts, isolation: none, image: {base: /images/a.sif}}", "sandbox.image: without isolation a sandbox of provider `hosts` has the file system of its machine; set sandbox.isolation to auto, or remove the key"},
		{"commands in an image elsewhere", "sandbox: {provider: hosts, image: {base: 'debian:12', commands: [ls]}}", "sandbox.image.commands: provider `hosts` does not let a sandbox change the system of its machines"},
		{"Python of an image elsewhere", "sandbox: {provider: hosts, image: {base: /images/a.sif}, python_version: '3.12'}", "sandbox.python_version: provider `hosts` takes an image as it is"},
		{"system packages here", "sandbox: {system_packages: [git, jq]}", "sandbox.system_packages: isolation `bubblewrap` does not let a sandbox change the system; gvisor does, which does not work here: runsc is not installed; set sandbox.isolation to gvisor, name an image that has it in image.base, or use another provider"},
		{"commands here", "sandbox: {isolation: none, image: {commands: [ls]}}", "sandbox.image.commands: isolation `none` does not let a sandbox change the system; gvisor does"},
		{"a share of a GPU in a cloud", "sandbox: {provider: modal, gpu: H100, gpu_share: 4}", "sandbox.gpu_share: provider `modal` rents whole GPUs; remove gpu_share, or use another provider"},
		{"volumes here", "sandbox: {volumes: [{name: a, path: /data}]}", "sandbox.volumes: provider `local` has no volumes; remove the key"},
		{"two Pythons", "sandbox: {provider: runpod, image: {base: 'debian:12'}, python_version: '3.11'}", "sandbox.python_version: provider `runpod` takes an image as it is, with the Python that it has; remove image.base or python_version"},
		{"options of nobody", "sandbox: {provider: modal, provider_options: {modal: {a: 1}}, models: [./none]}", "sandbox.models.0: there is no `DIR/none`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := clouds(t)
			l.facts.Providers = append(l.facts.Providers, sdk.ProviderInfo{Name: "wild"}, hosts)
			l.refuses(c.text, c.want)
		})
	}
}

func TestWhatACloudCanDoIsAccepted(t *testing.T) {
	l := clouds(t)
	for _, text := range []string{
		"sandbox: {provider: [runpod, modal], system_packages: [git], python_packages: [torch], image: {base: 'debian:12', commands: [ls]}}",
		"sandbox: {provider: [runpod, modal], python_version: '3.12', volumes: [{name: w, path: /models}]}",
		"sandbox: {provider: modal, image: {snapshot: im-1}, timeout: 1d}",
		"sandbox: {provider: modal, image: {base: 'debian:12'}, python_version: '3.12'}",
		"sandbox: {image: {}}",
		"sandbox: {image: {snapshot: 'local:sha256:" + strings.Repeat("a", 80) + "'}}",
	} {
		if err := l.check(text).Err(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestUnguarded(t *testing.T) {
	l := clouds(t)
	l.facts.Providers = append(l.facts.Providers, sdk.ProviderInfo{Name: "wild"})
	l.facts.Unguarded = true
	r := l.check("sandbox: {provider: wild}")
	if r.Err() != nil || len(r.Warnings()) != 1 || !strings.Contains(r.Warnings()[0].Message, "cannot end its machines by itself") {
		t.Errorf("got %+v", r.Findings)
	}
}

func TestWhatHasNoEffectHereIsSaid(t *testing.T) {
	r := clouds(t).check("sandbox: {cpu: 2, memory: 4, disk: 10, region: eu}")
	if r.Err() != nil || len(r.Warnings()) != 2 { // cpu and memory are limits
		t.Errorf("got %+v", r.Findings)
	}
}

// An override may name a provider that does not exist, and options for it.
func TestOptionsOfAnUnknownProvider(t *testing.T) {
	l := clouds(t)
	exp, err := experiment.Parse([]byte("sandbox: {provider_options: {rumpod: {a: 1}}}"), l.dir+"/e.yaml", experiment.LoadOptions{Set: []string{"sandbox.provider=runpod"}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := preflight.Check(t.Context(), exp, l.facts)
	if err != nil || report.Err() == nil || !strings.Contains(report.Err().Error(), "e.yaml:1: sandbox.provider_options.rumpod: there is no provider `rumpod`; did you mean runpod? known are cloud, local, modal, runpod") {
		t.Errorf("got %v, %v", report.Err(), err)
	}
}
