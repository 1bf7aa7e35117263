/** The parts that everything in a server uses: its ports, its settings, its duties, and who hears about failures. */
import { Duties } from "../kernel/duties.ts";
import type { Failed } from "../kernel/failed.ts";
import { Instruments } from "../kernel/instruments.ts";
import { DutyLeases } from "../ports/store/duty-leases.ts";
import type { AppParts, AppSettings } from "./app-parts.ts";

export interface Ground extends AppParts {
  settings: AppSettings;
  duties: Duties;
  instruments: Instruments;
  /** Hears about everything that fails in the background. */
  failed: Failed;
  /** Which of several nodes does a duty. */
  leases: DutyLeases;
}

export function groundOf(parts: AppParts, settings: AppSettings): Ground {
  const { duties = new Duties(parts), instruments = new Instruments(parts.clock) } = parts;
  return { ...parts, settings, duties, instruments, failed: duties.failed, leases: new DutyLeases(parts) };
}
