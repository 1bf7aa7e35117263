/** Tells when the files of a project change, once for each group of changes. */
import { type FSWatcher, watch } from "node:fs";
import type { Clock, Timer } from "@millrace/platform/kernel/clock.ts";

/** A save often changes several files, or one file several times. */
const QUIET_MS = 60;
/** Folders and files that programs and tools write by themselves. */
const IGNORED =
  /(?:^|\/)(?:node_modules|\.venv|venv|__pycache__|\.git|\.millrace|\.mypy_cache|\.pytest_cache|\.ruff_cache|dist|\.DS_Store|[^/]*(?:~|\.sw[a-z]|\.pyc|\.tmp|\.log))(?:\/|$)/;

export interface ChangesOptions {
  folder: string;
  clock: Clock;
  /** Gets the changed paths, relative to the folder. */
  changed: (paths: string[]) => void;
  failed: (error: Error) => void;
}

export class Changes implements Disposable {
  readonly #options: ChangesOptions;
  readonly #watcher: FSWatcher;
  readonly #paths = new Set<string>();
  #timer: Timer | undefined;

  constructor(options: ChangesOptions) {
    this.#options = options;
    const ignore = (path: string) => IGNORED.test(path);
    this.#watcher = watch(options.folder, { recursive: true, ignore }, (_, path) => path && this.#note(path));
    this.#watcher.on("error", options.failed);
  }

  #note(path: string): void {
    if (IGNORED.test(path)) return;
    this.#paths.add(path);
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(QUIET_MS, () => {
      const paths = [...this.#paths];
      this.#paths.clear();
      this.#options.changed(paths);
    });
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#watcher.close();
  }
}
