/** Vitest's global setup of the "kubernetes" project: a cluster that is there, with the image of the tests on its nodes. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { imageFolder } from "./docker-engine.ts";

declare module "vitest" {
  interface ProvidedContext {
    kubeconfig: string;
  }
}

export const KUBERNETES_IMAGE = process.env.MILLRACE_TEST_KUBERNETES_IMAGE ?? "millrace.test/program:1";
const CLUSTER = fileURLToPath(new URL("../../scripts/kubernetes/cluster.sh", import.meta.url));

const run = promisify(execFile);

export default async function setup(project: TestProject): Promise<void> {
  const kubeconfig = process.env.MILLRACE_TEST_KUBECONFIG;
  if (!kubeconfig) throw new Error("Kubernetes tests need a cluster: npm run test:kubernetes [file]");
  project.provide("kubeconfig", kubeconfig);
  if (process.env.MILLRACE_TEST_KUBERNETES_IMAGE !== undefined) return;
  await using folder = await imageFolder();
  await run(CLUSTER, ["image", folder.path, KUBERNETES_IMAGE, '["/bin/node"]']);
}
