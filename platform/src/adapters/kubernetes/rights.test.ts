/** The driver's source names no resource of Kubernetes outside the table of rights, and the table none that the driver does not use. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RIGHTS, rightsFor, rulesFor } from "./rights.ts";

const driver = globSync("*.ts", { cwd: import.meta.dirname })
  .filter((file) => !file.includes(".test.") && !["rights.ts", "manifest.ts", "cluster-checks.ts"].includes(file))
  .map((file) => readFileSync(`${import.meta.dirname}/${file}`, "utf8"))
  .join("\n");

/** Words of paths in the source, such as `…/namespaces/${namespace}/secrets/${name}` or `everywhere("/api/v1", "pods")`. */
const KINDS =
  /\b(?:pods|nodes|secrets|services|configmaps|networkpolicies|events|namespaces|persistentvolumeclaims|leases|endpoints|serviceaccounts|jobs|deployments)\b/;

test("every resource in a path of the driver has a right, and every right is used", () => {
  const words = [...driver.matchAll(/[`"/}]([a-z]+)(?=[`"/])/g)].map(([, word]) => word!);
  const named = new Set(words.filter((word) => KINDS.test(word)));
  const parts = new Set([...driver.matchAll(/\/(log|exec|portforward|proxy)\b/g)].map(([, part]) => part!));
  const inTable = RIGHTS.map(({ resource }) => resource.split("/"));
  expect([...named].sort()).toEqual([...new Set(inTable.map(([name]) => name!))].sort());
  expect([...parts].sort()).toEqual([...new Set(inTable.flatMap(([, part]) => part ?? []))].sort());
});

test("with a namespace for each account all rights are the cluster's, since nobody knows the namespaces beforehand", () => {
  const { instances, cluster } = rulesFor({ perAccount: true, nodeUsage: false, claims: false });
  expect(instances).toEqual([]);
  expect(cluster).toContainEqual({ apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create"] });
  expect(cluster.filter(({ resources }) => resources[0] === "pods")).toHaveLength(2);
});

test("what lets its holder run programs everywhere is not asked for unless it is wanted", () => {
  const resources = (nodeUsage: boolean) =>
    rightsFor({ perAccount: false, nodeUsage, claims: true }).map(({ resource }) => resource);
  expect(resources(false)).not.toContain("nodes/proxy");
  expect(resources(true)).toContain("nodes/proxy");
});
