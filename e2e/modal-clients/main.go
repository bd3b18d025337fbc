// Command modal-clients runs a stand-in for Modal until its standard input ends. It
// prints the variables that make clients use it, one NAME=VALUE a line, then an empty
// line.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/seer-engine/seer/engine/enginetest/modalcloud"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	cloud := modalcloud.New(modalcloud.Options{Dir: os.Getenv("E2E_WORK"), Logf: log.Printf})
	if err := cloud.Start(); err != nil {
		return err
	}
	defer func() { err = cloud.Close() }()
	env := cloud.Env()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Printf("%s=%s\n", name, env[name])
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
	return err
}
