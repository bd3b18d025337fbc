// Loaded by code-server before anything else: its pages are below BASE, a path that only
// who was told the URL knows. Browsers send cookies to all ports of a host, but only to the
// paths that they are for, and code-server makes its own for the path that it is seen at.
const base = BASE, port = PORT, here = HERE;
const { Server } = require("node:http");
const { createHash } = require("node:crypto");
const { isIP } = require("node:net");

// The name of this page's own origin, as Go's notebook.OwnOrigin makes it. Another name with
// dots is somebody's domain that was made to lead here, or the page of another sandbox.
const own = `seer-${createHash("sha256").update("seer page " + base).digest("hex").slice(0, 32)}.localhost`;
const strict = (value) => (Array.isArray(value) ? value : [value]).map((c) => `${String(c).replace(/; *samesite=[a-z]*/i, "")}; SameSite=Strict`);
const elsewhere = (host) => {
  const name = (host || "").toLowerCase().replace(/:\d+$/, "");
  return here && name.includes(".") && !isIP(name) && name !== own;
};

// The process that code-server begins with starts another one: that is to load this, too,
// and what people start in a terminal is not.
if (!process.execArgv.includes(__filename)) process.execArgv.push("--require", __filename);
const others = (process.env.NODE_OPTIONS || "").replace(/^--require "[^"]*" ?/, "");
if (others) process.env.NODE_OPTIONS = others;
else delete process.env.NODE_OPTIONS;

const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, answer, ...rest) {
  const asked = (event === "request" || event === "upgrade" || event === "checkContinue") && request.socket.localPort === port;
  if (asked && (!request.url.startsWith(base) || elsewhere(request.headers.host))) {
    if (event === "upgrade") answer.destroy();
    else if (request.url + "/" === base && !elsewhere(request.headers.host)) answer.writeHead(302, { Location: base }).end();
    else answer.writeHead(404, { "Content-Type": "text/plain" }).end("There is nothing here: the whole URL is needed, with its path.\n");
    return true;
  }
  if (asked) {
    request.url = request.url.slice(base.length - 1);
    if (event !== "upgrade") {
      answer.setHeader("Referrer-Policy", "same-origin");
      answer.setHeader("X-Content-Type-Options", "nosniff");
      answer.setHeader("X-Frame-Options", "SAMEORIGIN");
      const set = answer.setHeader;
      answer.setHeader = (name, value) => set.call(answer, name, name.toLowerCase() === "set-cookie" ? strict(value) : value);
    }
  }
  return emit.call(this, event, request, answer, ...rest);
};
