package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

type callFlags struct {
	args       string
	connection string
	timeout    time.Duration
	raw        bool
}

func newCall(a *app) *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:   "call ID SERVICE.FUNCTION [key=value…]",
		Short: "Call a served function",
		Long: `Call a function and print its result as JSON. A value that is JSON is passed as
such, anything else as a string. --args takes all arguments as one JSON object, or
as a list of those that go by position.

With --connection, no sandbox is named: the file, which serve wrote, says where the
service is, and lets it be called from anywhere that it can be reached.

NaN and infinities are printed as the texts "NaN", "Infinity" and "-Infinity".
Ctrl-C and --timeout cancel the call in the sandbox too.`,
		Example: `  seer call lab model_tools.next_words word=the top=3
  seer call lab model_tools.next_words --args '{"word": "the"}'
  seer call --connection workspace/model_tools/connection.json next_words word=the`,
		Args:              f.check,
		ValidArgsFunction: a.completeCall,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.call(cmd.Context(), f, given) },
	}
	c.Flags().StringVar(&f.args, "args", "", "all arguments as one `JSON` object or list")
	c.Flags().StringVar(&f.connection, "connection", "", "the connection `FILE` of a service, instead of ID and SERVICE")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "cancel the call after this long, as in 90s or 5m")
	c.Flags().BoolVarP(&f.raw, "raw", "r", false, "print a string without quotes")
	return c
}

func (f *callFlags) check(cmd *cobra.Command, given []string) error {
	switch {
	case f.connection != "" && len(given) < 1:
		return usagef("seer call --connection needs a FUNCTION: seer call --connection FILE FUNCTION [key=value…]")
	case f.connection == "" && len(given) < 2:
		return usagef("seer call needs a sandbox and a function: %s", cmd.UseLine())
	case f.connection == "" && !strings.Contains(given[1], "."):
		return usagef("%q names no service; write SERVICE.FUNCTION, as in model_tools.%s", given[1], given[1])
	}
	return nil
}

func (a *app) call(ctx context.Context, f callFlags, given []string) error {
	pairs := given[1:]
	if f.connection == "" {
		pairs = given[2:]
	}
	args, kwargs, err := callArguments(f.args, pairs)
	if err != nil {
		return err
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	var value json.RawMessage
	if f.connection != "" {
		value, err = callConnection(ctx, f.connection, given[0], args, kwargs)
	} else {
		value, err = a.callService(ctx, given[0], given[1], args, kwargs)
	}
	if f.timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &engine.Error{Kind: engine.KindTimeout, Err: fmt.Errorf("the call took longer than %s and was cancelled", f.timeout)}
	}
	if err != nil {
		return err
	}
	return a.printValue(value, f.raw)
}

func (a *app) callService(ctx context.Context, ref, target string, args []any, kwargs map[string]any) (json.RawMessage, error) {
	s, err := a.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	name, fn, _ := strings.Cut(target, ".")
	service, err := s.Service(ctx, name)
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	return value, service.Call(ctx, fn, args, kwargs, &value)
}

// callConnection needs no engine: an agent that has nothing but the file can do it.
func callConnection(ctx context.Context, file, fn string, args []any, kwargs map[string]any) (json.RawMessage, error) {
	conn, err := protocol.ReadConnection(file)
	if err != nil {
		return nil, connectionError(err)
	}
	client, err := conn.Client()
	if err != nil {
		return nil, connectionError(err)
	}
	defer client.Close()
	value, err := client.Call(ctx, conn.Service, strings.TrimPrefix(fn, conn.Service+"."), args, kwargs)
	var down *protocol.Error
	if errors.As(err, &down) && down.Code == protocol.Unavailable {
		err = fmt.Errorf("%w; seer ls shows whether the sandbox %s still runs", err, conn.Sandbox)
	}
	return value, providerError(err)
}

func connectionError(err error) error {
	if engine.KindOf(err) == engine.KindNotFound {
		return err
	}
	return &engine.Error{Kind: engine.KindConfig, Err: err}
}

// callArguments reads --args and key=value pairs; the pairs may add to an object.
func callArguments(text string, pairs []string) (args []any, kwargs map[string]any, err error) {
	kwargs = map[string]any{}
	if text != "" {
		if args, kwargs, err = jsonArguments(text); err != nil {
			return nil, nil, err
		}
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, nil, usagef("%q is no key=value; arguments are passed by name, or by position with --args '[…]'", pair)
		}
		if _, twice := kwargs[key]; twice {
			return nil, nil, usagef("the argument %s is given twice", key)
		}
		kwargs[key] = argument(value)
	}
	return args, kwargs, nil
}

func jsonArguments(text string) ([]any, map[string]any, error) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) == nil && list != nil {
		args := make([]any, len(list))
		for i, v := range list {
			args[i] = v
		}
		return args, map[string]any{}, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, nil, usagef("--args must be a JSON object or list, as in --args '{\"word\": \"the\"}'")
	}
	kwargs := map[string]any{}
	for k, v := range object {
		kwargs[k] = v
	}
	return nil, kwargs, nil
}

// argument keeps JSON as it is written, so that large numbers stay exact.
func argument(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

func (a *app) printValue(value json.RawMessage, raw bool) error {
	plain, err := protocol.Plain(value)
	if err != nil {
		return err
	}
	var s string
	if raw && json.Unmarshal(plain, &s) == nil {
		return a.println(s)
	}
	var out bytes.Buffer
	if a.jsonOut {
		err = json.Compact(&out, plain)
	} else {
		err = json.Indent(&out, plain, "", "  ")
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(a.ui.stdout(), io.MultiReader(&out, strings.NewReader("\n")))
	return err
}
