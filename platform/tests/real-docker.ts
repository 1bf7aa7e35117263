/** Vitest's global setup of the "docker" project: one real Docker engine for the whole run. */
import type { TestProject } from "vitest/node";
import { importImage, startEngine } from "./docker-engine.ts";

declare module "vitest" {
  interface ProvidedContext {
    dockerSocket: string;
  }
}

export const TEST_IMAGE = "millrace-test";
/** Workers in that image: one of the worker library, and one of the public protocol. */
export const ECHO_WORKER = "/echo-worker.ts";
export const SMALL_WORKER = "/small-worker.mjs";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engine = await startEngine();
  await importImage(engine, TEST_IMAGE);
  project.provide("dockerSocket", engine.socket);
  return async () => engine[Symbol.asyncDispose]();
}
