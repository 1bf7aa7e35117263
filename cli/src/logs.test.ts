/** `millrace logs`, `ps`, `top` and `ssh`: what runs is found by id or name, read once or followed. */
import { expect, test } from "vitest";
import { runLine, startLine, written } from "../../platform/tests/cli-shell.ts";
import { setupFleet } from "../../platform/tests/fleet-world.ts";
import { setupPods } from "../../platform/tests/pod-world.ts";
import { EXIT } from "./failure.ts";

const envOf = ({ url, key }: { url: string; key: string }) => ({ MILLRACE_URL: url, MILLRACE_API_KEY: key });

test("the log of a Pod is read once, in lines or as JSON, or followed until Ctrl-C", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  world.running()[0]!.write("first\n");
  await world.settle();
  const env = envOf(world);
  expect((await runLine(env, "millrace logs box --source container")).out).toBe("first\n");
  expect(JSON.parse((await runLine(env, `millrace logs ${id} --source container --json`)).out)).toMatchObject({
    ...{ source: "container", line: "first" },
  });
  expect((await runLine(env, "millrace logs box --source container -t")).out).toMatch(/^\d{4}-\S+Z first\n$/);
  const { out, interrupt, ended, status } = startLine(env, "millrace logs box -f --tail 0");
  // Lines from before the stream was open are not among those that it asks for.
  await written(out, "second\n", () => {
    world.running()[0]!.write("second\n");
    return world.settle();
  });
  interrupt();
  expect([await ended, status(), out().includes("first")]).toEqual([undefined, EXIT.interrupted, false]);
});

test("the log of an endpoint is that of all its workers, and one worker or job has its own", async () => {
  await using world = await setupFleet({ rateLimits: "off" });
  const env = envOf(world);
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  worker!.instance.write("from the worker\n");
  await world.settle();
  const all = await runLine(env, "millrace logs echo --source container");
  expect(all.out).toBe(`${worker!.id} | from the worker\n`);
  for (const thing of [worker!.id, job, `${worker!.id} --endpoint echo`, `${job} --endpoint echo`])
    expect((await runLine(env, `millrace logs ${thing} --source container`)).out, thing).toBe("from the worker\n");
  await expect(runLine(env, "millrace logs nothing")).rejects.toMatchObject({ exitCode: EXIT.notFound });
  const waiting = await world.submit();
  await expect(runLine(env, `millrace logs ${waiting}`)).rejects.toThrow("no worker has run it yet");
});

test("ps lists Pods, endpoints and workers in one table, and top shows the same with queues", async () => {
  await using world = await setupFleet({ rateLimits: "off" });
  const env = envOf(world);
  const body = { name: "box", image: "host", cpu: { id: "cpu3c", vcpuCount: 2 } };
  const pod = (await world.call("POST", "/v2/pods", { body })).json.id;
  await world.submit();
  await world.settle();
  const [worker] = world.running().filter(({ id }) => !id.startsWith(pod));
  const { out } = await runLine(env, "millrace ps");
  const kinds = out
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/).slice(0, 2));
  expect(kinds.map(([kind]) => kind)).toEqual(["KIND", "pod", "endpoint", "worker"]);
  expect(kinds.slice(1, 3).map(([, id]) => id)).toEqual([pod, world.endpoint]);
  expect((await runLine(env, "millrace ps -q")).out.split("\n")).toContain(worker?.id ?? "");
  const view = (await runLine(env, "millrace top")).out;
  expect(view).toContain("1 jobs wait, 0 run on 1 workers; 1 of 1 Pods run");
  expect(view).toMatch(/Queues\nNAME/);
});

test("ps sends nothing to a load-balancing endpoint, which would start a worker for it", async () => {
  await using world = await setupFleet({ rateLimits: "off" });
  const body = { name: "app", type: "LOAD_BALANCER", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
  expect((await runLine(envOf(world), "millrace ps")).out).toContain("LOAD_BALANCER");
  await world.settle();
  expect((await world.call("GET", `/v2/serverless/${id}/workers`)).json.workers).toEqual([]);
});

test("top on a terminal uses the other screen, and leaves the terminal as it was", async () => {
  await using world = await setupPods();
  const { shell, out, stdin, ended } = startTop(world);
  await written(out, "0 of 0 Pods run");
  stdin.write("q");
  expect([await ended, shell.stdout.isTTY]).toEqual([undefined, true]);
  expect(out().startsWith("\x1b[?1049h\x1b[?25l")).toBe(true);
  expect(out().endsWith("\x1b[?25h\x1b[?1049l")).toBe(true);

  function startTop(at: { url: string; key: string }) {
    const started = startLine(envOf(at), "millrace top --interval 3600");
    const { stdout } = started.shell;
    Object.assign(stdout, { isTTY: true, columns: 100, rows: 20 });
    return started;
  }
});

test("a list is watched until Ctrl-C: in a pipe, only what changed is written", async () => {
  await using world = await setupPods();
  const { out, interrupt, ended, status } = startLine(envOf(world), "millrace pods list -q --watch 0.2");
  const { id } = await world.create();
  await written(out, id);
  interrupt();
  expect([await ended, status(), out()]).toEqual([undefined, EXIT.interrupted, `${id}\n`]);
});

test("ssh is run with the host, port and name of the Pod, or says why there is no way in", async () => {
  await using world = await setupPods();
  await world.create();
  await expect(runLine(envOf(world), "millrace ssh box --print")).rejects.toThrow("has no way in by SSH");
  await expect(runLine(envOf(world), "millrace ssh box --direct")).rejects.toThrow("publishes no port 22");
});
