/** What REST v1 shows of a Pod or a worker in addition to the fields that its caller set. */
import { name, nullable, oneOf, t } from "../../kernel/schema.ts";

const text = (description?: string) => t.String(description === undefined ? {} : { description });
const usd = (description: string) => t.Number({ minimum: 0, description: `USD per hour: ${description}.` });
const whole = (description?: string) => t.Integer({ minimum: 0, ...(description !== undefined && { description }) });
const price = nullable(t.Number({ minimum: 0 }));

const prices = {
  securePrice: price,
  communityPrice: price,
  secureSpotPrice: price,
  communitySpotPrice: price,
  oneWeekPrice: price,
  oneMonthPrice: price,
  threeMonthPrice: price,
  sixMonthPrice: price,
};

const gpuView = t.Object(
  { id: text(), count: whole(), displayName: text(), ...prices },
  { description: "Absent without GPUs. Nobody pays for a time in advance here: such prices are null." },
);

const unsaid = nullable(t.Number({ description: "Null: machines here do not say it." }));

const machine = t.Object(
  Object.fromEntries(
    Object.entries({
      id: text(),
      gpuTypeId: nullable(text()),
      gpuType: gpuView,
      gpuDisplayName: nullable(text()),
      cpuTypeId: nullable(text()),
      cpuCount: whole(),
      cpuType: {
        ...nullable(
          t.Object({
            id: text(),
            displayName: text(),
            groupId: nullable(text()),
            cores: whole(),
            threadsPerCore: whole(),
          }),
        ),
        description: "Of one without GPUs: its flavor.",
      },
      diskThroughputMBps: unsaid,
      maxDownloadSpeedMbps: unsaid,
      maxUploadSpeedMbps: unsaid,
      gpuAvailable: unsaid,
      maintenanceStart: nullable(text("Null: nobody announces any here.")),
      maintenanceEnd: nullable(text()),
      maintenanceNote: nullable(text()),
      note: nullable(text()),
      location: nullable(text()),
      dataCenterId: nullable(text()),
      supportPublicIp: t.Boolean(),
      secureCloud: t.Boolean(),
      costPerHr: usd("its compute"),
      currentPricePerGpu: price,
      minPodGpuCount: whole(),
    }).map(([field, schema]) => [field, t.Optional(schema)]),
  ),
  { description: "Empty unless `includeMachine` asks for it." },
);

const port = t.Object({
  ip: text(),
  isIpPublic: t.Boolean(),
  privatePort: whole(),
  publicPort: whole(),
  type: oneOf(["http", "tcp"]),
});

const runtime = t.Object({
  uptimeInSeconds: whole(),
  container: t.Object({ cpuPercent: t.Number(), memoryPercent: t.Number() }),
  gpus: t.Array(t.Object({ id: text(), gpuUtilPercent: t.Number(), memoryUtilPercent: t.Number() })),
  ports: t.Array(port),
});

export const podView = {
  id: text("Unique Pod identifier."),
  image: text("Container image with tag."),
  desiredStatus: oneOf(["RUNNING", "EXITED", "TERMINATED"], {
    description: "One that waits for room or is being started is RUNNING; one that cannot run is EXITED.",
  }),
  lastStatusChange: text("When, by whom and why, in words for people."),
  consumerUserId: text("Whose it is."),
  machineId: text("Empty until it has a place."),
  dataCenterId: nullable(text("Null until it has a place.")),
  costPerHr: usd("its compute, and nothing while it has no place"),
  adjustedCostPerHr: usd("the same with its storage"),
  vcpuCount: whole(),
  memoryInGb: whole(),
  gpuTypeId: text(),
  cpuFlavorId: text("Of one without GPUs."),
  volumeEncrypted: t.Boolean(),
  dockerEntrypoint: t.Array(text()),
  dockerStartCmd: t.Array(text()),
  portMappings: {
    ...nullable(t.Record(t.String(), t.Integer(), { maxProperties: 1000 })),
    description: "Where each TCP port is reached, by its number inside.",
  },
  publicIp: nullable(text()),
  gpu: gpuView,
  podType: text(),
  computeType: text("`GPU` or `CPU`."),
  createdAt: text(),
  lastStartedAt: nullable(text("When its program was last started.")),
  uptimeSeconds: whole(),
  runtime: { ...nullable(runtime), description: "Null until its program runs." },
  machine,
  endpointId: name({ description: "Of a worker: its endpoint." }),
  aiApiId: name({ description: "The same." }),
  slsVersion: t.Integer({ description: "Of a worker: the version of the endpoint that it was started from." }),
  savingsPlans: t.Array(t.Object({}), { maxItems: 0, description: "There are none here." }),
};
