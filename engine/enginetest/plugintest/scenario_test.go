package plugintest_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// A life of a machine on a cluster, as the files of plugins say it.
const podScenario = `
scenarios:
  - name: life
    contexts: [{name: lab, namespace: agents}]
    kube:
      - {context: lab, method: POST, path: /api/v1/namespaces/agents/pods, body: {metadata: {name: seer-a}}, answers: [{status: 201, body: {}}]}
      - method: GET
        path: /api/v1/namespaces/agents/pods/seer-a
        answers:
          - body: {status: {phase: Pending, message: 0/3 nodes have a free GPU}}
          - body: {status: {phase: Pending, message: 0/3 nodes have a free GPU}}
          - body: {status: {phase: Running}}
          - error: {code: unavailable, message: the cluster lab does not answer}
      - {exec: {pod: seer-a, argv: [cat], stdin: hello}, answers: [{stdout: it runs, stderr: "really\n"}]}
      - {method: DELETE, path: "/api/v1/*/pods/seer-a", answers: [{body: {}}, {status: 404, body: {}}]}
    steps:
      - {call: describe, want: {name: pods}}
      - {call: offers, want: [{id: lab}]}
      - {call: create, input: {spec: {key: seer-a, owner: own-1, command: ["true"], port: 8717}}, want: {handle: seer-a}}
      - {call: offers, want: [{id: lab}, {id: used lab agents}]}
      - {call: observe, input: {handles: [seer-a]}, want: [{state: pending, message: "*free GPU"}], times: 2}
      - {call: observe, input: {handles: [seer-a]}, want: [{state: running, message: it runs really, endpoints: [{url: "route:"}]}]}
      - {call: route, input: {handle: seer-a, port: 8717}, want: {kube: {context: lab, namespace: agents, pod: seer-a, target: "tcp:8717"}}}
      - {call: route, input: {handle: "a/../b", port: 8717}, error: {code: internal, message: "*a route that this program does not know*"}}
      - {call: observe, input: {handles: [seer-a]}, error: {code: unavailable, message: the cluster lab does not answer}}
      - {call: list, input: {owner: agents}, error: {code: unauthorized, message: "*Secrets*"}}
      - {call: terminate, input: {handle: seer-a/exec}, error: {code: unauthorized, message: "*may not open streams*"}}
      - {call: terminate, input: {handle: "x/../../secrets/y"}, error: {code: invalid, message: "*not a plain path*"}}
      - {call: terminate, input: {handle: seer-a}}
      - {call: terminate, input: {handle: seer-a}, error: {code: not_found}}
  - name: no kubeconfig
    kube: []
    steps:
      - {call: create, input: {spec: {key: seer-a}}, error: {code: not_found, message: "*no contexts*"}}
`

// Each of these is wrong, and the report says where.
const wrongScenarios = `
scenarios:
  - name: another result
    steps:
      - {call: describe, want: {title: boxes}}
  - name: a failure that does not come
    steps:
      - {call: describe, error: {code: not_found}}
  - name: an answer that is missing
    contexts: [{name: lab}]
    steps:
      - {call: create, input: {spec: {key: seer-a}}}
  - name: an answer too many
    ssh: [{host: box, argv: ["true"], answers: [{}]}]
    steps:
      - {call: describe}
  - name: a wrong input
    steps:
      - {call: observe, input: {handles: 7}}
`

func parse(t *testing.T, text string) *plugintest.Config {
	t.Helper()
	c, err := plugintest.ParseConfig("conformance.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestScenarios(t *testing.T) {
	report, results := try(t, "pods", "provider-pods", plugintest.Options{Config: parse(t, podScenario)})
	for _, r := range report.Results {
		if r.Status == sdktest.Failed {
			t.Errorf("%s: %s", r.Check, r.Detail)
		}
	}
	for _, check := range []string{"scenario/life", "scenario/no kubeconfig", "provider/describe/answers"} {
		if results[check].Status != sdktest.Passed {
			t.Errorf("%s is %+v", check, results[check])
		}
	}
	if _, tried := results["provider/create/gives-machine"]; tried {
		t.Error("a machine was rented outside of the scenarios")
	}
}

func TestScenariosThatFail(t *testing.T) {
	_, results := try(t, "pods", "provider-pods", plugintest.Options{Config: parse(t, wrongScenarios)})
	for name, want := range map[string]string{
		"another result":               `steps.0 (describe): the result.title is "pods", and should be "boxes"`,
		"a failure that does not come": "wanted is the error not_found",
		"an answer that is missing":    "no entry answers POST /api/v1/namespaces/agents/pods of the context lab",
		"an answer too many":           "ssh.0 was not asked",
		"a wrong input":                "the input of the step is not what the contract says",
	} {
		if r := results["scenario/"+name]; r.Status != sdktest.Failed || !strings.Contains(r.Detail, want) {
			t.Errorf("%s: %+v, want %q", name, r, want)
		}
	}
}
