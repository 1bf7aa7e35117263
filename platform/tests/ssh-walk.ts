/** A Pod on a real server, reached with OpenSSH's own programs: the same walk on the host and in containers. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { millrace, temporaryFolder } from "./process.ts";
import { LOOK_MS, type ServerPlace, TRIES } from "./worker-place.ts";

interface Ended {
  code: number | null;
  out: string;
  errors: string;
}

/** The files on a person's own machine. */
interface Home {
  folder: string;
  /** The Pod's address, as its record shows it. */
  at: { host: string; port: number; username: string };
}

const KNOWN = "known_hosts";

/** The host key is stored under a name, since it belongs to the installation, whatever its port. */
const options = ({ folder }: Home, key: string, checking: "accept-new" | "yes") => [
  ...["-i", join(folder, key), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"],
  ...["-o", `UserKnownHostsFile=${join(folder, KNOWN)}`, "-o", "HostKeyAlias=millrace"],
  ...["-o", `StrictHostKeyChecking=${checking}`, "-F", "none"],
];

function begin(program: string, args: string[], input = ""): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(program, args, { stdio: "pipe" });
  child.stdin!.on("error", () => {});
  child.stdin!.end(input);
  const parts = [once(child, "close"), text(child.stdout!), text(child.stderr!)] as const;
  const ended = Promise.all(parts).then(([[code], out, errors]) => ({ code: code as number | null, out, errors }));
  return { child, ended };
}

class Person {
  readonly home: Home;

  constructor(home: Home) {
    this.home = home;
  }

  ssh(args: string[], { key = "mine", input = "", checking = "yes" as "yes" | "accept-new" } = {}) {
    const { at } = this.home;
    const to = ["-p", String(at.port), ...options(this.home, key, checking)];
    const [command, ...flags] = args.toReversed();
    const target = `${at.username}@${at.host}`;
    return begin("ssh", [...to, ...flags.toReversed(), target, ...(command === undefined ? [] : [command])], input);
  }

  run(command: string, more: Parameters<Person["ssh"]>[1] = {}): Promise<Ended> {
    return this.ssh([command], more).ended;
  }

  /** Paths in the Pod begin with a colon. */
  async scp(...args: string[]): Promise<void> {
    const { at } = this.home;
    const meant = args.map((arg) => (arg.startsWith(":") ? `${at.username}@${at.host}${arg}` : arg));
    const { ended } = begin("scp", ["-q", "-P", String(at.port), ...options(this.home, "mine", "yes"), ...meant]);
    expect(await ended).toEqual({ code: 0, out: "", errors: "" });
  }

  sftp(...commands: string[]): Promise<Ended> {
    const { at } = this.home;
    const to = ["-q", "-b", "-", "-P", String(at.port), ...options(this.home, "mine", "yes")];
    return begin("sftp", [...to, `${at.username}@${at.host}`], `${commands.join("\n")}\n`).ended;
  }
}

async function keyIn(folder: string, name: string): Promise<string> {
  const made = begin("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", join(folder, name)]);
  expect(await made.ended).toMatchObject({ code: 0 });
  return (await readFile(join(folder, `${name}.pub`), "utf8")).trim();
}

async function proxyOf(at: ServerPlace, pod: string): Promise<Home["at"]> {
  for (let tries = 0; ; tries++) {
    const { json } = await at.call("GET", `/v2/pods/${pod}`);
    if (json.status === "RUNNING" && json.ssh.proxy) return json.ssh.proxy;
    if (tries === TRIES || json.status === "ERROR") throw new Error(`it is not reached: ${JSON.stringify(json)}`);
    await stay(LOOK_MS);
  }
}

