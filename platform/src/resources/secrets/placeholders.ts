/** Placeholders for secrets in environment variables. They are replaced by values at each boot and never before. */

/** The environment of a boot cannot be made. The message names a secret or a variable, never a value. */
export class UnresolvedEnv extends Error {
  readonly reason = "secret-missing";
}

/** The current value, or undefined if the account has no such secret. */
export type Reveal = (account: string, name: string) => Promise<string | undefined>;

const PLACEHOLDER = /\{\{\s*(?:MILLRACE|RUNPOD)_SECRET_([a-zA-Z_][a-zA-Z0-9_.\-/]*)\s*\}\}/g;
/** The kernel accepts at most this many bytes for `NAME=value` and its final zero byte. */
const LONGEST_BYTES = 128 * 1024;

/** Values are inserted unchanged: text in a value that looks like a placeholder stays text. */
export async function resolveEnv(
  account: string,
  env: Readonly<Record<string, string>>,
  reveal: Reveal,
): Promise<Record<string, string>> {
  const values = new Map<string, string>();
  for (const name of secretsIn(Object.values(env))) values.set(name, usable(name, await reveal(account, name)));
  const resolved: [string, string][] = Object.entries(env).map(([name, text]) => {
    const value = text.replace(PLACEHOLDER, (_, secret: string) => values.get(secret)!);
    if (lengthOf(name, value) > LONGEST_BYTES) throw tooLong(name, secretsIn([text]));
    return [name, value];
  });
  return Object.fromEntries(resolved);
}

/** Whether the final text is only known at a boot. */
export const hasPlaceholder = (text: string): boolean => secretsIn([text]).length > 0;

/** The names of the secrets in these texts, each once, in order of appearance. */
export function secretsIn(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, secret]) => secret!)))];
}

function usable(name: string, value: string | undefined): string {
  if (value === undefined) throw new UnresolvedEnv(`secret "${name}" does not exist`);
  if (value.includes("\0")) throw new UnresolvedEnv(`secret "${name}" holds a NUL character, which no variable can`);
  if (Buffer.byteLength(value) > LONGEST_BYTES)
    throw new UnresolvedEnv(`secret "${name}" is longer than 128 KiB, which is the most that a variable can hold`);
  return value;
}

const lengthOf = (name: string, value: string) => Buffer.byteLength(name) + Buffer.byteLength(value) + "=\0".length;

function tooLong(variable: string, secrets: readonly string[]): UnresolvedEnv {
  const cause = secrets.length === 0 ? "" : ` with ${secrets.map((name) => `secret "${name}"`).join(" and ")} in it`;
  return new UnresolvedEnv(`variable "${variable}" is longer than 128 KiB${cause}`);
}
