/** An application that answers with what HTTP does not allow, in the words of its request's path. */
import { createServer } from "node:net";

const ODD = {
  "/latin": "HTTP/1.1 200 caf\xe9\r\nContent-Length: 2\r\n\r\nok",
};

createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", (data) => {
    const path = data.toString("latin1").split(" ")[1];
    socket.end(Buffer.from(ODD[path] ?? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "latin1"));
  });
}).listen(Number(process.env.PORT));
