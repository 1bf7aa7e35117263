/** Endpoints that follow their template: what binds them, which edits reach them, and what ends it. */
import { describe, expect, test } from "vitest";
import { mortalStore } from "../../../tests/mortal-store.ts";
import { InterceptedStore, setup as setupWorld, type World, type WorldOptions } from "../../../tests/world.ts";
import type { Caller } from "../../kernel/caller.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import type { TemplateTerms } from "../templates/fields.ts";
import { type Binding, templateIdOf } from "./binding.ts";
import type { EndpointTerms } from "./fields.ts";
import { MOST_REACHED_BYTES } from "./followers.ts";

const SERVERLESS = { name: "t", image: "example/t:1", serverless: true, env: { A: "1" }, disk: 7 };
const OFFICIAL = "millrace-echo";
const FOLLOWS: Binding = { follows: true };
const REACHES = { reaches: true };

async function setup(options: WorldOptions = {}) {
  const world = await setupWorld(options);
  const { endpoints, templates } = world.services;
  const caller = callerOf(world);
  const template = (await templates.create(caller, SERVERLESS)).id;
  const read = (id: string) => endpoints.own(caller, id);
  const make = async (terms: EndpointTerms, binding = FOLLOWS) =>
    read((await endpoints.create(caller, terms, binding)).id);
  return {
    world,
    caller,
    template,
    endpoints,
    templates,
    follower: (name = "e", terms: EndpointTerms = {}) => make({ name, templateId: template, ...terms }),
    make,
    edit: (terms: TemplateTerms, options = REACHES) => templates.update(caller, template, terms, options),
    read,
    patch: (id: string, body: object) => world.call("PATCH", `/v2/serverless/${id}`, { body }),
    releasesOf: async (id: string) => (await world.call("GET", `/v2/serverless/${id}/releases`)).json.releases,
  };
}

const callerOf = ({ owner }: World, more: Partial<Caller> = {}): Caller => ({
  ...owner,
  ...{ key: "k", grants: ["all"], exempt: false },
  ...more,
});

