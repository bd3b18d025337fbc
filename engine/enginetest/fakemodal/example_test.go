package fakemodal_test

import (
	"fmt"
	"log"
	"os"

	"google.golang.org/grpc/codes"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
)

func Example() {
	cloud := fakemodal.New(fakemodal.Options{})
	if err := cloud.Start(); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = cloud.Close() }() // ends every machine
	for name, value := range cloud.Env() {
		if err := os.Setenv(name, value); err != nil {
			log.Fatal(err)
		}
	}
	// What reads MODAL_* now rents its machines here. Its answers get lost twice:
	err := cloud.SetFaults(fakemodal.Faults{Calls: []fakemodal.CallFault{
		{Method: "SandboxCreate*", AfterEffect: true, Code: codes.Unavailable, Times: 2},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range cloud.Machines() {
		if m.Billing {
			fmt.Println(m.ID, "still costs money")
		}
	}
	// Output:
}
