/** An HTTP application for a load-balancing endpoint. It needs no library: it listens on PORT and answers health checks at /ping. */
import { createServer } from "node:http";

const port = Number(process.env.PORT ?? 8000);

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://here");
  const answer = (status: number, body: object) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (pathname === "/ping") return answer(200, {});
  if (pathname === "/hello") return answer(200, { hello: searchParams.get("name") ?? "stranger" });
  return answer(404, { error: `there is no ${pathname}` });
}).listen(port, () => console.log(`listening on port ${port}`));
