// Package meter is an HTTP proxy between an agent and its language model. The agent has a token
// and the proxy's address; the proxy has the key. It counts tokens and dollars of each request
// while it passes the answer on, and stops at a budget.
//
// The path of a request decides its interface: …/messages is Anthropic's, …/responses and
// …/responses/compact are OpenAI's Responses, …/chat/completions, …/completions and …/embeddings
// have the usage of OpenAI's Chat Completions, and …:generateContent, …:streamGenerateContent,
// …:embedContent and …:batchEmbedContents are Gemini's. Questions that cost nothing pass
// uncounted: the list of models, and how many tokens a text has. Every other path gets a 404,
// because it could cost what the proxy cannot count, or show other data of the key's account.
//
// The proxy keeps no body in memory. It reads the usage out of requests and answers while they
// pass.
package meter
