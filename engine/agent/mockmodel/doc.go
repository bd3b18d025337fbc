// Package mockmodel is a scripted language model behind the interfaces that agents speak:
// Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent. It
// calls the tools that its script names, in the same way for every agent. Tests of agents and of
// their tools use it in place of a real model.
//
// The model keeps no conversation. Each request contains the whole conversation, and its answers to
// calls determine the position in the script. So several agents can use one model at the same time.
package mockmodel
