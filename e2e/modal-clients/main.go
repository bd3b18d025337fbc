// Command modal-clients runs a fake Modal in the folder of its argument, until
// its standard input ends. It prints the variables that make clients use it, one
// NAME=VALUE a line, then an empty line.
package main

import (
	"errors"
	"io"
	"log"
	"os"

	"github.com/seer-engine/seer/e2e/fakes"
	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
)

func main() { fakes.Main("modal-clients", run) }

func run(dir string) (err error) {
	cloud := fakemodal.New(fakemodal.Options{Dir: dir, Logf: log.Printf})
	if err := cloud.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }()
	fakes.PrintEnv(cloud.Env())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
