/** An application on its own loopback that breaks most connections, each at a different moment. */
import { createServer } from "node:net";

const OK = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
let accepted = 0;

createServer((socket) => {
  const turn = accepted++ % 8;
  socket.on("error", () => {});
  if (turn % 2 === 1) return socket.resetAndDestroy();
  socket.once("data", () => {
    if (turn === 2) return socket.resetAndDestroy();
    if (turn === 4) return socket.write(OK, () => socket.resetAndDestroy());
    return socket.end(`${OK}ok`);
  });
}).listen(Number(process.env.PORT), "127.0.0.1");
