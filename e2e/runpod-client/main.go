// Command runpod-client runs a fake RunPod in the folder of its argument, until
// its standard input ends. It prints the variables that make clients use it, one
// NAME=VALUE a line, then an empty line.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: runpod-client FOLDER")
	}
	limits := []fakerunpod.Window{{Name: "minute", Quota: 1000, Length: time.Minute}}
	cloud, err := fakerunpod.New(fakerunpod.Options{Dir: os.Args[1], Limits: limits})
	if err != nil {
		return err
	}
	defer cloud.Close()
	control := httptest.NewServer(cloud.Control())
	defer control.Close()
	env := cloud.Env()
	env["CONTROL_URL"] = control.URL
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Printf("%s='%s'\n", name, env[name])
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
