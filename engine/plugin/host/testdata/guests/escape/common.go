package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	pdk "github.com/extism/go-pdk"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

// What follows uses nothing of Seer's: any host of Extism has it.

func getByExtism(o order) (any, error) {
	return string(pdk.NewHTTPRequest(pdk.MethodGet, o.URL).Send().Body()), nil
}

func read(o order) (any, error) {
	b, err := os.ReadFile(o.Text)
	if err != nil {
		return nil, sdk.Errorf(sdk.Unauthorized, "%v", err)
	}
	return string(b), nil
}

// look gathers what a guest is told without asking for it.
func look(o order) (any, error) {
	value, has := pdk.GetConfig(o.Text)
	settings, err := guest.Settings()
	return map[string]any{"config": value, "has": has, "settings": settings, "failed": err != nil, "env": os.Environ(), "args": os.Args}, nil
}

var kept [][]byte

// grow takes as many MiB as it is told to.
func grow(o order) (any, error) {
	kept = nil
	runtime.GC()
	for range o.N {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	kept = nil
	return "has taken it", nil
}

var sink int64

// spin says that it has begun, and never waits: N rounds, or for ever.
func spin(o order) (any, error) {
	guest.Infof("begun")
	for i := int64(0); o.N == 0 || i < o.N; i++ {
		sink += i ^ sink
	}
	return "came to its own end", nil
}

func flood(o order) (any, error) {
	line := strings.Repeat("x", 1000)
	for range o.N {
		pdk.Log(pdk.LogWarn, line)
	}
	return "said all", nil
}

// uuid is what a guest takes for unique: a random number and the time.
func uuid(order) (any, error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	return fmt.Sprintf("%s %d", hex.EncodeToString(b), time.Now().UnixNano()), nil
}

var secret string

// remember gives what the call before it left behind.
func remember(o order) (any, error) {
	before := secret
	secret = o.Text
	return before, nil
}

func filled(n int64) string { return strings.Repeat("x", int(n)) }

func huge(o order) (any, error) { return filled(o.N << 20), nil }

func logText(o order) (any, error) {
	pdk.Log(pdk.LogWarn, o.Text)
	os.Stdout.WriteString(o.Text + "\n")
	return "said", nil
}

func fail(o order) (any, error) { return nil, sdk.Errorf(sdk.Unavailable, "%s", o.Text) }
