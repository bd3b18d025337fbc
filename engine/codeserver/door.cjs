// Loaded by code-server before anything else: its pages are below BASE, a path that only
// who was told the URL knows. Browsers send cookies to all ports of a host, but only to the
// paths that they are for, and code-server makes its own for the path that it is seen at.
const base = BASE, port = PORT;
const { Server } = require("node:http");

// The process that code-server begins with starts another one: that is to load this, too,
// and what people start in a terminal is not.
if (!process.execArgv.includes(__filename)) process.execArgv.push("--require", __filename);
const others = (process.env.NODE_OPTIONS || "").replace(/^--require "[^"]*" ?/, "");
if (others) process.env.NODE_OPTIONS = others;
else delete process.env.NODE_OPTIONS;

const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, answer, ...rest) {
  const asked = (event === "request" || event === "upgrade" || event === "checkContinue") && request.socket.localPort === port;
  if (asked && !request.url.startsWith(base)) {
    if (event === "upgrade") answer.destroy();
    else if (request.url + "/" === base) answer.writeHead(302, { Location: base }).end();
    else answer.writeHead(404, { "Content-Type": "text/plain" }).end("There is nothing here: the whole URL is needed, with its path.\n");
    return true;
  }
  if (asked) {
    request.url = request.url.slice(base.length - 1);
    if (event !== "upgrade") answer.setHeader("Referrer-Policy", "same-origin");
  }
  return emit.call(this, event, request, answer, ...rest);
};
