/** An account that may run programs from the machine's folders names folders that it must not have. */
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { CPU, type Scene, type Stage } from "../stage.ts";

export const scenes: Scene[] = [
  {
    name: "an account asks for the machine's own folders",
    async attack(stage) {
      for (const folder of ["/", "/etc", "/proc", "/proc/1/root", "/run", "/dev/shm", stage.data, dirname(stage.data)])
        await expectRefused(stage, folder);
    },
  },
  {
    name: "an account asks for a folder with a socket, and for one below a closed folder",
    async attack(stage) {
      const folder = join(dirname(stage.data), "scene");
      const closed = join(folder, "closed");
      const open = join(closed, "open");
      await mkdir(open, { recursive: true });
      await chmod(folder, 0o755);
      await chmod(open, 0o755);
      await chmod(closed, 0o700);
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(join(folder, "socket"), resolve));
      try {
        await expectRefused(stage, folder);
        await expectRefused(stage, open);
      } finally {
        await new Promise((resolve) => server.close(resolve));
        await rm(folder, { recursive: true });
      }
    },
  },
];

async function expectRefused({ hostile }: Stage, folder: string): Promise<void> {
  const body = { name: "nosy", image: `host:${folder}`, cmd: ["cat", "environ"], ...CPU };
  const { status, text } = await hostile.call("POST", "/v2/serverless", body);
  if (status !== 422) throw new Error(`host:${folder} was answered with ${status}: ${text}`);
}
