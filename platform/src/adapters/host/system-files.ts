/** The machine's files in `/etc` that every program sees: copies in one folder, since each mount of its own would make every start slower. */
import { createHash } from "node:crypto";
import { type Stats, statSync } from "node:fs";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { floating } from "../../kernel/floating.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { realRandom } from "../../kernel/random.ts";
import { runTool } from "../machine/forker.ts";

/** Together with `/usr` and `SYSTEM_FOLDERS`, these are the parts of the machine that programs see, read-only. Nothing else exists for them. */
const SYSTEM_FILES = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/debian_version",
  "/etc/fonts",
  "/etc/gai.conf",
  "/etc/host.conf",
  "/etc/ld.so.cache",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/nsswitch.conf",
  "/etc/os-release",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/timezone",
];

/** The texts of files in `/etc` that Millrace makes. */
type Own = Readonly<Record<"hosts" | "resolv.conf", string>>;

interface Made {
  digest: string;
  view: Promise<string[]>;
}

export class SystemFiles {
  readonly #folder: string;
  readonly #at: string;
  readonly #files: readonly string[];
  readonly #making = new OneAtATime();
  #made: Made | undefined;

  /** The copies are kept below `folder`, and programs see them below `at`. */
  constructor(folder: string, at: string, files = SYSTEM_FILES) {
    this.#folder = folder;
    this.#at = at;
    this.#files = files;
  }

  /**
   * The sandbox's arguments that show the machine's files as they are now, and those of `own` beside them, all but `hosts`, which groups
   * replace. Copies are made once, and again when something has changed.
   */
  view(own: Own): Promise<string[]> {
    const found = this.#files.flatMap((file) => {
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats ? [{ file, stats }] : [];
    });
    const digest = digestOf(found, own);
    if (this.#made?.digest === digest) return this.#made.view;
    const files = found.map(({ file }) => file);
    const view = this.#making.run(() => this.#view(digest, files, own));
    this.#made = { digest, view };
    // The next program tries again.
    floating(view, () => {
      if (this.#made?.view === view) this.#made = undefined;
    });
    return view;
  }

  async #view(digest: string, files: readonly string[], own: Own): Promise<string[]> {
    const copies = join(this.#folder, `etc-${digest}`);
    if (!statSync(copies, { throwIfNoEntry: false })) await this.#copy(files, own, copies);
    const shown = [...files, "/etc/resolv.conf"];
    return ["--ro-bind", copies, this.#at, ...shown.flatMap((file) => ["--symlink", `${this.#at}${file}`, file])];
  }

  /** The folder gets its name when it is complete. Another server may be making the same one. */
  async #copy(files: readonly string[], own: Own, copies: string): Promise<void> {
    const unfinished = `${copies}.${Buffer.from(realRandom.bytes(6)).toString("hex")}.unfinished`;
    const etc = join(unfinished, "etc");
    await mkdir(etc, { recursive: true });
    try {
      // Named links are followed, since they may lead anywhere. Links in folders stay, with all modes.
      if (files.length > 0) await runTool("cp", ["-a", "-H", "--parents", ...files, unfinished]);
      for (const [name, text] of Object.entries(own)) {
        await writeFile(join(etc, name), text);
        await chmod(join(etc, name), 0o644);
      }
      for (const folder of [etc, unfinished]) await chmod(folder, 0o755);
      await rename(unfinished, copies);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      if (!statSync(copies, { throwIfNoEntry: false })) throw error;
    }
  }
}

function digestOf(found: readonly { file: string; stats: Stats }[], own: Own): string {
  const hash = createHash("sha256").update(JSON.stringify(own));
  for (const { file, stats } of found)
    hash.update(`${file} ${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}\n`);
  return hash.digest("hex").slice(0, 16);
}
