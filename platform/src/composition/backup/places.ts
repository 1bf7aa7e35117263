/** The names of everything that a backup takes from a data folder, and of what it leaves there. */

export const DATABASES = ["store.db", "queue.db"] as const;
/** Small files that reveal nothing. */
export const PLAIN_FILES = ["node-id", "machine-id", "ssh-port"] as const;
/** Each of these opens something. */
export const KEY_FILES = ["master-key", "api-key"] as const;
export const PAYLOADS = "payloads";

/** The second names of payload files, while a backup is made. */
export const KEPT = "backup-payloads";
export const BACKUP_LOCK = "backup.lock";

/** It is there while a restore is under way, and after one that was killed. */
export const RESTORING = "restore-unfinished";

export function isKnownPart(name: string): boolean {
  const [folder, rest] = name.split("/", 2);
  if (rest !== undefined) return folder === PAYLOADS;
  return ([...DATABASES, ...PLAIN_FILES, ...KEY_FILES] as string[]).includes(name);
}
