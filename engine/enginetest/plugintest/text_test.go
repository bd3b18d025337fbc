package plugintest_test

import (
	"bytes"
	"testing"

	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/sdk/sdktest"
)

func TestText(t *testing.T) {
	skipped := func(check, why string) sdktest.Result {
		return sdktest.Result{Check: check, Status: sdktest.Skipped, Detail: why}
	}
	var out bytes.Buffer
	err := plugintest.Text(&out, sdktest.Report{Plugin: "provider-tiny", Version: "1.0.0", Results: []sdktest.Result{
		{Check: "static/loads", Status: sdktest.Passed},
		{Check: "static/size", Status: sdktest.Passed, Detail: "39 KiB"},
		skipped("provider/create/arrives", "only go test can see it"),
		{Check: "provider/create/gives-machine", Status: sdktest.Failed, Detail: "renting a machine: no\nthe simulator refused the credential"},
		skipped("provider/create/once-again", "create/gives-machine failed"),
		skipped("provider/hostile/answer-lost", "create/gives-machine failed"),
		skipped("provider/hostile/status-401", "create/gives-machine failed"),
		skipped("provider/hostile/status-403", "create/gives-machine failed"),
	}})
	want := `failed    provider/create/gives-machine
          renting a machine: no
          the simulator refused the credential
left out  provider/create/arrives
          only go test can see it
left out  provider/create/once-again, provider/hostile/answer-lost, provider/hostile/status-401,
          provider/hostile/status-403
          create/gives-machine failed
noted     static/size
          39 KiB
provider-tiny 1.0.0 does not fulfil its contract: 2 passed, 1 failed, 5 left out
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}
