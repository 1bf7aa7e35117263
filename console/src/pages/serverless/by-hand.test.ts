/** The commands to try an endpoint's program by hand. */
import { expect, it } from "vitest";
import { byHand } from "./by-hand.ts";

const program = { id: "e1", type: "QUEUE", entrypoint: [], cmd: ["node", "worker.ts"], env: {} } as const;

it("runs a folder of the host where it is, with the variables of a worker", () => {
  const text = byHand({
    ...program,
    entrypoint: [],
    cmd: ["node", "-e", "console.log('x')"],
    image: "host:/srv/my app",
    env: { LEVEL: "debug", TOKEN: "{{ MILLRACE_SECRET_token }}" },
  });
  expect(text.split("\n")).toEqual([
    'eval "$(./millrace worker-env e1)"',
    "export LEVEL=debug",
    "export TOKEN='…'",
    "cd '/srv/my app'",
    `node -e 'console.log('\\''x'\\'')'`,
  ]);
});

it("runs an image with Docker, with its entrypoint and command", () => {
  const text = byHand({ ...program, entrypoint: ["python", "-u"], cmd: ["h.py"], image: "you/h:1", env: { A: "b" } });
  expect(text).toContain(
    "docker run --rm -it --network host --env-file worker.env -e A=b --entrypoint python you/h:1 -u h.py",
  );
});