/** The Pod's program must answer `hello /path` on its HTTP port 8080. */
export async function walkBySsh(at: ServerPlace, program: { image: string; cmd: string[] }): Promise<void> {
  await using folder = await temporaryFolder();
  const mine = await keyIn(folder.path, "mine");
  await at.call("PUT", "/v2/account/ssh-keys", { keys: [mine] });
  const body = {
    ...program,
    name: "reached",
    env: { HELLO: "from the Pod" },
    ports: ["8080/http"],
    gpu: { id: "NVIDIA A40" },
  };
  const mounts = { persistent: { size: 10, path: "/workspace" } };
  const { id } = (await at.call("POST", "/v2/pods", { ...body, mounts })).json;
  const person = new Person({ folder: folder.path, at: await proxyOf(at, id) });

  // A command with separate streams, a signal, and a terminal.
  const first = await person.run('echo "$HELLO"; cat; echo wrong >&2; exit 7', {
    input: "sent",
    checking: "accept-new",
  });
  expect(first).toMatchObject({ code: 7, out: "from the Pod\nsent", errors: expect.stringMatching(/wrong\n$/) });
  expect((await person.run("kill -9 $$")).code).toBe(255);
  // In a container, the terminal gets its size a moment after the program starts.
  const { out } = await person.ssh([
    "-tt",
    'until s=$(stty size 2>/dev/null); [ -n "$s" ]; do sleep 0.05; done; echo "$s"; echo "$TERM"',
  ]).ended;
  expect(out.replaceAll("\r", "")).toMatch(/^24 80\n\S+\n/);

  await transfer(person);
  await forwardTo(person);

  // A key of someone else, and a key that was removed.
  const other = await keyIn(folder.path, "other");
  const team = await millrace(at.data, "accounts", "create", "team-a");
  await at.server.call("PUT", "/v2/account/ssh-keys", { key: team.key, body: { keys: [other] } });
  expect(await person.run("true", { key: "other" })).toMatchObject({
    code: 255,
    errors: expect.stringContaining("denied"),
  });
  await at.call("PUT", "/v2/account/ssh-keys", { keys: [mine, other] });
  expect((await person.run("true", { key: "other" })).code).toBe(0);

  // The server shuts down: open sessions are told, and the next server has the same host key.
  const open = person.ssh(["echo in; sleep 600"]);
  await once(open.child.stdout!, "readable");
  await at.restart("SIGTERM");
  expect(await open.ended).toMatchObject({ code: 255, errors: expect.stringContaining("the server ends") });
  person.home.at = await proxyOf(at, id);
  expect((await person.run("echo again")).out).toBe("again\n");

  // The same holds when the Pod ends.
  const last = person.ssh(["echo in; sleep 600"]);
  await once(last.child.stdout!, "readable");
  await at.call("POST", `/v2/pods/${id}/action`, { action: "terminate" });
  expect(await last.ended).toMatchObject({ code: 255, errors: expect.stringMatching(/is gone|TERMINATED/) });
}

async function transfer(person: Person): Promise<void> {
  const { folder } = person.home;
  const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => (n * 31) % 256));
  await mkdir(join(folder, "tree/deep"), { recursive: true });
  await writeFile(join(folder, "tree/deep/it's one"), bytes);
  await person.scp("-r", join(folder, "tree"), ":/workspace/tree");
  await person.scp("-r", ":/workspace/tree", join(folder, "back"));
  expect((await readFile(join(folder, "back/deep/it's one"))).equals(bytes)).toBe(true);
  const moved = await person.sftp(
    "cd /workspace/tree",
    'rename "deep/it\'s one" two',
    "rmdir deep",
    "ls -1",
    "df",
    "-rm none",
  );
  expect(moved).toMatchObject({ code: 0, errors: expect.stringContaining("No such file") });
  expect(moved.out).toContain("\ntwo");
  expect(moved.out).toMatch(/Avail.*\n.*\d%/);
  const counted = await person.run("wc -c </workspace/tree/two");
  expect(counted.out.trim()).toBe(String(bytes.length));
}

/** Finds a free port of this machine. */
async function freePort(): Promise<number> {
  const listener = createServer().on("error", () => {});
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as { port: number };
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

/** A program that listens only on the loopback, as editors' servers do, on a port of its own choice that the Pod does not name. */
const LISTENS = `require("http").createServer((request, response) => response.end("inside " + request.url)).listen(0, "127.0.0.1", function () { console.log(this.address().port) })`;

async function forwardTo(person: Person): Promise<void> {
  const [named, inside, socks] = [await freePort(), await freePort(), await freePort()];
  const server = person.ssh([`exec node -e '${LISTENS}'`]);
  const [data] = (await once(server.child.stdout!, "data")) as [Buffer];
  const port = Number(String(data));
  const flags = ["-L", `127.0.0.1:${named}:localhost:8080`, "-L", `127.0.0.1:${inside}:127.0.0.1:${port}`];
  const forward = person.ssh([...flags, "-D", `127.0.0.1:${socks}`, "echo on; sleep 600"]);
  await once(forward.child.stdout!, "readable");
  expect(await (await fetch(`http://127.0.0.1:${named}/x`)).text()).toBe("hello /x");
  expect(await (await fetch(`http://127.0.0.1:${inside}/x`)).text()).toBe("inside /x");
  for (const host of ["localhost", "127.0.0.1"]) expect(await askBySocks(socks, host, port)).toBe("inside /socks");
  for (const host of ["169.254.169.254", "0.0.0.0", "example.com"])
    expect(await askBySocks(socks, host, port)).toBe("");
  forward.child.kill();
  expect((await forward.ended).errors).toContain("only the Pod's own loopback is reached");
  server.child.kill();
  await server.ended;
}

/** Asks a host by name through `ssh -D` (SOCKS 5). Returns an empty text if no connection is made. */
async function askBySocks(socks: number, host: string, port: number): Promise<string> {
  const socket = connect(socks, "127.0.0.1");
  const whole = text(socket).catch(() => "");
  socket.write(Buffer.from([5, 1, 0]));
  socket.write(Buffer.from([5, 1, 0, 3, host.length, ...Buffer.from(host), port >> 8, port & 255]));
  socket.write("GET /socks HTTP/1.0\r\n\r\n");
  return (await whole).split("\r\n\r\n")[1] ?? "";
}
