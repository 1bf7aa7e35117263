/** The parts that everything in a server uses: its ports, its settings, its duties, and who hears about failures. */
import { Duties } from "../kernel/duties.ts";
import type { Failed } from "../kernel/failed.ts";
import type { AppParts, AppSettings } from "./app-parts.ts";

export interface Ground extends AppParts {
  settings: AppSettings;
  duties: Duties;
  /** Hears about everything that fails in the background. */
  failed: Failed;
}

export function groundOf(parts: AppParts, settings: AppSettings): Ground {
  const { duties = new Duties(parts) } = parts;
  return { ...parts, settings, duties, failed: duties.failed };
}
