/** What a check of a machine or a cluster found, and how to mend it. No check changes anything. */

export interface Finding {
  state: "ok" | "warn" | "fail";
  says: string;
  /** What to do about it. */
  mend?: string;
}

export interface Check {
  name: string;
  look(): Promise<Finding>;
}

export type NamedFinding = Finding & { name: string };

export const ok = (says: string): Finding => ({ state: "ok", says });
export const warn = (says: string, mend: string): Finding => ({ state: "warn", says, mend });
export const fail = (says: string, mend: string): Finding => ({ state: "fail", says, mend });

/** A check that breaks is a finding too. */
export async function examined({ name, look }: Check): Promise<NamedFinding> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, state: "warn", says: `could not be looked at: ${(error as Error).message}` };
  }
}
