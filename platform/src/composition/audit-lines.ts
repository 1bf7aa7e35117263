/** Opens what passes the audit log on to a file and to syslog, if the operator named one. */
import type { Clock } from "../kernel/clock.ts";
import type { Instruments } from "../kernel/instruments.ts";
import type { LineKeeper } from "../kernel/line-keeper.ts";
import type { Log } from "../kernel/log.ts";
import { AuditLines } from "../resources/audit/lines.ts";
import type { Settings } from "../settings/settings.ts";
import type { Books } from "./services.ts";

export async function openAuditLines(
  { auditFile: file, auditSyslog: syslog }: Pick<Settings, "auditFile" | "auditSyslog">,
  { watched, audit }: Pick<Books, "watched" | "audit">,
  parts: { clock: Clock; log: Log; node: string; instruments: Instruments },
): Promise<AsyncDisposable> {
  const keepers: LineKeeper[] = [];
  if (file !== undefined) keepers.push((await import("../adapters/files/audit-file.ts")).auditFile(file));
  if (syslog) keepers.push((await import("../adapters/syslog/audit-syslog.ts")).auditSyslog(syslog, parts.clock));
  const opened = new AsyncDisposableStack();
  const counts = parts.instruments.auditLines;
  for (const keeper of keepers)
    opened.use(new AuditLines({ ...parts, watched, entries: audit.entries, keeper, counts }));
  return opened;
}
