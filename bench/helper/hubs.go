package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakehub"
	"github.com/seer-engine/seer/engine/transfer"
)

// smallFile is how many bytes each file of org/small has.
const smallFile = 4 << 10

// models starts a hub: org/big has one file of as many bytes as the request says, org/small has
// 2,000 files, and org/llama is what a plan looks at. With a delay, all clients reach the hub
// through a proxy.
func (h *helper) models(ctx context.Context, r request) (any, error) {
	big, small := fakehub.Random(int64(r.Count), 1), map[string]fakehub.File{}
	for i := range manyFiles {
		small[fmt.Sprintf("part/%04d.json", i)] = fakehub.File{Content: fakehub.Random(smallFile, uint64(i+2))}
	}
	weights, err := llamaWeights()
	if err != nil {
		return nil, err
	}
	o := fakehub.Options{
		Limits: fakehub.Limits{API: 1 << 30, Resolvers: 1 << 30}, // the clients are measured, not the Hub's patience
		Repos: []fakehub.Repo{
			{ID: "org/big", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"model.safetensors": {Content: big, Kind: fakehub.Xet}}}}},
			{ID: "org/small", Commits: []fakehub.Commit{{Files: small}}},
			{ID: "org/llama", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
				"config.json": {Content: fakehub.Text(llama)}, "tokenizer.json": {Content: fakehub.Text("{}")},
				"model.safetensors": {Content: fakehub.Bytes(weights), Kind: fakehub.LFS},
			}}}},
		},
	}
	if r.Delay > 0 {
		o.Via = func(address string) (string, error) {
			p, err := newProxy(ctx, address, time.Duration(r.Delay*float64(time.Second)))
			if err != nil {
				return "", err
			}
			h.held = append(h.held, p.close)
			return p.address(), nil
		}
	}
	hub, err := fakehub.New(o)
	if err != nil {
		return nil, err
	}
	h.held = append(h.held, hub.Close)
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(big, 0, big.Size())); err != nil {
		return nil, err
	}
	return map[string]any{"env": hub.Env(), "sha256": hex.EncodeToString(sum.Sum(nil))}, nil
}

// move downloads one file with the engine's mover alone: this process does nothing else, so
// that its memory is the mover's.
func move(ctx context.Context, url, size, sum, dir string) error {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return err
	}
	f := transfer.File{Path: "got", Size: n, SHA256: sum, Source: transfer.Whole(url, nil, n)}
	return transfer.Download(ctx, []transfer.File{f}, transfer.Options{Dir: dir})
}

// llama is the configuration of a small model. Its weights have the header of one.
const llama = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 512,
"intermediate_size": 1024, "num_hidden_layers": 32, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 32000}`

// llamaWeights are safetensors of 32 layers.
func llamaWeights() ([]byte, error) {
	type tensor struct {
		DType   string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	header, end := map[string]tensor{}, int64(0)
	add := func(name string, shape ...int64) {
		size := int64(2)
		for _, n := range shape {
			size *= n
		}
		header[name] = tensor{"BF16", shape, [2]int64{end, end + size}}
		end += size
	}
	add("model.embed_tokens.weight", 32000, 512)
	for i := range 32 {
		layer := fmt.Sprintf("model.layers.%d.", i)
		add(layer+"self_attn.q_proj.weight", 512, 512)
		add(layer+"self_attn.k_proj.weight", 128, 512)
		add(layer+"self_attn.v_proj.weight", 128, 512)
		add(layer+"self_attn.o_proj.weight", 512, 512)
		add(layer+"mlp.gate_proj.weight", 1024, 512)
		add(layer+"mlp.up_proj.weight", 1024, 512)
		add(layer+"mlp.down_proj.weight", 512, 1024)
		add(layer+"input_layernorm.weight", 512)
		add(layer+"post_attention_layernorm.weight", 512)
	}
	add("model.norm.weight", 512)
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	all := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(all, text...), make([]byte, end)...), nil
}
