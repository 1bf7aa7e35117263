/** The machine's own network, for instances without one. A port belongs to the program that listens on it first. */
import { readdir, readlink } from "node:fs/promises";
import type { Duplex } from "node:stream";
import { ifNotThere } from "../../kernel/not-there.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { connectTo } from "../machine/connection.ts";
import { listenersSeenBy } from "../machine/listeners.ts";
import type { InstanceNetwork, Networked } from "./network.ts";

async function socketsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(ifNotThere([]));
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(ifNotThere(""))));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

export class SharedNetwork implements InstanceNetwork {
  readonly own = false;
  readonly groups = undefined;
  readonly published = undefined;
  readonly linkHost = "127.0.0.1";
  readonly traces = ["", ""] as const;

  async choose(ports: readonly number[], others: readonly Networked[]): Promise<undefined> {
    if (ports.length === 0) return;
    const listening = await listenersSeenBy("self");
    for (const port of ports) {
      const byInstance = others.some((other) => other.ports.includes(port));
      if (!byInstance && !listening.some((listener) => listener.port === port)) continue;
      const holder = byInstance ? "another instance" : "another program of this machine";
      throw new StartRefused(`port ${port} is in use by ${holder}, and instances share the machine's network here`, {
        reason: "port-taken",
      });
    }
  }

  enter(_index: undefined, command: readonly string[]): string[] {
    return [...command];
  }

  /** Connects only to a socket that a process of this instance listens on, since a port number alone does not show whose it is. */
  async dial(instance: Networked, port: number): Promise<Duplex> {
    const listeners = (await listenersSeenBy("self")).filter((listener) => listener.port === port);
    const own = new Set((await Promise.all((await instance.processes()).map(socketsOf))).flat());
    const listener = listeners.find(({ inode }) => own.has(inode));
    if (!listener) throw new Error(`nobody of this instance listens on port ${port}`);
    return connectTo(listener);
  }

  /** Ignores the address: on a shared loopback only the listening process shows whose port it is. */
  dialInside(instance: Networked, { port }: { port: number }): Promise<Duplex> {
    return this.dial(instance, port);
  }

  async openLink(): Promise<void> {}
  async renew(): Promise<void> {}
  async leave(): Promise<void> {}
  async letGo(): Promise<void> {}
  async close(): Promise<void> {}
}
