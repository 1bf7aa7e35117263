/** A PostgreSQL with a replica that has everything before it counts as committed: restarted, failed over, and given a new replica. */
import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { stay } from "../../platform/src/kernel/clock.ts";
import {
  freePort,
  installPostgres,
  makeCluster,
  type PostgresInstallation,
  readUntilReady,
  spawnServer,
} from "../../platform/tests/postgres-server.ts";

const run = promisify(execFile);
const NOBODY = 65_534;
const LOOK_MS = 100;
const SETTINGS = {
  max_wal_size: "128MB",
  wal_keep_size: "128MB",
  wal_retrieve_retry_interval: "200ms",
  wal_receiver_timeout: "5s",
  wal_sender_timeout: "5s",
};

interface Instance {
  /** Its folder, below that of the installation. */
  data: string;
  port: number;
  process: ChildProcess;
}

export class PostgresPair implements AsyncDisposable {
  readonly #installation: PostgresInstallation;
  #primary: Instance;
  #replica: Instance | undefined;
  #copies = 0;

  private constructor(installation: PostgresInstallation, primary: Instance) {
    this.#installation = installation;
    this.#primary = primary;
  }

  static async open(folder: string): Promise<PostgresPair> {
    const installation = await installPostgres(folder);
    await makeCluster(installation);
    const port = await freePort();
    const process = spawnServer(installation, port, { more: SETTINGS });
    await readUntilReady(process);
    const pair = new PostgresPair(installation, { data: "data", port, process });
    await pair.addReplica();
    return pair;
  }

  get url(): string {
    return this.#urlOf(this.#primary.port);
  }

  /** Ends the primary as a crash does, and starts it again after a while. */
  async restart(pauseMs: number): Promise<void> {
    await end(this.#primary.process, "SIGQUIT");
    await stay(pauseMs);
    await this.start();
  }

  /** Starts both, if they have ended. On a full disk they end by themselves. */
  async start(): Promise<void> {
    if (hasEnded(this.#primary.process)) await this.#startAgain(this.#primary);
    if (this.#replica && hasEnded(this.#replica.process)) await this.#startAgain(this.#replica);
  }

  async #startAgain(instance: Instance): Promise<void> {
    instance.process = this.#spawn(instance);
    await readUntilReady(instance.process);
  }

  #spawn({ data, port }: Pick<Instance, "data" | "port">): ChildProcess {
    const more = data === this.#primary.data ? SETTINGS : { ...SETTINGS, primary_conninfo: this.url };
    return spawnServer(this.#installation, port, { data, more });
  }

  /** The primary dies for good, and the replica takes its place. */
  async failOver(): Promise<void> {
    const [old, next] = [this.#primary, this.#replica!];
    await end(old.process, "SIGKILL");
    next.process.kill("SIGCONT");
    if (hasEnded(next.process)) await this.#startAgain(next);
    this.#primary = next;
    this.#replica = undefined;
    for (;;) {
      const promoted = await this.#ask(`SELECT pg_promote(true, 60) AS promoted`).catch(() => undefined);
      if (promoted) break;
      await stay(LOOK_MS);
    }
    await rm(join(this.#installation.folder, old.data), { recursive: true, force: true });
  }

  freezeReplica(): void {
    this.#replica?.process.kill("SIGSTOP");
  }

  thawReplica(): void {
    this.#replica?.process.kill("SIGCONT");
  }

  /** Copies the running primary. From the moment when the copy follows, every commit waits for it. */
  async addReplica(): Promise<void> {
    const { folder } = this.#installation;
    const data = `replica-${++this.#copies}`;
    const client = await this.#connect();
    try {
      await client.query("SELECT pg_backup_start('replica', true)");
      // Files come and go meanwhile; what is missing is in the log that the replica replays.
      await run("cp", ["--archive", join(folder, this.#primary.data), join(folder, data)]).catch(() => undefined);
      const { rows } = await client.query("SELECT labelfile FROM pg_backup_stop(false)");
      for (const file of ["postmaster.pid", "postgresql.auto.conf"])
        await rm(join(folder, data, file), { force: true });
      for (const [name, text] of [
        ["backup_label", rows[0].labelfile],
        ["standby.signal", ""],
        ["postgresql.auto.conf", ""],
      ]) {
        await writeFile(join(folder, data, name), text);
        await chown(join(folder, data, name), NOBODY, NOBODY);
      }
      const port = await freePort();
      const process = this.#spawn({ data, port });
      await readUntilReady(process);
      this.#replica = { data, port, process };
      while ((await this.#ask("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")) === undefined)
        await stay(LOOK_MS);
      await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await client.query("SELECT pg_reload_conf()");
    } finally {
      await client.end();
    }
  }

  /** All rows of a table, each as JSON. */
  async rowsOf(table: string): Promise<string[]> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query(`SELECT to_jsonb(t)::text AS row FROM ${table} t`);
      return rows.map(({ row }) => row);
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const instance of [this.#replica, this.#primary]) {
      instance?.process.kill("SIGCONT");
      if (instance) await end(instance.process, "SIGQUIT");
    }
  }

  #urlOf = (port: number) => `postgres://postgres:${this.#installation.password}@127.0.0.1:${port}/postgres`;

  async #connect(): Promise<Client> {
    const client = new Client(this.url);
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  /** The first value of the first row. */
  async #ask(statement: string): Promise<unknown> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query(statement);
      return rows[0] && Object.values(rows[0])[0];
    } finally {
      await client.end();
    }
  }
}

const hasEnded = (process: ChildProcess) => process.exitCode !== null || process.signalCode !== null;

async function end(process: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(process)) return;
  const ended = once(process, "exit");
  process.kill(signal);
  await ended;
}
