/** How documents are read before their blocks run. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { openBash } from "../../platform/tests/documents/bash.ts";
import { blocksIn, forgottenIn, stepsIn } from "./blocks.ts";
import { pages, root } from "./pages.ts";
import { differences } from "./pattern.ts";

const page = `# A page

\`\`\`sh
echo '{"a": 1}'
\`\`\`

It answers:

\`\`\`json
{"a": 1}
\`\`\`

<!-- not run: needs a GPU -->
\`\`\`sh
nvidia-smi
\`\`\`

\`\`\`ts
const a = 1;
\`\`\`
`;

test("blocks have their lines, and the reason why they do not run", () => {
  expect(blocksIn(page).map(({ line, language, "not run": reason }) => [line, language, reason])).toEqual([
    [4, "sh", undefined],
    [10, "json", undefined],
    [15, "sh", "needs a GPU"],
    [19, "ts", undefined],
  ]);
});

test("a shell block has the JSON block that comes next as its answer", () => {
  expect(stepsIn(page).map(({ code, answer }) => [code, answer?.code])).toEqual([
    [`echo '{"a": 1}'\n`, '{"a": 1}\n'],
    ["nvidia-smi\n", undefined],
  ]);
});

test.each(pages)("what runs the blocks of %s elsewhere is there, and knows the page", (path) => {
  const text = readFileSync(join(root, path), "utf8");
  for (const { code, line, "run by": by } of blocksIn(text)) {
    if (by === undefined) continue;
    const named = readFileSync(join(root, by), "utf8");
    // Either a test that reads the document, or the very program that the block shows.
    expect([`${path}:${line}`, named.includes(basename(path)) || named.trim() === code.trim()]).toEqual([
      `${path}:${line}`,
      true,
    ]);
  }
});

test("a block that is neither run nor marked is found", () => {
  expect(forgottenIn(page).map(({ line }) => line)).toEqual([19]);
  expect(forgottenIn("```js\n1;\n```\n").length).toBe(1);
  expect(forgottenIn("```\n$ ls\n```\n").length).toBe(1);
  expect(forgottenIn("```text\na\n```\n\n<!-- not run: a picture -->\n```js\n1;\n```\n")).toEqual([]);
});

test("a file is written for the blocks after it, and marks can stand together", () => {
  const [file, shell] = stepsIn(
    "<!-- file: ~/a.mjs -->\n```js\n1;\n```\n\n<!-- needs: aws -->\n<!-- ends after: ok -->\n```sh\nls\n```\n",
  );
  expect(file!.code).toBe("mkdir -p \"$(dirname ~/a.mjs)\"\ncat > ~/a.mjs <<'END OF FILE'\n1;\nEND OF FILE\n");
  expect(shell).toMatchObject({ code: "ls\n", needs: "aws", "ends after": "ok" });
});

test("an answer matches what is shown, and … matches anything", () => {
  const answer = { id: "job-1-u1", status: "COMPLETED", delayTime: 12, list: [1, 2, 3], more: { x: null } };
  for (const pattern of [
    JSON.stringify(answer),
    '{"id": "job-…-u1", "status": "COMPLETED", "delayTime": 999, "list": [1, …], "more": …}',
    '{"id": "…", …}',
    "…",
  ])
    expect([pattern, differences(pattern, answer)]).toEqual([pattern, []]);
});

test.each([
  ['{"a": 1}', { a: 2 }, ["$.a: 2 is not 1"]],
  ['{"a": 1}', { a: 1, b: 2 }, ["$.b: is not shown"]],
  ['{"a": 1, "b": 2, …}', { a: 1 }, ["$.b: is missing"]],
  ["[1, …]", [], ["$: has 0 items, not 1"]],
  ['{"a": "x…"}', { a: "yx" }, ['$.a: "yx" is not "x…"']],
  ['{"delayTime": 1}', { delayTime: "soon" }, ['$.delayTime: "soon" is not 1']],
])("%s does not match %j", (pattern, answer, wrong) => {
  expect(differences(pattern, answer)).toEqual(wrong);
});

test("blocks share one shell, and a command that fails is named", async () => {
  await using bash = await openBash("/", { PATH: process.env.PATH ?? "" });
  expect(await bash.run("name=mill\ncd tmp")).toEqual({ output: "", failed: "" });
  expect(await bash.run('echo "$name at $PWD"')).toEqual({ output: "mill at /tmp", failed: "" });
  expect(await bash.run("false\necho more")).toEqual({ output: "", failed: "failed: false\n" });
  expect(await bash.run("id=$(curl -s http://127.0.0.1:1 | cat)")).toMatchObject({
    failed: expect.stringContaining("curl"),
  });
});

test("a block that goes on is ended after the text that a reader waits for", async () => {
  await using bash = await openBash("/", { PATH: process.env.PATH ?? "" });
  expect(await bash.run("echo one; sleep 600", "one")).toEqual({ output: "one", failed: "" });
  expect(await bash.run("echo two", "one")).toMatchObject({ output: "two", failed: expect.stringContaining("grep") });
});
