/** The ground that all parts of a server stand on: its ports, its settings, and its duties with who hears of what fails. */
import { Duties } from "../kernel/duties.ts";
import type { Failed } from "../kernel/failed.ts";
import type { AppParts, AppSettings } from "./app-parts.ts";

export interface Ground extends AppParts {
  settings: AppSettings;
  duties: Duties;
  /** Hears of everything that fails in the background. */
  failed: Failed;
}

export function groundOf(parts: AppParts, settings: AppSettings): Ground {
  const { duties = new Duties(parts) } = parts;
  return { ...parts, settings, duties, failed: duties.failed };
}
