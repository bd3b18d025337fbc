// Package meter is an HTTP proxy between an agent and its language model. The agent has a token
// and the proxy's address; the proxy has the key. The proxy counts the tokens and dollars of each
// request while it forwards the answer, and refuses requests after the budget is spent.
//
// The path of a request decides its interface: …/messages is Anthropic's, …/responses and
// …/responses/compact are OpenAI's Responses, …/chat/completions, …/completions and …/embeddings
// have the usage of OpenAI's Chat Completions, and …:generateContent, …:streamGenerateContent,
// …:embedContent and …:batchEmbedContents are Gemini's. The proxy does not count free requests: the
// list of models, and the number of tokens of a text. Every other path gets a 404, because it could
// have a cost that the proxy cannot count, or show other data of the key's account.
//
// The proxy keeps no body in memory. It reads the usage from requests and answers while it forwards
// them.
package meter
