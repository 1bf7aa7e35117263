/** Invalid mounts of Pods and templates are refused in the request, and not only at the start. */
import { describe, expect, test } from "vitest";
import { GPU_POD, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

type World = Awaited<ReturnType<typeof setupPods>>;

const at = (path: string) => ({ mounts: { persistent: { size: 10, path } } });
const IN_CONTAINER = { ...GPU_POD, image: "busybox" };
const TEMPLATE = { name: "t", image: "busybox" };
const ON_HOST = "programs on the host have the machine's own /app";

async function refusal(world: World, method: string, path: string, body: object): Promise<string> {
  const { status, json } = await world.call(method, path, { body });
  expect([status, json.errors?.length]).toEqual([422, 1]);
  return json.errors[0];
}

async function made(world: World, path: string, body: object): Promise<Record<string, unknown> & { id: string }> {
  const { status, json } = await world.call("POST", path, { body });
  expect([status, json.errors]).toEqual([201, undefined]);
  return json;
}

describe("in a container", () => {
  test.each(["/app", "/usr/src/app", "/workspace/"])("%s can be mounted, and is read as it was sent", async (path) => {
    await using world = await setupPods({ machine: TWO_GPUS });
    expect(await made(world, "/v2/pods", { ...IN_CONTAINER, ...at(path) })).toMatchObject(at(path));
    expect(await made(world, "/v2/templates", { ...TEMPLATE, ...at(path) })).toMatchObject(at(path));
  });

  test("a driver is given the path without the slash at its end", async () => {
    await using world = await setupPods({ machine: TWO_GPUS });
    await world.create({ ...IN_CONTAINER, ...at("/workspace/") });
    expect(world.running()[0]!.spec.mounts).toMatchObject([{ path: "/workspace" }]);
  });

  test.each(["/proc/x", "/sys", "/dev/", "/x/..", "/a,source=/etc"])("422 for %j, in a template too", async (path) => {
    await using world = await setupPods({ machine: TWO_GPUS });
    for (const [route, body] of [["/v2/pods", IN_CONTAINER] as const, ["/v2/templates", TEMPLATE] as const])
      expect(await refusal(world, "POST", route, { ...body, ...at(path) })).toMatch(
        /^\$\.mounts\.persistent\.path: nothing can be mounted at /,
      );
  });
});

describe("on the host", () => {
  test("422 for the image's own folder, of a Pod, of a template, and of a Pod that gets both from a template", async () => {
    await using world = await setupPods({ machine: TWO_GPUS });
    expect(await refusal(world, "POST", "/v2/pods", { ...GPU_POD, ...at("/app") })).toContain(ON_HOST);
    const template = { ...TEMPLATE, ...at("/app") };
    expect(await refusal(world, "POST", "/v2/templates", { ...template, image: "host:/app" })).toContain(ON_HOST);
    const { id } = await made(world, "/v2/templates", template);
    expect(await refusal(world, "POST", "/v2/pods", { ...GPU_POD, templateId: id })).toContain(ON_HOST);
  });

  test("422 for a change that would bring a container's mount there, and none for any other change", async () => {
    await using world = await setupPods({ machine: TWO_GPUS });
    const template = `/v2/templates/${(await made(world, "/v2/templates", { ...TEMPLATE, ...at("/app") })).id}`;
    const pod = `/v2/pods/${(await made(world, "/v2/pods", { ...IN_CONTAINER, ...at("/app") })).id}`;
    for (const path of [template, pod]) {
      expect(await refusal(world, "PATCH", path, { image: "host:/app" })).toContain(ON_HOST);
      expect((await world.call("PATCH", path, { body: { name: "other" } })).status).toBe(200);
    }
  });

  test("422 for a network volume, which says which mount it is", async () => {
    await using world = await setupPods({ machine: TWO_GPUS });
    const body = { name: "data", size: 10, dataCenter: "EU-RO-1" };
    const { id: volumeId } = await made(world, "/v2/network-volumes", body);
    const mounts = { network: [{ volumeId, path: "/usr/lib" }] };
    expect(await refusal(world, "POST", "/v2/pods", { ...GPU_POD, mounts })).toBe(
      "$.mounts.network[0].path: nothing can be mounted at '/usr/lib': programs on the host have the machine's own /usr; choose a folder of its own, such as /workspace",
    );
  });

  test("422 for a place that the machine shows programs otherwise, at creation and in a change", async () => {
    const refusesImage = async (image: string, _: string, mounts: readonly string[] = []) =>
      image === "host:/app" && mounts.includes("/models")
        ? ({ code: "invalid", reason: "nothing can be mounted at '/models'" } as const)
        : undefined;
    await using world = await setupPods({ machine: TWO_GPUS, refusesImage });
    const said = "$.image: nothing can be mounted at '/models'";
    const onHost = { ...TEMPLATE, image: "host:/app" };
    for (const [route, body] of [["/v2/pods", GPU_POD] as const, ["/v2/templates", onHost] as const]) {
      expect(await refusal(world, "POST", route, { ...body, ...at("/models/") })).toBe(said);
      const { id } = await made(world, route, { ...body, ...at("/workspace") });
      expect(await refusal(world, "PATCH", `${route}/${id}`, at("/models"))).toBe(said);
    }
  });
});