describe("an edit of a template that reaches its followers", () => {
  test("reaches what follows it in the same commit, with a release for each", async () => {
    const store = new InterceptedStore();
    const { world, follower, edit, read, releasesOf } = await setup({ store });
    await using _ = world;
    const [a, b] = [await follower("a"), await follower("b")];
    const commits: string[][] = [];
    store.beforeCommit = (writes) => {
      commits.push(writes.map((write) => (write.do === "insert" ? write.record.kind : write.kind)));
    };
    await edit({ image: "example/t:2", args: "run" });
    store.beforeCommit = () => {};
    expect(commits).toEqual([["template", "endpoint", "release", "endpoint", "release"]]);
    for (const { id } of [a, b]) {
      expect((await read(id)).doc).toMatchObject({
        image: "example/t:2",
        cmd: ["run"],
        env: { A: "1" },
        follows: true,
      });
      expect((await releasesOf(id))[0]).toMatchObject({
        version: 2,
        diff: [
          { field: "template.imageName", old: "example/t:1", new: "example/t:2" },
          { field: "template.dockerArgs", old: "", new: "run" },
        ],
      });
    }
  });

  test.each<[string, TemplateTerms]>([
    ["its name", { name: "other" }],
    ["its readme", { readme: "# r" }],
    ["who sees it", { public: true }],
    ["storage of Pods", { mounts: { persistent: { size: 5, path: "/p" } } }],
    ["the container as it is", { image: SERVERLESS.image, env: SERVERLESS.env }],
  ])("makes no release for %s", async (_what, terms) => {
    const { world, follower, edit, read } = await setup();
    await using _ = world;
    const before = await follower();
    await edit(terms);
    expect(await read(before.id)).toEqual(before);
  });

  test("reaches nothing through REST v2, and what was said there comes with the next that reaches them", async () => {
    const { world, template, follower, edit, read } = await setup();
    await using _ = world;
    const made = await follower();
    const body = { image: "example/t:2" };
    expect((await world.call("PATCH", `/v2/templates/${template}`, { body })).status).toBe(200);
    expect(await read(made.id)).toEqual(made);
    await edit({ name: "renamed" });
    expect(await read(made.id)).toEqual(made);
    await edit({ disk: 9 });
    expect((await read(made.id)).doc).toMatchObject({ image: "example/t:2", disk: 9, release: 2 });
  });

  test("reaches no copy, and nothing of another account", async () => {
    const { world, caller, template, endpoints, templates, make, edit, read } = await setup();
    await using _ = world;
    const copied = await make({ templateId: template }, {});
    await templates.update(caller, template, { public: true });
    const stranger = callerOf(world, await world.services.accounts.create("other", "o@localhost"));
    const { id } = await endpoints.create(stranger, { templateId: template }, FOLLOWS);
    const theirs = await endpoints.own(stranger, id);
    expect(templateIdOf(theirs)).toBe(theirs.id);
    await edit({ image: "example/t:2" });
    expect(await read(copied.id)).toEqual(copied);
    expect(await endpoints.own(stranger, theirs.id)).toEqual(theirs);
  });

  test("is refused as a whole where one of them cannot have it, by its name", async () => {
    const { world, template, templates, caller, follower, edit, read } = await setup();
    await using _ = world;
    const [one, other] = [await follower("one"), await follower("other", { type: "LOAD_BALANCER" })];
    const why = `Endpoint 'other' (${other.id}), which follows this template, cannot have it: `;
    await expect(edit({ env: { PORT: "none" } })).rejects.toThrow(why);
    expect(await read(one.id)).toEqual(one);
    expect((await templates.visible(caller, template)).doc.env).toEqual(SERVERLESS.env);
  });

  test("needs a key that may change endpoints, if it reaches any", async () => {
    const { world, template, templates, follower } = await setup();
    await using _ = world;
    const editor = callerOf(world, { grants: ["templates:write"] });
    await templates.update(editor, template, { disk: 8 }, REACHES);
    await follower();
    const refused = templates.update(editor, template, { disk: 9 }, REACHES);
    await expect(refused).rejects.toMatchObject({
      code: "not-allowed",
      message: expect.stringContaining("serverless:write"),
    });
    await templates.update(editor, template, { name: "renamed" }, REACHES);
    await templates.update(editor, template, { disk: 9 });
  });

  test("reaches all of many, among copies of the template", async () => {
    const { world, template, make, follower, edit, read } = await setup();
    await using _ = world;
    const made: string[] = [];
    for (let i = 0; i < 45; i++) {
      made.push((await follower(`e${i}`)).id);
      await make({ name: `c${i}`, templateId: template }, {});
      await world.clock.advance(1);
    }
    await edit({ image: "example/t:2" });
    const images = await Promise.all(made.map(async (id) => (await read(id)).doc.image));
    expect(new Set(images)).toEqual(new Set(["example/t:2"]));
  });

  test("is refused where it would be more than a commit may be", async () => {
    const { world, follower, edit, read } = await setup();
    await using _ = world;
    const [made] = await Promise.all(Array.from({ length: 17 }, (_, i) => follower(`e${i}`)));
    const env = { LONG: "x".repeat(MOST_REACHED_BYTES / 32) };
    await expect(edit({ env })).rejects.toThrow("More follows this template than can be changed at once: 32 MiB");
    expect(await read(made!.id)).toEqual(made);
  });
});

describe("at the same moment", () => {
  test("edits all happen, and what follows is what the template is in the end", async () => {
    const { world, caller, template, templates, follower, edit, read } = await setup();
    await using _ = world;
    const made = await Promise.all(["a", "b", "c"].map((name) => follower(name)));
    await Promise.all(Array.from({ length: 6 }, (_, i) => edit({ image: `example/t:${i + 2}` })));
    const { image } = (await templates.visible(caller, template)).doc;
    for (const { id } of made) expect((await read(id)).doc).toMatchObject({ image, release: 7 });
  });

  test("a new follower has what the template is edited to", async () => {
    const store = new InterceptedStore();
    const { world, follower, edit } = await setup({ store });
    await using _ = world;
    store.beforeCommit = async (writes) => {
      if (!writes.some((write) => write.do === "insert" && write.record.kind === "endpoint")) return;
      store.beforeCommit = () => {};
      await edit({ image: "example/t:2" });
    };
    expect((await follower()).doc).toMatchObject({ image: "example/t:2", follows: true, release: 1 });
  });

  test("an endpoint that is bound by a change has it too, and one that is changed keeps both", async () => {
    const store = new InterceptedStore();
    const { world, caller, template, endpoints, follower, edit, read } = await setup({ store });
    await using _ = world;
    const other = await endpoints.create(caller, { name: "o", image: "own", gpu: {} });
    const made = await follower();
    store.beforeCommit = async () => {
      store.beforeCommit = () => {};
      await edit({ image: "example/t:2" });
    };
    await endpoints.update(caller, other.id, { templateId: template }, FOLLOWS);
    expect((await read(other.id)).doc).toMatchObject({ image: "example/t:2", follows: true });
    store.beforeCommit = async () => {
      store.beforeCommit = () => {};
      await endpoints.update(caller, made.id, { workers: { max: 9 } });
    };
    await edit({ image: "example/t:3" });
    expect((await read(made.id)).doc).toMatchObject({ image: "example/t:3", workers: { max: 9 }, follows: true });
  });

  test.each([true, false])(
    "a process killed at the commit leaves all of it or nothing (written: %s)",
    async (isWritten) => {
      const kept = new MemoryStore();
      const mortal = mortalStore(kept);
      const { world, template, caller, follower, edit } = await setup({ store: mortal.store });
      const ids = (await Promise.all(["a", "b", "c"].map((name) => follower(name)))).map(({ id }) => id);
      mortal.dieAfter(0, isWritten);
      void edit({ image: "example/t:2" });
      while (!mortal.isDead) await new Promise(setImmediate);
      await world.abandon();
      await using next = await setupWorld({ store: kept, found: world });
      const image = `example/t:${isWritten ? 2 : 1}`;
      const { endpoints, templates } = next.services;
      expect((await templates.visible(caller, template)).doc.image).toBe(image);
      for (const id of ids)
        expect((await endpoints.own(caller, id)).doc).toMatchObject({ image, release: isWritten ? 2 : 1 });
    },
  );
});

