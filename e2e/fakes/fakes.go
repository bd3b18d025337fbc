// Package fakes has what the programs share that run a fake service for a script; see start.sh.
package fakes

import (
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
)

// Main runs a program whose one argument is a folder. The program ends with an error message if
// run fails.
func Main(name string, run func(dir string) error) {
	if len(os.Args) != 2 {
		log.Fatalf("usage: %s FOLDER", name)
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// PrintEnv prints the variables that make clients use a fake, one NAME='VALUE' a line, then an
// empty line.
func PrintEnv(env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Printf("%s='%s'\n", name, env[name])
	}
	fmt.Println()
}
