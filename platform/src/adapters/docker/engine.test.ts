/** The driver looks for the engine in all usual places. An engine that is absent, refuses or dies ends a request with an error. */
import { once } from "node:events";
import { link, mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { type Clock, FakeClock } from "../../kernel/clock.ts";
import { type Log, silentLog } from "../../kernel/log.ts";
import { realRandom } from "../../kernel/random.ts";
import { DriverAway, type InstanceSpec, ONLY_BOX, StartRefused } from "../../ports/compute/compute.ts";
import { INTERNET_ALONE } from "../../ports/compute/egress.ts";
import { VolumeFolders } from "../machine/volume-folders.ts";
import { containerName, label } from "./container.ts";
import { DockerCompute } from "./docker-compute.ts";
import { engineAddresses } from "./engine.ts";
import { EngineApi, EngineAway, EngineRefused, isNotFound, linesIn } from "./engine-api.ts";
import { pullImage } from "./image-pull.ts";

/** An engine that answers with the test's own handler. */
async function fakeEngine(answer: RequestListener) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-engine-"));
  const socket = join(folder, "engine.sock");
  const server = createServer(answer);
  server.listen(socket);
  await once(server, "listening");
  return {
    socket,
    /** A server removes its own socket as it ends. */
    end: () => promisify(server.close.bind(server))(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

test("the setting names the engine; `auto` looks where Docker and Podman are, and `off` nowhere", () => {
  expect(engineAddresses("off", { DOCKER_HOST: "unix:///x" })).toEqual([]);
  expect(engineAddresses("/my.sock", { DOCKER_HOST: "unix:///x" })).toEqual(["/my.sock"]);
  expect(engineAddresses("auto", { DOCKER_HOST: "unix:///x" })).toEqual(["unix:///x"]);
  expect(engineAddresses("auto", { XDG_RUNTIME_DIR: "/run/user/1" })).toEqual([
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/user/1/docker.sock",
    "/run/user/1/podman/podman.sock",
  ]);
});

const openAt = (addresses: string[], clock = new FakeClock(), log: Log = silentLog) =>
  DockerCompute.open({
    addresses,
    installation: "test",
    volumes: new VolumeFolders({ folder: "/nowhere", clock, random: realRandom }),
    egress: INTERNET_ALONE,
    clock,
    log,
  });

test("without an engine there are no instances to list, stop or remove and no capacity, and a start says what to install", async () => {
  await using compute = await openAt(["/no/docker.sock", "/no/podman.sock"]);
  expect(await compute.list()).toEqual([]);
  expect(await compute.capacity()).toEqual([]);
  expect(await compute.whyAway()).toEqual({ why: expect.stringContaining("/no/docker.sock"), isNone: true });
  await compute.stop("nobody", 0);
  await compute.remove("nobody");
  const refused = compute.preparing.prepare("alpine", ONLY_BOX, { progress: () => {} });
  await expect(refused).rejects.toBeInstanceOf(StartRefused);
  await expect(refused).rejects.toThrow(/install one.*\/no\/docker\.sock.*no such socket.*\/no\/podman\.sock/);
});

test("an engine that the settings name and that is away has no capacity yet, and starts wait for it", async () => {
  await using compute = await openAt(["/no/docker.sock"]);
  expect(await compute.capacity()).toEqual([]);
  // An empty list would say that nothing of it runs.
  await expect(compute.list()).rejects.toThrow("/no/docker.sock");
  expect(await compute.whyAway()).toEqual({ why: expect.stringContaining("/no/docker.sock"), isNone: false });
  await expect(compute.preparing.prepare("alpine", ONLY_BOX, { progress: () => {} })).rejects.toBeInstanceOf(
    DriverAway,
  );
});

test("starts wait for an engine that left its socket, and none is to be installed", async () => {
  await using engine = await fakeEngine(() => {});
  const left = `${engine.socket}.left`;
  await link(engine.socket, left);
  await engine.end();
  await using compute = await openAt([left, "/no/podman.sock"]);
  expect(await compute.whyAway()).toEqual({ why: expect.stringContaining("nobody listens there"), isNone: false });
});

test("an engine that is away is reported in the log once, however often it is looked for", async () => {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = { ...silentLog, warn: (_: object, text: string) => void lines.push(text) };
  await using _ = await openAt(["/no/docker.sock"], clock, log);
  for (let second = 0; second < 5; second++) {
    await idle();
    await clock.advance(1000);
  }
  expect(lines).toEqual(["the container engine is away"]);
});

test("images that are switched off are refused as such", async () => {
  await using compute = await openAt([]);
  await expect(compute.preparing.prepare("alpine", ONLY_BOX, { progress: () => {} })).rejects.toThrow(
    "MILLRACE_DOCKER=off",
  );
  expect(await compute.list()).toEqual([]);
});

test("a driver without an engine leaves no timer when it is let go", async () => {
  const clock = new FakeClock();
  const compute = await openAt(["/no/docker.sock"], clock);
  await compute[Symbol.asyncDispose]();
  expect(clock.waiting).toBe(0);
});

test("an address that is none is refused", () => {
  expect(() => new EngineApi("ftp://x")).toThrow("ftp://x");
});

test("an answer that breaks off is an error: nobody waits for the rest", async () => {
  await using engine = await fakeEngine((_, response) => {
    response.writeHead(200);
    response.write('{"half":', () => response.destroy());
  });
  await expect(new EngineApi(engine.socket).call("GET", "/x")).rejects.toBeInstanceOf(EngineAway);
  const lines = linesIn(await new EngineApi(engine.socket).stream("GET", "/x"));
  await expect(lines.next()).rejects.toBeInstanceOf(EngineAway);
});

test.each(["before", "within"])("an engine that hangs %s its answer is away, for those who only look", async (when) => {
  await using engine = await fakeEngine((_, response) => {
    if (when === "within") response.write('{"half":');
  });
  const call = new EngineApi(engine.socket).call("GET", "/x", { answerMs: 50 });
  await expect(call).rejects.toBeInstanceOf(EngineAway);
});

test("a refusal has the engine's own words", async () => {
  await using engine = await fakeEngine((_, response) => {
    response.writeHead(409);
    response.end(JSON.stringify({ message: "it is in use" }));
  });
  const refused = new EngineApi(engine.socket).call("GET", "/x");
  await expect(refused).rejects.toEqual(new EngineRefused(409, "it is in use"));
});

test("a container that Podman is removing is not found, whatever the status says", () => {
  expect(isNotFound(new EngineRefused(500, "container 12ab does not exist in database: no such container"))).toBe(true);
  expect(isNotFound(new EngineRefused(500, "no space left on device"))).toBe(false);
});

test("a query carries plain values and objects, and leaves out what is not given", async () => {
  const urls: string[] = [];
  await using engine = await fakeEngine(({ url }, response) => {
    urls.push(url!);
    response.end();
  });
  const query = { all: true, filters: { label: ["a=b"] }, since: undefined };
  await new EngineApi(engine.socket).call("GET", "/x", { query });
  expect(urls).toEqual(["/x?all=true&filters=%7B%22label%22%3A%5B%22a%3Db%22%5D%7D"]);
});

/** The state after a crash between creating a container and starting it, on a network whose bridge is not on this machine. */
const left: Record<string, unknown> = {
  "/info": { NCPU: 1, MemTotal: 1, DockerRootDir: "/" },
  "/version": {},
  "/containers/json": [],
  "/networks/millrace-test": {
    Id: "network",
    Options: { "com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": "mr-nowhere" },
    IPAM: { Config: [{ Subnet: "10.9.0.0/24", Gateway: "10.9.0.1" }] },
  },
  [`/containers/${containerName("pod1")}/json`]: {
    Id: "left",
    State: { Status: "created", Running: false },
    Config: { Labels: { [label.installation]: "test" } },
  },
};

test("a container that a crash left before its start is not started while nothing keeps it apart", async () => {
  const asked: string[] = [];
  await using engine = await fakeEngine(({ method, url }, response) => {
    const path = url!.split("?")[0]!;
    asked.push(`${method} ${path}`);
    if (path === "/events") return response.write("\n");
    const answer = left[path];
    response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer ?? { message: "no such thing" }));
  });
  await using compute = await openAt([engine.socket]);
  const limits = { vcpu: 1, memoryMb: 64, diskGb: 1 };
  const spec = {
    kind: "pod",
    account: "a",
    owner: "pod1",
    image: "alpine",
    entrypoint: [],
    cmd: [],
    env: {},
    ports: [],
  };
  const start = compute.start("pod1", { ...spec, limits } as InstanceSpec);
  await expect(start).rejects.toThrow("programs cannot be isolated from this machine");
  expect(asked).not.toContain("POST /containers/left/start");
});

/** A clock on which every reading takes a second. */
function slowClock(): Clock {
  const clock = new FakeClock();
  let elapsedMs = 0;
  return {
    now: () => clock.now(),
    after: (delayMs, action) => clock.after(delayMs, action),
    monotonic: () => (elapsedMs += 1_000),
  };
}

test("the progress of a pull is told in sum and every two seconds, however often the engine speaks", async () => {
  const report = (id: string, status: string, current = 0) =>
    `${JSON.stringify({ id, status, progressDetail: { current: current * 1e6, total: 4e6 } })}\n`;
  await using engine = await fakeEngine(({ url }, response) => {
    if (!url!.startsWith("/images/create?fromImage=image%3A1")) return response.end("{}");
    response.write(report("1", "Pulling from image") + report("a", "Downloading", 1) + report("b", "Downloading", 1));
    response.end(report("a", "Downloading", 4) + report("a", "Pull complete"));
  });
  const told: string[] = [];
  const progress = (line: string) => told.push(line);
  await pullImage(new EngineApi(engine.socket), { image: "image:1", progress, clock: slowClock() });
  expect(told).toEqual([
    "asking the registry",
    "0 of 1 layers, 1 MB of 4 MB",
    "0 of 2 layers, 5 MB of 8 MB",
    expect.stringMatching(/^done in [\d.]+ s$/),
  ]);
});

test("the error in a pull's report is its refusal, without the password", async () => {
  await using engine = await fakeEngine(({ headers }, response) => {
    const sent = Buffer.from(String(headers["x-registry-auth"]), "base64url").toString();
    const header = Buffer.from("reader:open-sesame").toString("base64");
    response.end(`${JSON.stringify({ error: `registry said: denied for ${sent}, Basic ${header}` })}\n`);
  });
  const credential = { username: "reader", password: "open-sesame" };
  const pull = { image: "registry.example/i", progress: () => {}, credential, clock: new FakeClock() };
  const refused = pullImage(new EngineApi(engine.socket), pull);
  await expect(refused).rejects.toThrow(/cannot pull registry\.example\/i: registry said: denied for .*reader/);
  await expect(refused).rejects.not.toThrow("open-sesame");
  await expect(refused).rejects.not.toThrow(Buffer.from("reader:open-sesame").toString("base64"));
});
