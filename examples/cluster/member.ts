/** One member of a cluster: each sends its number to rank 0, which adds them up and tells everybody the sum. */
import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

const { MASTER_ADDR: host = "", MASTER_PORT, NODE_RANK, NUM_NODES } = process.env;
const [port, rank, members] = [Number(MASTER_PORT), Number(NODE_RANK), Number(NUM_NODES)];
const own = rank + 1;

if (rank === 0) lead();
else await follow();

function lead(): void {
  const sockets: Socket[] = [];
  let sum = own;
  const server = createServer((socket) => {
    socket.once("data", (text) => {
      sum += Number(text);
      sockets.push(socket);
      if (sockets.length < members - 1) return;
      console.log(`rank 0: the sum is ${sum}`);
      for (const each of sockets) each.end(`${sum}`);
      server.close();
    });
  });
  server.listen(port, host);
}

/** Rank 0 may start later than the others. */
async function follow(): Promise<void> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await setTimeout(200);
    }
  }
}

async function ask(): Promise<void> {
  const socket = connect(port, host, () => socket.write(`${own}`));
  for await (const text of socket) console.log(`rank ${rank}: the sum is ${text}`);
}
