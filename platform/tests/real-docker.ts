/** Vitest's global setup of the "docker" project: one real Docker engine for the whole run. */
import type { TestProject } from "vitest/node";
import { givenEngine, importImage, startEngine } from "./docker-engine.ts";

declare module "vitest" {
  interface ProvidedContext {
    dockerSocket: string;
  }
}

export const TEST_IMAGE = "millrace-test";
/** Workers in that image: one uses the worker library, one the public protocol. */
export const ECHO_WORKER = "/echo-worker.ts";
export const SMALL_WORKER = "/small-worker.mjs";

/** The socket of an existing engine to test with, instead of the tests' own. */
const GIVEN = process.env.MILLRACE_TEST_ENGINE;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using opened = new AsyncDisposableStack();
  const engine = GIVEN ? givenEngine(GIVEN) : opened.use(await startEngine());
  await importImage(engine, TEST_IMAGE);
  project.provide("dockerSocket", engine.socket);
  const ending = opened.move();
  return () => ending.disposeAsync();
}
