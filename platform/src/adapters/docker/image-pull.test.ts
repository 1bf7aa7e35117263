/** How many bytes have arrived, according to an engine's reports of a pull. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import type { Arrived } from "../../ports/compute/images.ts";
import type { EngineApi } from "./engine-api.ts";
import { pullImage } from "./image-pull.ts";

const layer = (id: string, status: string, current?: number, total?: number) => ({
  ...{ id, status },
  ...(current !== undefined && { progressDetail: { current, total } }),
});

test("every report tells what came: sizes as they get known, whole layers, and when the rest is unpacking", async () => {
  const reports = [
    { id: "3", status: "Pulling from library/alpine" },
    layer("a", "Pulling fs layer"),
    layer("b", "Already exists"),
    layer("c", "Waiting"),
    layer("a", "Downloading", 10, 80),
    layer("a", "Download complete"),
    layer("c", "Downloading", 5, 20),
    layer("a", "Extracting", 1, 80),
    layer("c", "Verifying Checksum"),
  ];
  const api = {
    stream: async () =>
      Readable.from(reports.map((report) => `${JSON.stringify(report)}\n`)) as unknown as IncomingMessage,
    call: async () => ({ Id: "sha256:here" }),
  };
  const told: Arrived[] = [];
  await pullImage(api as unknown as EngineApi, {
    ...{ image: "alpine:3", clock: new FakeClock(), progress: () => {} },
    arrived: (arrived) => told.push(arrived),
  });
  expect(told.slice(3).map(({ bytes, total, isAll }) => [bytes, total, isAll])).toEqual([
    [0, 0, false],
    [10, 80, false],
    [80, 80, false],
    [85, 100, false],
    [85, 100, false],
    [100, 100, true],
  ]);
});
