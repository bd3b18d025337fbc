// Command modal-clients runs a fake Modal in the folder of its argument, until
// its standard input ends. It prints the variables that make clients use it, one
// NAME=VALUE a line, then an empty line.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	if len(os.Args) != 2 {
		return errors.New("usage: modal-clients FOLDER")
	}
	cloud := fakemodal.New(fakemodal.Options{Dir: os.Args[1], Logf: log.Printf})
	if err := cloud.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }()
	env := cloud.Env()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Printf("%s=%s\n", name, env[name])
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
