/** `millrace prices`: what things cost in an installation, now and after the next change. */
import { installedCatalog, installPrices } from "@millrace/platform/catalog/compute.ts";
import { priceSetsFrom } from "@millrace/platform/catalog/price-changes.ts";
import { cpuPriceIn, gpuPriceIn, spotPriceIn } from "@millrace/platform/catalog/prices.ts";
import { realClock, timestamp } from "@millrace/platform/kernel/clock.ts";
import { PriceBook } from "@millrace/platform/metering/price-book.ts";
import { readCatalog } from "@millrace/platform/settings/operator-catalog.ts";
import { Command } from "commander";
import { inInstallation, type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";

interface Options extends PlaceOptions {
  catalog?: string;
  json?: boolean;
}

export function pricesCommand(): Command {
  return new Command("prices")
    .description("show and set prices; works while the server runs")
    .addCommand(listPrices())
    .addCommand(setPrices());
}

function common(name: string, about: string, example: string): Command {
  return withPlace(new Command(name).description(about))
    .addHelpText("after", `\nExample:\n  millrace prices ${name} ${example}`)
    .option("--catalog <file>", "the catalog file of the server (or MILLRACE_CATALOG)")
    .option("--json", "print JSON");
}

/** Uses the catalog of this installation's servers, with later price changes. */
async function inPrices<T>(options: Options, work: (prices: PriceBook) => Promise<T>): Promise<T> {
  using _files = await readCatalog({ ...placeSettings(options), ...(options.catalog && { catalog: options.catalog }) });
  return await inInstallation(options, async (records) => {
    const prices = new PriceBook(records);
    await prices.prepare();
    using _set = installPrices(prices.at(realClock.now()));
    return await work(prices);
  });
}

function listPrices(): Command {
  return common("list", "show what everything costs now, in USD", "--json").action((options: Options) =>
    inPrices(options, async (prices) => {
      const shown = pricesNow();
      const coming = prices.coming(realClock.now()).map(({ at }) => timestamp(at));
      print({ ...shown, coming }, options.json, () => [
        ...linesOf(shown),
        ...coming.map((at) => `other prices from ${at} on`),
      ]);
    }),
  );
}

function setPrices(): Command {
  return common("set", "set prices; they apply a few seconds later, also to what already runs", "cpu3c pod=0.02")
    .argument("<what>", "a GPU type, a pool, a CPU flavor, or storage")
    .argument("<prices>", "such as secure=0.5,serverless=0.6 in USD; 'secure=catalog' means that of the catalog again")
    .action((what: string, text: string, options: Options) =>
      inPrices(options, async (prices) => {
        const set = priceSetsFrom(installedCatalog(), what, text);
        const from = timestamp(await prices.change(set));
        const said = set.map(({ id, name, price }) => `${id} ${name} ${price ?? "as in the catalog"}`);
        print({ set, from }, options.json, () => [...said, `from ${from} on`]);
      }),
    );
}

/** GPUs and vCPUs per hour, storage per GB and month. */
function pricesNow() {
  const catalog = installedCatalog();
  const gpus = [...catalog.gpus.values()].map(({ id, price: { secure, community, cluster } }) => {
    const spot = {
      secureSpot: spotPriceIn(catalog, id, "SECURE"),
      communitySpot: spotPriceIn(catalog, id, "COMMUNITY"),
    };
    return { id, secure, community, cluster, ...spot, serverless: gpuPriceIn(catalog, "worker", id) };
  });
  const cpus = [...catalog.cpus.keys()].map((id) => {
    return { id, pod: cpuPriceIn(catalog, id), serverless: cpuPriceIn(catalog, id, "worker") };
  });
  return { gpus, cpus, storage: catalog.storage };
}

function linesOf({ gpus, cpus, storage }: ReturnType<typeof pricesNow>): string[] {
  const words = (prices: object) => Object.entries(prices).map(([name, price]) => `${name}=${price}`);
  return [
    ...[...gpus, ...cpus].map(({ id, ...prices }) => `${id}  ${words(prices).join(",")}`),
    `storage  ${words(storage).join(",")}`,
  ];
}
