/** The parts of the host driver that decide without touching the machine. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { addressOf, overlap, parseSubnet, subnetText } from "../../kernel/subnet.ts";
import { LONGEST_LINE, StartRefused } from "../../ports/compute/compute.ts";
import { folderIn, isInside } from "../machine/host-image.ts";
import { parseListeners } from "../machine/listeners.ts";
import { parseStat } from "../machine/processes.ts";
import { ruleset } from "./bridge-network.ts";
import { findGpus, parseCuda, parseNvidia, typeOf } from "./gpus.ts";
import { exitFrom } from "./instance-folder.ts";
import { cutLines, parsePosition, segmentWithin, shareOf } from "./output-file.ts";
import {
  environmentText,
  PATH,
  reachableNameServers,
  sandboxArguments,
  type View,
  withEnvironment,
} from "./sandbox.ts";
import { seccompFilter } from "./seccomp.ts";
import { chooseSubnet, LAST_INSTANCE, routedSubnets } from "./subnet.ts";

describe("addresses", () => {
  test("a range is chosen that touches no route of the machine", () => {
    const routes =
      "default via 192.0.2.1 dev eth0\n10.0.0.0/9 dev a\nlocal 10.128.0.1 dev lo\nunreachable 10.200.0.0/16\n";
    const used = routedSubnets(routes);
    expect(used.map(subnetText)).toEqual(["10.0.0.0/9", "10.128.0.1/32", "10.200.0.0/16"]);
    for (let seed = 0; seed < 20_000; seed += 97) {
      const subnet = chooseSubnet(used, seed)!;
      expect(used.some((one) => overlap(one, subnet))).toBe(false);
    }
    expect(subnetText(chooseSubnet(used, 0)!)).toBe("10.128.4.0/22");
    expect(chooseSubnet([parseSubnet("10.0.0.0/8")!], 5)).toBeUndefined();
  });

  test("every instance has an address inside the range, and none the last one, which is everybody's", () => {
    const subnet = parseSubnet("10.1.4.0/22")!;
    expect([addressOf(subnet, 1), addressOf(subnet, LAST_INSTANCE)]).toEqual(["10.1.4.1", "10.1.7.254"]);
  });

  test("rules let instances reach the opened ports of the gateway, and reject the rest of the machine", () => {
    const doors = [{ address: "10.2.3.4", port: 443 }];
    const egress = { reachable: ["10.9.0.0/16" as const], doors, nameServers: ["192.168.1.1"] };
    const text = ruleset("abc123", parseSubnet("10.1.4.0/22")!, {
      linkPorts: [7420, 8080],
      egress,
      published: { first: 20_000, last: 24_999 },
    });
    expect(text).toContain("elements = { 7420, 8080 }");
    expect(text).toMatch(
      /ip daddr 10\.1\.4\.1 tcp dport @link accept\n(.* dport (443|53) accept\n)+\s+iifname "mrabc123" reject/,
    );
    const accepts = ["ip daddr 10.9.0.0/16 accept", "ip daddr 10.2.3.4 tcp dport 443 accept"];
    for (const rule of accepts) expect(text.indexOf(rule)).toBeLessThan(text.indexOf("100.64.0.0/10"));
    expect(text).toContain("ip daddr 192.168.1.1 meta l4proto { tcp, udp } th dport 53 accept");
  });
});

describe("output", () => {
  const cut = (text: string, ended = false) => cutLines(Buffer.from(text), ended);

  test("what follows the last line end waits until the program has ended", () => {
    expect(cut("one\ntwo")).toEqual({ lines: ["one"], bytes: 4 });
    expect(cut("one\ntwo", true)).toEqual({ lines: ["one", "two"], bytes: 7 });
    expect(cut("", true)).toEqual({ lines: [], bytes: 0 });
    expect(cut("\n\n")).toEqual({ lines: ["", ""], bytes: 2 });
  });

  test("a line that is too long is cut between two characters, also when no end has come", () => {
    const { lines, bytes } = cut(`x${"ä".repeat(LONGEST_LINE)}`);
    expect(lines.join("")).toBe(`x${"ä".repeat(LONGEST_LINE)}`.slice(0, lines.join("").length));
    expect(bytes).toBeGreaterThan(LONGEST_LINE);
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(LONGEST_LINE);
  });

  test("bytes that are no text do not stop the reading", () => {
    const bytes = Buffer.alloc(3 * LONGEST_LINE, 0xff);
    expect(cutLines(bytes, true).bytes).toBe(bytes.length);
  });

  test("a position of an earlier version goes on or begins anew, and nonsense means the beginning", () => {
    expect(["512", "0:512", "3:512"].map(parsePosition)).toEqual([512, 512, 0]);
    for (const text of [undefined, "", "x", "x:y"]) expect(parsePosition(text)).toBe(0);
  });

  test("programs share the machine's part of the disk, and the next one always gets some", () => {
    const limits = { program: 12_000_000, machine: 200_000_000 };
    expect(segmentWithin(limits, 0)).toBe(4_000_000);
    let promised = 0;
    for (let n = 0; n < 40; n++) promised += shareOf(segmentWithin(limits, promised));
    expect(promised).toBeLessThan(limits.machine);
    expect(segmentWithin(limits, 10 * limits.machine)).toBe(65_536);
  });
});

describe("processes", () => {
  test("a process is known by its number and its start, whatever its name holds", () => {
    const after = `S 1 ${Array.from({ length: 17 }, (_, n) => n).join(" ")} 98765 0`;
    expect(parseStat(`42 (a) (b c) ${after}`)).toEqual({ pid: 42, startTime: "98765" });
    expect(parseStat("")).toBeUndefined();
    expect(parseStat("42 (x) S 1")).toBeUndefined();
  });

  test("a status above 128 names a signal, as shells tell it", () => {
    expect(exitFrom(137, 5)).toEqual({ code: null, signal: "SIGKILL", at: 5 });
    expect(exitFrom(3, 5)).toEqual({ code: 3, at: 5 });
    expect(exitFrom(255, 5)).toEqual({ code: 255, at: 5 });
  });

  test("who listens is read from the kernel's table, with the address by which it is reached", () => {
    const row = (address: string, state: string) => `  0: ${address} 00000000:0000 ${state} 0:0 00:0 0  0 0 777 1 0`;
    const text = ["header", row("0100007F:1F90", "0A"), row("00000000:0050", "0A"), row("0100007F:1F91", "01")].join(
      "\n",
    );
    expect(parseListeners(text)).toEqual([
      { host: "127.0.0.1", port: 8080, inode: "777" },
      { host: "127.0.0.1", port: 80, inode: "777" },
    ]);
    const six = parseListeners(row("00000000000000000000000001000000:1F90", "0A"));
    expect(six).toEqual([{ host: "0:0:0:0:0:0:0:1", port: 8080, inode: "777" }]);
  });
});

describe("images", () => {
  test("a folder is named by an absolute path, and other references need a container engine", () => {
    expect([folderIn("host"), folderIn("host:/srv/x")]).toEqual([undefined, "/srv/x"]);
    expect(() => folderIn("host:relative")).toThrow(StartRefused);
    expect(() => folderIn("python:3")).toThrow(/install Docker/);
  });

  test("a folder is inside itself and what holds it, by whole names", () => {
    expect(isInside("/a/b", "/a")).toBe(true);
    expect(isInside("/a", "/a")).toBe(true);
    expect(isInside("/ab", "/a")).toBe(false);
    expect(isInside("/a/..b", "/a")).toBe(true);
  });
});

test("a program begins in the folder that was looked at, and in none that took its place", () => {
  const [shell, ...args] = withEnvironment(["true"], { waits: false, app: "1:2" });
  const { status, stderr } = spawnSync(shell!, args, { encoding: "utf8" });
  expect([status, stderr]).toEqual([
    125,
    expect.stringContaining("the folder of the image was replaced while this started"),
  ]);
});

describe("variables", () => {
  test("they are quoted so that a shell takes them as they are", () => {
    expect(environmentText({ A: "it's $HOME `x`\n2" })).toBe("export A='it'\\''s $HOME `x`\n2'\n");
  });

  test.each(["dash", "bash"])("whatever their names are, a program of %s gets them", (shell) => {
    const env = { GOOD_1: "it's", UID: "5", SHELLOPTS: "none", "a.b": "c d", "-i": "", "1x": "$HOME" };
    const text = `${environmentText({ PATH, FIRST: "1", "f.g": "2" })}${environmentText(env)}exec "$@" env -0`;
    // Under the name `sh` Bash keeps to the rules of a plain shell.
    const { stdout, stderr } = spawnSync(shell, ["-c", text], { argv0: "sh", env: {}, encoding: "utf8" });
    expect(stderr).toBe("");
    const got = stdout.split("\0").filter((one) => !/^(PATH|PWD|SHLVL|_|OLDPWD)?(=|$)/.test(one));
    const all = { FIRST: "1", "f.g": "2", ...env };
    expect(got.toSorted()).toEqual(
      Object.entries(all)
        .map((pair) => pair.join("="))
        .toSorted(),
    );
  });

  test("name servers on loopback are of no use in a network of one's own", () => {
    expect(reachableNameServers("search x\nnameserver 127.0.0.53\n")).toBeUndefined();
    expect(reachableNameServers("nameserver 127.0.0.53\nnameserver 192.0.2.7\n")).toBe("nameserver 192.0.2.7\n");
  });
});

describe("the sandbox", () => {
  const view: View = {
    system: [],
    app: "/srv/x",
    appWritable: false,
    node: "/n/node",
    etc: { hosts: 10 },
    hostname: "i1",
    scratch: undefined,
    scratchBytes: 1_000,
    library: undefined,
    readable: [],
    mounts: [{ source: "/srv/volumes/v", path: "/mnt/deep/er" }],
    devices: ["/dev/nvidia3"],
    seccomp: 4,
    limitsScratch: true,
    asRoot: true,
  };
  const has = (given: View, ...words: string[]) => sandboxArguments(given).join(" ").includes(words.join(" "));

  test("the image is read-only unless it is said to be writable, and empty without a folder", () => {
    expect(has(view, "--ro-bind", "/srv/x", "/app")).toBe(true);
    expect(has({ ...view, appWritable: true }, " --bind", "/srv/x", "/app")).toBe(true);
    expect(has({ ...view, app: undefined }, "--dir", "/app")).toBe(true);
  });

  test("a volume is where it was asked for, and the folders on the way to it can be walked through", () => {
    expect(has(view, "--perms 0755 --dir /mnt --perms 0755 --dir /mnt/deep --bind /srv/volumes/v /mnt/deep/er")).toBe(
      true,
    );
  });

  test("everything is closed for writing after it was made", () => {
    const words = sandboxArguments(view);
    expect(words.lastIndexOf("--remount-ro")).toBeGreaterThan(words.lastIndexOf("--tmpfs"));
    expect(has(view, "--remount-ro", "/ ")).toBe(true);
  });

  test("only root keeps what it needs to become somebody else; others get a user namespace", () => {
    expect([has(view, "CAP_SETUID"), has(view, "--unshare-user")]).toEqual([true, false]);
    expect([has({ ...view, asRoot: false }, "CAP_SETUID"), has({ ...view, asRoot: false }, "--unshare-user")]).toEqual([
      false,
      true,
    ]);
  });

  test("the filter of system calls is whole instructions, and never jumps past its end", () => {
    for (const processor of ["x64", "arm64"] as const) {
      const filter = seccompFilter(processor);
      const count = filter.length / 8;
      expect(Number.isInteger(count)).toBe(true);
      for (let at = 0; at < count; at++) {
        const isJump = (filter.readUInt16LE(at * 8) & 7) === 5;
        if (isJump) expect(at + 1 + Math.max(filter[at * 8 + 2]!, filter[at * 8 + 3]!)).toBeLessThan(count);
      }
      expect(filter.readUInt16LE((count - 1) * 8)).toBe(0x06);
    }
  });
});

describe("GPUs", () => {
  const types = ["NVIDIA L4", "NVIDIA H200"];

  test("virtual ones are many of each type and say that they are", async () => {
    const gpus = await findGpus({ mode: "virtual", types, mayBeVirtual: false });
    expect(gpus).toHaveLength(128);
    expect(gpus[0]).toEqual({ id: "virtual-nvidia-l4-0", type: "NVIDIA L4", virtual: true, files: [] });
    expect(await findGpus({ mode: "none", types, mayBeVirtual: true })).toEqual([]);
  });

  test("the newest CUDA is the one that the tool's head names", () => {
    const head = "| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |";
    expect([parseCuda(`+----+\n${head}\n+----+`), parseCuda("no such tool")]).toEqual(["13.0", undefined]);
  });

  test("real ones are named as the catalog names them", () => {
    const text = "GPU-1a, NVIDIA H200, 00000000:1B:00.0\nGPU-2b, Quadro X, 00000000:1C:00.0\n\n";
    expect(parseNvidia(text)).toEqual([
      { id: "GPU-1a", name: "NVIDIA H200", bus: "00000000:1B:00.0" },
      { id: "GPU-2b", name: "Quadro X", bus: "00000000:1C:00.0" },
    ]);
    expect([typeOf("nvidia h200", types), typeOf("Quadro X", types)]).toEqual(["NVIDIA H200", "Quadro X"]);
  });
});
