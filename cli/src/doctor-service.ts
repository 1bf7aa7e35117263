/** What `millrace doctor` says about Millrace as a service of systemd. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Finding, fail, ok, warn } from "@millrace/platform/kernel/finding.ts";

const LONGEST_MS = 5000;
const ASKED = ["LoadState", "ActiveState", "SubState", "Result", "NRestarts", "KillMode", "Delegate", "User"];

export async function service(): Promise<Finding> {
  const shown = await promisify(execFile)("systemctl", ["show", "millrace.service", `--property=${ASKED}`], {
    timeout: LONGEST_MS,
  }).catch(() => undefined);
  return shown
    ? serviceOf(propertiesIn(shown.stdout))
    : ok("this machine has no running systemd; start the server yourself");
}

export const propertiesIn = (text: string): Record<string, string> =>
  Object.fromEntries(text.split("\n").flatMap((line) => [line.split(/=(.*)/s).slice(0, 2)].filter(([name]) => name)));

const MANY_RESTARTS = 5;
const SEE = "See why: journalctl -u millrace -n 50";

export function serviceOf(unit: Record<string, string>): Finding {
  const { LoadState, ActiveState, SubState, Result, NRestarts, KillMode, Delegate, User = "" } = unit;
  if (LoadState === "not-found") return ok("not installed as a service: docs/install.md says how");
  if (LoadState !== "loaded")
    return fail(`its unit cannot be loaded (${LoadState})`, "See why: systemctl status millrace");
  if (ActiveState === "failed") return fail(`it has failed (${Result})`, SEE);
  if (SubState === "auto-restart")
    return fail(
      `it ends by itself (${Result}), and systemd starts it again and again (${NRestarts} times by now)`,
      SEE,
    );
  if (ActiveState !== "active" || SubState !== "running")
    return warn(`it does not run (${ActiveState})`, "Start it: sudo systemctl start millrace");
  if (Number(NRestarts) >= MANY_RESTARTS) return warn(`it runs, but was started again ${NRestarts} times`, SEE);
  const isRoot = User === "" || User === "root";
  if (isRoot && KillMode !== "process")
    return warn(
      "each restart ends all Pods (KillMode)",
      "Add to the unit, by 'systemctl edit millrace': KillMode=process",
    );
  if (isRoot && Delegate !== "yes")
    return warn("programs cannot be limited (Delegate)", "Add to the unit, by 'systemctl edit millrace': Delegate=yes");
  return ok(`it runs as ${isRoot ? "root" : User}`);
}
