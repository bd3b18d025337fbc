// Command runpod-client runs a fake RunPod in the folder of its argument, until
// its standard input ends. It prints the variables that make clients use it, one
// NAME=VALUE a line, then an empty line.
package main

import (
	"io"
	"net/http/httptest"
	"os"
	"time"

	"github.com/seer-engine/seer/e2e/fakes"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

func main() { fakes.Main("runpod-client", run) }

func run(dir string) error {
	limits := []fakerunpod.Window{{Name: "minute", Quota: 1000, Length: time.Minute}}
	cloud, err := fakerunpod.New(fakerunpod.Options{Dir: dir, Limits: limits})
	if err != nil {
		return err
	}
	defer cloud.Close()
	control := httptest.NewServer(cloud.Control())
	defer control.Close()
	env := cloud.Env()
	env["CONTROL_URL"] = control.URL
	fakes.PrintEnv(env)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
