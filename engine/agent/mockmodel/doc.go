// Package mockmodel is a scripted language model behind the interfaces that agents speak:
// Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent. It
// calls the tools that its script names, for every agent alike. Tests of agents and of their tools
// use it in place of a real model.
//
// The model keeps no conversation. Each request brings the whole of one, and the answers to the
// calls in it say how far the script is. So several agents can use one model at the same time.
package mockmodel
