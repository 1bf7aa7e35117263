/** Looks up a name that a stranger chose, and lets only addresses through that may be reached. */
import { lookup as systemLookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { isSpecial } from "../../kernel/addresses.ts";

const ANSWER_MS = 2_500;

/** Callers whose target a stranger chose never reach this machine or its network, not even at a public address of the machine. */
export function isPrivate(address: string): boolean {
  return isSpecial(address) || ownAddresses().has(address);
}

function ownAddresses(): Set<string> {
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(interfaces.map(({ address }) => address));
}

type Found = { address: string; family: number };

/**
 * Avoids the system's resolver, which occupies one of a few threads while a name server is silent: four slow names would stop all reading
 * and writing of files. Where all addresses are allowed, the system's resolver is used, since strangers choose no addresses there.
 */
async function find(host: string, bySystem: boolean): Promise<Found[]> {
  if (bySystem || !host.includes(".")) return findBySystem(host);
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: 2 });
  const asked = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = asked.flatMap((answer, i) =>
    answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
  );
  if (found.length === 0 && asked[0].status === "rejected") throw asked[0].reason;
  return found;
}

function findBySystem(host: string): Promise<Found[]> {
  return new Promise((resolve, reject) =>
    systemLookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  );
}

/** Checks the same address that is then connected to, so a name that resolves differently the second time gains nothing. */
export function checkedLookup(
  mayReach: (address: string) => boolean,
  { refused, bySystem = false }: { refused: (host: string) => Error; bySystem?: boolean },
): LookupFunction {
  return (host, options, done) => {
    const choose = (addresses: Found[]) => {
      const first = addresses.find(({ address }) => mayReach(address));
      if (!first) return done(refused(host), "", 0);
      return options.all
        ? (done as (e: null, a: Found[]) => void)(null, [first])
        : done(null, first.address, first.family);
    };
    find(host, bySystem).then(choose, (error: NodeJS.ErrnoException) => done(error, "", 0));
  };
}
