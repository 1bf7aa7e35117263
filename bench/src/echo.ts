/** The baseline of all measurements: bare `node:http`, which parses the body and sends it back. */
import { createServer } from "node:http";

const { port } = JSON.parse(process.argv[2]!) as { port: number };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(port, "127.0.0.1", () => process.send!({ kind: "ready" }));
process.once("disconnect", () => process.exit(0));
