package callcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // to know their sizes
	_ "image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// callArguments reads --args and key=value pairs; the pairs may add to an object.
func callArguments(text string, pairs []string) (args []any, kwargs map[string]any, err error) {
	kwargs = map[string]any{}
	if text != "" {
		if args, kwargs, err = jsonArguments(text); err != nil {
			return nil, nil, err
		}
	}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, nil, cli.Usagef("%q is not of the form key=value; pass arguments by name, or by position with --args '[…]'", pair)
		}
		if _, twice := kwargs[key]; twice {
			return nil, nil, cli.Usagef("the argument %s is given twice", key)
		}
		if kwargs[key], err = argument(key, text); err != nil {
			return nil, nil, err
		}
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
		return nil, nil, cli.Usagef("--args must be a JSON object or list, as in --args '{\"word\": \"the\"}'")
	}
	kwargs := map[string]any{}
	for k, v := range object {
		kwargs[k] = v
	}
	return nil, kwargs, nil
}

// argument keeps JSON as it is written, so that large numbers stay exact.
func argument(key, text string) (any, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	id, handle := strings.CutPrefix(text, "@handle:")
	file, ok := strings.CutPrefix(text, "@")
	switch {
	case handle:
		info, err := json.Marshal(map[string]string{"id": id})
		return value.Handle{Info: info}, err
	case ok:
		v, err := fileArgument(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s; to pass the text itself, write '%s=%q'", file, key, text)
			return nil, &engine.Error{Kind: engine.KindNotFound, Err: err}
		}
		return v, err
	}
	return text, nil
}

// fileArgument is what a file holds, by the end of its name.
func fileArgument(file string) (any, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var v any = data
	switch strings.ToLower(filepath.Ext(file)) {
	case ".npy":
		v, err = readNPY(data)
	case ".json":
		v = json.RawMessage(data)
		if !json.Valid(data) {
			err = errors.New("it is not valid JSON")
		}
	case ".txt", ".md", ".py", ".csv":
		v = string(data)
		if !utf8.Valid(data) {
			err = errors.New("it is not UTF-8 text")
		}
	case ".png", ".jpg", ".jpeg":
		v, err = readImage(data)
	}
	if err != nil {
		return nil, &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the argument file %s cannot be passed: %w", file, err)}
	}
	return v, nil
}

func readImage(data []byte) (any, error) {
	c, format, err := image.DecodeConfig(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("it is not a readable image: %w", err)
	}
	return value.Image{Format: format, Width: c.Width, Height: c.Height, Data: data}, nil
}
