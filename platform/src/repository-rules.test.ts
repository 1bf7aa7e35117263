/** The rules of the repository can fail: each finds a violation in a tree of sample files. */
import { describe, expect, test } from "vitest";
import { libraries } from "../tests/repository-libraries.ts";
import { mayImport } from "../tests/repository-parts.ts";
import {
  comparedSentences,
  consoleWriters,
  dialectsUntested,
  environmentReaders,
  headWriters,
  importCircles,
  impureContract,
  impureModels,
  knownAdapters,
  mixedAdapters,
  needlessArrows,
  ownedKinds,
  reachesNode,
  realTimeAndChance,
  strayLibraries,
  tooLong,
  withoutOpening,
  wrongDirections,
} from "../tests/repository-rules.ts";
import { type SourceFile, sourceFile } from "../tests/source-tree.ts";
import { asyncListeners, errorsUnheard, promisesLetGo } from "../tests/unguarded-rules.ts";
import { unusedExports } from "../tests/unused-exports.ts";

/** Makes a tree of sample files from their texts. */
const tree = (sample: Record<string, string>): SourceFile[] =>
  Object.entries(sample).map(([path, text]) => sourceFile(path, text));

describe("the rules can fail:", () => {
  test("every way to import is seen, and a comment is none", () => {
    const text = `import a from "./a.ts";
import type { B } from "../b.ts";
import {
  c,
  type D,
} from "./c.ts";
export { e } from "./e.ts";
export type * from "./f.ts";
import "./g.ts";
const h = await import("./h.ts");
import { i } from "@millrace/platform/kernel/i.ts";
import { join } from "node:path";
// import { no } from "./no.ts";
/** import { no } from "./no.ts"; */
const path = "/v2/*"; const j = await import("./j.ts");`;
    expect(sourceFile("cli/src/x/y.ts", text).imports).toEqual([
      { to: "cli/src/x/a.ts", typeOnly: false },
      { to: "cli/src/b.ts", typeOnly: true },
      { to: "cli/src/x/c.ts", typeOnly: false },
      { to: "cli/src/x/e.ts", typeOnly: false },
      { to: "cli/src/x/f.ts", typeOnly: true },
      { to: "cli/src/x/g.ts", typeOnly: false },
      { to: "cli/src/x/h.ts", typeOnly: false },
      { to: "platform/src/kernel/i.ts", typeOnly: false },
      { to: "node:path", typeOnly: false },
      { to: "cli/src/x/j.ts", typeOnly: false },
    ]);
  });

  test("an import upwards, out of the platform, or from a part that the table does not know", () => {
    const sample = tree({
      "platform/src/kernel/a.ts": 'import type { S } from "../ports/store/store.ts";',
      "platform/src/jobs/b.ts": 'import { s } from "../resources/secrets/service.ts";',
      "platform/src/resources/c/service.ts": 'import { x } from "../../../../cli/src/main.ts";',
      "platform/src/extras/d.ts": "",
      "platform/src/resources/pods/service.ts": 'import { Booter } from "./running/booter.ts";',
      "platform/src/resources/pods/running/pods.ts": 'import { f } from "../../workers/running/fleet.ts";',
      "platform/src/guards/e.ts": 'import { fine } from "../kernel/a.ts"; import { also } from "./f.ts";',
      "platform/src/kernel/a.test.ts": 'import { anything } from "../main.ts";',
    });
    expect(wrongDirections(sample, mayImport)).toEqual([
      "platform/src/kernel/a.ts must not import platform/src/ports/store/store.ts",
      "platform/src/jobs/b.ts must not import platform/src/resources/secrets/service.ts",
      "platform/src/resources/c/service.ts must not import cli/src/main.ts",
      "platform/src/extras/d.ts: 'extras' has no line in the table of imports",
      "platform/src/resources/pods/service.ts must not import platform/src/resources/pods/running/booter.ts",
      "platform/src/resources/pods/running/pods.ts must not import platform/src/resources/workers/running/fleet.ts",
    ]);
  });

  test("an arrow of the table that no import needs", () => {
    const sample = tree({
      "platform/src/jobs/a.ts": 'import type { K } from "../kernel/k.ts";',
      "platform/src/jobs/a.test.ts": 'import { P } from "../ports/p.ts";',
    });
    expect(needlessArrows(sample, { kernel: [], jobs: ["kernel", "ports"] })).toEqual(["nobody needs jobs -> ports"]);
  });

  test("an adapter known to a service or the command line, but not to main.ts, a test or another adapter", () => {
    const adapter = 'import { S } from "@millrace/platform/adapters/sqlite/sqlite-store.ts";';
    const sample = tree({
      "platform/src/composition/app.ts": adapter,
      "cli/src/keys.ts": adapter,
      "platform/src/surfaces/x.ts": 'const { P } = await import("../adapters/postgres/pool.ts");',
      "platform/src/resources/workers/running/y.ts": 'import { D } from "../../../adapters/docker/docker-compute.ts";',
      "platform/src/main.ts": adapter,
      "platform/src/ports/store/store.conformance.ts": adapter,
      "platform/src/ports/store/memory-store.ts": adapter,
      "platform/src/resources/c/c.test.ts": adapter,
    });
    expect(knownAdapters(sample)).toEqual([
      "platform/src/composition/app.ts must not know the adapter platform/src/adapters/sqlite/sqlite-store.ts",
      "cli/src/keys.ts must not know the adapter platform/src/adapters/sqlite/sqlite-store.ts",
      "platform/src/surfaces/x.ts must not know the adapter platform/src/adapters/postgres/pool.ts",
      "platform/src/resources/workers/running/y.ts must not know the adapter platform/src/adapters/docker/docker-compute.ts",
    ]);
  });

  test("an adapter that knows another one, but not one that knows what they share, or itself", () => {
    const sample = tree({
      "platform/src/adapters/docker/a.ts":
        'import { b } from "../host/bridge.ts"; import { m } from "../machine/links.ts";',
      "platform/src/adapters/host/b.ts": 'import type { A } from "../docker/a.ts"; import { c } from "./c.ts";',
      "platform/src/adapters/machine/c.ts":
        'import { b } from "../host/b.ts"; import { f } from "../files/folder-files.ts";',
      "platform/src/adapters/new/d.ts": 'import { m } from "../machine/links.ts";',
      "platform/src/adapters/docker/a.real.test.ts": 'import { b } from "../host/b.ts";',
    });
    expect(mixedAdapters(sample)).toEqual([
      "platform/src/adapters/docker/a.ts must not import platform/src/adapters/host/bridge.ts",
      "platform/src/adapters/host/b.ts must not import platform/src/adapters/docker/a.ts",
      "platform/src/adapters/machine/c.ts must not import platform/src/adapters/host/b.ts",
    ]);
  });

  test("a circle of imports", () => {
    const sample = tree({
      "cli/src/a.ts": 'import "./b.ts";',
      "cli/src/b.ts": 'import type { C } from "./c.ts";',
      "cli/src/c.ts": 'import "./b.ts"; import "./d.ts";',
      "cli/src/d.ts": "",
    });
    expect(importCircles(sample)).toEqual(["cli/src/b.ts -> cli/src/c.ts -> cli/src/b.ts"]);
  });

  test("a model that imports more than the kernel, a contract that reaches a service or Node", () => {
    const sample = tree({
      "platform/src/resources/a/model.ts": 'import { hash } from "node:crypto";',
      "platform/src/resources/a/operations.ts":
        'import { A } from "./model.ts";\nimport { B } from "../b/service.ts";\nimport { c } from "../../kernel/c.ts";',
      "platform/src/contract.ts":
        'import { s } from "./resources/a/service.ts";\nimport { o } from "./resources/a/operations.ts";',
    });
    expect(impureModels(sample)).toEqual([
      "platform/src/resources/a/model.ts must be pure, but imports node:crypto",
      "platform/src/resources/a/operations.ts must be pure, but imports platform/src/resources/b/service.ts",
    ]);
    expect(impureContract(sample)).toEqual([
      "platform/src/contract.ts must not import platform/src/resources/a/service.ts",
    ]);
    expect(reachesNode(sample, "platform/src/contract.ts")).toEqual(["platform/src/contract.ts reaches node:crypto"]);
  });

  test("a library named elsewhere", () => {
    const sample = tree({
      "platform/src/resources/a/service.ts": 'import { Ajv2020 } from "ajv/dist/2020.js";',
      "platform/src/kernel/validate.ts": 'import { Ajv2020 } from "ajv/dist/2020.js";\nimport f from "ajv-formats";',
      "cli/src/x.ts": 'import Type from "typebox";',
    });
    expect(strayLibraries(sample, libraries)).toEqual([
      "platform/src/resources/a/service.ts must not import ajv/dist/2020.js",
      "cli/src/x.ts must not import typebox",
    ]);
  });

  test("real time, chance, the environment and the console, but not in words of a comment", () => {
    const text = "setTimeout(f, 1); const d = new Date(); Math.random(); process.env.X; console.log(1);";
    const sample = tree({
      "cli/src/keys.ts": text,
      "platform/src/jobs/engine.ts": text,
      "platform/src/kernel/clock.ts": text,
      "worker/src/clock.ts": "setTimeout(f, 1);",
      "worker/src/loop.ts": "setTimeout(f, 1); process.env.X;",
      "worker/src/main.ts": "process.env.X;",
      "platform/src/main.ts": "/** Date.now() */\nprocess.env; // console.log, Date.now\nconst newDate = 1;",
      "platform/src/jobs/engine.test.ts": text,
      "scripts/x.ts": text,
      "bench/x.ts": text,
    });
    expect(realTimeAndChance(sample)).toEqual([
      "cli/src/keys.ts uses setTimeout",
      "cli/src/keys.ts uses new Date",
      "cli/src/keys.ts uses Math.random",
      "platform/src/jobs/engine.ts uses setTimeout",
      "platform/src/jobs/engine.ts uses new Date",
      "platform/src/jobs/engine.ts uses Math.random",
      "worker/src/loop.ts uses setTimeout",
    ]);
    expect(environmentReaders(sample)).toEqual([
      "cli/src/keys.ts uses process.env",
      "platform/src/jobs/engine.ts uses process.env",
      "platform/src/kernel/clock.ts uses process.env",
      "worker/src/loop.ts uses process.env",
    ]);
    expect(consoleWriters(sample)).toEqual([
      "platform/src/jobs/engine.ts uses console.log",
      "platform/src/kernel/clock.ts uses console.log",
    ]);
  });

  test("a head that is written elsewhere, and not in the one place", () => {
    const text = "response.writeHead(200); response.statusMessage = x;";
    const sample = tree({ "platform/src/surfaces/http/head.ts": text, "platform/src/surfaces/proxy/x.ts": text });
    expect(headWriters(sample)).toEqual([
      "platform/src/surfaces/proxy/x.ts uses .writeHead",
      "platform/src/surfaces/proxy/x.ts uses .statusMessage",
    ]);
  });

  test("a promise let go, an async listener or timer, an emitter whose errors nobody hears", () => {
    const sample = tree({
      "platform/src/a.ts": "void this.#look(); signals.listen(x, () => void duty?.soon()); function f(): void {}",
      "platform/src/b.ts": "const cut = () => void socket.destroy(); type F = () => void; return void (await x());",
      "platform/src/c.ts":
        'process.once("SIGTERM", async () => {}); clock.after(5, async () => {}); setImmediate(async () => {});',
      "platform/src/d.ts": 'const go = async () => {}; socket.on("data", (data) => take(data));',
      "platform/src/e.ts": 'import { spawn } from "node:child_process";\nspawn("x");',
      "platform/src/f.ts": 'import { spawn } from "node:child_process";\nspawn("x").on("error", failed);',
      "platform/src/g.ts": 'import { connect } from "./here.ts";\nconnect();',
      "platform/src/h.test.ts": "void nothing();",
    });
    expect(promisesLetGo(sample)).toEqual([
      "platform/src/a.ts lets go of what this.#look promises",
      "platform/src/a.ts lets go of what duty?.soon promises",
    ]);
    expect(asyncListeners(sample)).toEqual([
      "platform/src/c.ts gives once an async function",
      "platform/src/c.ts gives after an async function",
      "platform/src/c.ts gives setImmediate an async function",
    ]);
    expect(errorsUnheard(sample)).toEqual(["platform/src/e.ts hears no errors of its spawn"]);
  });

  test("a reason that is told apart by its words, but not by its code, its presence or a word of a driver", () => {
    const sample = tree({
      "platform/src/resources/workers/running/a.ts": 'if (step.reason.startsWith("no capacity")) go();',
      "platform/src/resources/pods/running/b.ts": 'return doc.reason?.text === "stopped by its owner";',
      "platform/src/jobs/c.ts":
        'if (reason.text.includes(FULL) || reason.code === "disk-full" || reason === undefined) go();',
      "platform/src/metering/d.ts": 'return error.reason === "missing" && !reason.includes("a b");',
      "platform/src/surfaces/e.ts": 'return error.reason === "key-taken";',
    });
    expect(comparedSentences(sample).map((line) => line.split(" ")[0])).toEqual([
      "platform/src/resources/workers/running/a.ts",
      "platform/src/resources/pods/running/b.ts",
      "platform/src/jobs/c.ts",
    ]);
  });

  test("a long file without a record, a record that is missing, and an exception that nobody needs", () => {
    const long = "x\n".repeat(401);
    const sample = tree({ "cli/src/a.ts": long, "cli/src/b.ts": long, "cli/src/c.ts": "x\n".repeat(400) });
    const record = "docs/decisions/0009-long.md";
    expect(tooLong(sample, { "cli/src/a.ts": record }, [record])).toEqual(["cli/src/b.ts has 401 lines"]);
    expect(
      tooLong(sample, { "cli/src/a.ts": record, "cli/src/b.ts": "gone.md", "cli/src/c.ts": record }, [record]),
    ).toEqual(["cli/src/b.ts has 401 lines", "cli/src/c.ts needs no exception"]);
  });

  test("an export that nobody imports, but not a type that its own file uses", () => {
    const sample = tree({
      "cli/src/a.ts": "export const a = 1;\nexport function b() {}\nexport type C = 1;\nexport type D = 1;\nlet d: D;",
      "cli/src/b.ts": 'export class E {}\nexport const f = 1;\nimport { x, type a as y } from "./a.ts";',
      "cli/src/c.test.ts": 'import * as all from "./b.ts";\nexport const g = 1;',
    });
    const unused = ["b", "C"].map((name) => `cli/src/a.ts exports ${name}, which nobody imports`);
    expect(unusedExports(sample)).toEqual(unused);
  });

  test("kinds of records that belong to an endpoint, by a field or by their name", () => {
    const sample = tree({
      "platform/src/a.ts": 'type A = { endpoint: string };\nconst a: Kept<A> = { kind: "a", v: 1 };',
      "platform/src/b.ts": "export type B = {\n  v: number;\n  endpoint?: string;\n};",
      "platform/src/c.ts":
        'export const b: Kept<B> = {\n  kind: "b",\n};\nconst n: Kept<N> = { kind: "endpoint-note" };',
      "platform/src/e.ts":
        'const e: Kept<E> = {\n  kind: "e",\n  listed: ({ owner, machine }) => ({ owner, machine }),\n};',
      "platform/src/d.ts": 'type D = { endpoints: string[] };\nconst d: Kept<D> = { kind: "d", v: 1 };',
    });
    expect(ownedKinds(sample, "endpoint")).toEqual(["a", "b", "endpoint-note", "e"]);
  });

  test("a flat dialect without its conformance", () => {
    const sample = tree({
      "platform/src/resources/a/flat.ts": "",
      "platform/src/resources/a/flat.test.ts": 'flatConformance("a", {});',
      "platform/src/resources/ab/flat.ts": "",
      "platform/src/resources/ab/model.ts": "",
    });
    expect(dialectsUntested(sample)).toEqual(["platform/src/resources/ab/flat.ts"]);
  });

  test("a file that opens with an import, a line comment, or less than a sentence", () => {
    const sample = tree({
      "a.ts": 'import "x";',
      "b.ts": "// A sentence.\n",
      "c.ts": "/** no sentence */\n",
      "d.ts": "/** A sentence. */\n",
    });
    expect(withoutOpening(sample)).toEqual(["a.ts", "b.ts", "c.ts"]);
  });
});
