// Adds a bearer token to every request, for clients that know no authorization.
// usage: node authorize.mjs TARGET TOKEN_FILE; its own port is its first line.
import { readFileSync } from "node:fs";
import http from "node:http";

const [target, tokenFile] = process.argv.slice(2);
const token = readFileSync(tokenFile, "utf8").trim();
const { hostname, port } = new URL(target);

const server = http.createServer((req, res) => {
  const out = http.request(
    { hostname, port, path: req.url, method: req.method, headers: { ...req.headers, authorization: `Bearer ${token}` } },
    (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    },
  );
  out.on("error", () => res.destroy());
  res.on("close", () => out.destroy());
  req.pipe(out);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
