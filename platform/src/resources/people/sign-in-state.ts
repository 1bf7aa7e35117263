/** What binds a sign-in at the provider to the browser that began it. Any node can check it, because nothing is stored. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Asked } from "../../ports/identity/identity-provider.ts";

/** Whoever is slower than this at the provider begins again. */
export const SIGN_IN_MS = 10 * 60_000;
const SHAPE = /^([0-9a-z]{1,11})\.([\w-]{43})\.([\w-]{43})$/;

type Bound = Omit<Asked, "redirectUri">;

/**
 * Everything follows from the secret in the browser's cookie, which nobody else can read, and from a random part that is in the state. So a
 * state is good only in the browser that it was made for, and a stolen code cannot be used without that browser's secret.
 */
export function bind(secret: string, random: string, now: number): Bound {
  const base = `${Math.floor(now).toString(36)}.${random}`;
  return boundTo(secret, base, `${base}.${derive(secret, "state", base)}`);
}

/** Returns what `bind` made, or undefined if the state was made for another browser, or is too old. */
export function rebind(secret: string, state: string, now: number): Bound | undefined {
  const [, time, random, mark] = SHAPE.exec(state) ?? [];
  if (time === undefined || random === undefined || mark === undefined) return undefined;
  const base = `${time}.${random}`;
  const age = now - Number.parseInt(time, 36);
  const isOurs = timingSafeEqual(Buffer.from(mark), Buffer.from(derive(secret, "state", base)));
  return isOurs && age < SIGN_IN_MS && age > -SIGN_IN_MS ? boundTo(secret, base, state) : undefined;
}

const boundTo = (secret: string, base: string, state: string): Bound => ({
  state,
  nonce: derive(secret, "nonce", base),
  verifier: derive(secret, "verifier", base),
});

const derive = (secret: string, what: string, base: string) =>
  createHmac("sha256", secret).update(`${what} ${base}`).digest("base64url");