describe("the binding", () => {
  test("stays through changes of what is not the container, whoever makes them", async () => {
    const { world, template, caller, endpoints, follower, patch, read } = await setup();
    await using _ = world;
    const { id } = await follower();
    await patch(id, { workers: { max: 9 }, timeout: 6000, gpu: { count: 2 }, flashboot: "FLASHBOOT", name: "n" });
    await patch(id, { image: SERVERLESS.image });
    await endpoints.update(caller, id, { workers: { max: 8 } }, FOLLOWS);
    expect(templateIdOf(await read(id))).toBe(template);
  });

  test.each([{ image: "other" }, { env: {} }, { args: "x" }, { disk: 9 }, { ports: ["80/http"] }])(
    "ends with a change of the container through REST v2: %j",
    async (change) => {
      const { world, follower, edit, patch, read } = await setup();
      await using _ = world;
      const { id } = await follower();
      expect((await patch(id, change)).status).toBe(200);
      const free = await read(id);
      expect(templateIdOf(free)).toBe(id);
      await edit({ image: "example/t:2" });
      expect(await read(id)).toEqual(free);
    },
  );

  test("is to the template that was named last, and naming the one that is shown changes nothing", async () => {
    const { world, caller, template, endpoints, templates, follower, read } = await setup();
    await using _ = world;
    const made = await follower();
    const other = (await templates.create(caller, { ...SERVERLESS, name: "other", image: "example/o:1" })).id;
    await templates.update(caller, template, { disk: 30 });
    await endpoints.update(caller, made.id, { templateId: template }, FOLLOWS);
    expect(await read(made.id)).toEqual(made);
    await endpoints.update(caller, made.id, { templateId: other }, FOLLOWS);
    expect((await read(made.id)).doc).toMatchObject({
      template: other,
      follows: true,
      image: "example/o:1",
      release: 2,
    });
    await templates.update(caller, template, { disk: 31 }, REACHES);
    expect((await read(made.id)).doc.release).toBe(2);
  });

  test("is none where own words stand beside the template", async () => {
    const { world, follower } = await setup();
    await using _ = world;
    const own = await follower("own", { env: { B: "2" } });
    expect([templateIdOf(own), own.doc.env]).toEqual([own.id, { A: "1", B: "2" }]);
  });

  test("to an official one stays, and it is nobody's to edit", async () => {
    const { world, caller, endpoints, templates } = await setup();
    await using _ = world;
    const made = await endpoints.create(caller, { templateId: OFFICIAL }, FOLLOWS);
    expect(templateIdOf(made)).toBe(OFFICIAL);
    await expect(templates.update(caller, OFFICIAL, { disk: 9 }, REACHES)).rejects.toThrow("template not found");
  });

  test("keeps the template: it is not deleted, and the refusal names who follows", async () => {
    const { world, caller, template, templates, follower } = await setup();
    await using _ = world;
    const { id } = await follower("mine");
    await expect(templates.remove(caller, template)).rejects.toThrow(`in use by endpoint 'mine' (${id})`);
  });
});
