/** The text about a server that shuts down. */
import { expect, test } from "vitest";
import { endingText } from "./under-way.ts";

test.each([
  [{ jobs: 0, workers: 0, pods: 0 }, "ending; no job is in progress and no worker runs. Ctrl-C"],
  [
    { jobs: 1, workers: 1, pods: 1 },
    "ending; waiting for 1 job in progress, which may end or go back to the queue, and for 1 worker of this machine to end. " +
      "1 Pod goes on without the server. Ctrl-C",
  ],
  [
    { jobs: 0, workers: 3, pods: 2 },
    "ending; waiting for 3 workers of this machine to end. 2 Pods go on without the server. Ctrl-C",
  ],
  [undefined, "ending; waiting for requests and workers of this machine. Ctrl-C"],
])("%o", (under, said) => {
  expect(endingText(under)).toMatch(said);
});
