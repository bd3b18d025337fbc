package local

import "testing"

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(`{ "child-pid": 7, "pid-namespace": 4026532181 }` + "\n" + `{ "exit-code": 3 }`))
	f.Add([]byte(`{ "child-pid": 7`))
	f.Add([]byte(`[]{"child-pid":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) { parseStatus(data) })
}
