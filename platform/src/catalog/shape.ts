/** The shape of the catalog as we and operators write it. `catalog.ts` has the defaults of what may be left out. */
import { closed, name, oneOf, type Static, t } from "../kernel/schema.ts";
import { compliances, manufacturers, regions, volumeTypes } from "./words.ts";

/** Prices are in USD. None per hour is higher than this. */
const price = t.Number({ minimum: 0, maximum: 1_000_000 });
const amount = (minimum: number, maximum: number) => t.Integer({ minimum, maximum });
const each = <const V extends readonly string[]>(values: V) =>
  t.Array(oneOf(values), { maxItems: values.length, uniqueItems: true });

const WrittenGpu = closed({
  name: t.Optional(name()),
  manufacturer: t.Optional(oneOf(manufacturers)),
  memory: amount(1, 100_000),
  secure: t.Optional(t.Boolean()),
  community: t.Optional(t.Boolean()),
  price: closed({
    secure: price,
    community: t.Optional(price),
    cluster: t.Optional(price),
    secureSpot: t.Optional(price),
    communitySpot: t.Optional(price),
  }),
  maxCount: t.Optional(closed({ secure: t.Optional(amount(0, 1000)), community: t.Optional(amount(0, 1000)) })),
  share: t.Optional(closed({ vcpu: amount(1, 10_000), memory: amount(1, 100_000) })),
});

const WrittenPool = closed({
  gpus: t.Array(name(), { minItems: 1, maxItems: 100, uniqueItems: true }),
  price: t.Optional(price),
});

const WrittenCpu = closed({
  name: t.Optional(name()),
  group: t.Optional(name()),
  vcpu: closed({ min: amount(1, 4096), max: amount(1, 4096) }),
  ramGbPerVcpu: t.Number({ minimum: 0.25, maximum: 1024 }),
  diskGbPerVcpu: t.Optional(amount(1, 10_000)),
  price: closed({ securePerVcpu: price, serverlessPerVcpu: t.Optional(price) }),
});

const WrittenDataCenter = closed({
  name: t.Optional(name()),
  country: t.Optional(t.String({ pattern: "^[A-Z]{2}$" })),
  region: t.Optional(oneOf(regions)),
  globalNetwork: t.Optional(t.Boolean()),
  networkVolumeTypes: t.Optional(each(volumeTypes)),
  compliance: t.Optional(each(compliances)),
});

const WrittenStorage = closed({
  containerDiskPerGbMonth: price,
  persistentRunningPerGbMonth: price,
  persistentStoppedPerGbMonth: price,
  networkVolumePerGbMonth: price,
  networkVolumeBeyondTbPerGbMonth: price,
  containerDiskStoppedPerGbMonth: t.Optional(price),
  highPerformanceVolumePerGbMonth: t.Optional(price),
});

export const WrittenCatalog = closed({
  home: t.Optional(name()),
  gpus: t.Record(t.String(), WrittenGpu),
  pools: t.Record(t.String(), WrittenPool),
  cpus: t.Record(t.String(), WrittenCpu),
  dataCenters: t.Record(t.String(), WrittenDataCenter, { minProperties: 1 }),
  storage: WrittenStorage,
});
export type WrittenCatalog = Static<typeof WrittenCatalog>;

export type WrittenGpu = Static<typeof WrittenGpu>;
export type WrittenCpu = Static<typeof WrittenCpu>;
export type WrittenDataCenter = Static<typeof WrittenDataCenter>;
