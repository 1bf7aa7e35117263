/** Opens the port that serves metrics without a key, if the operator chose one. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Log } from "../kernel/log.ts";
import type { Settings } from "../settings/settings.ts";
import type { Metrics } from "../surfaces/metrics/metrics.ts";
import { metricsServer } from "../surfaces/metrics/routes.ts";

export interface MetricsPort extends AsyncDisposable {
  url: string;
}

export async function openMetricsPort(
  { metricsAddress }: Pick<Settings, "metricsAddress">,
  metrics: Metrics,
  log: Log,
): Promise<MetricsPort | undefined> {
  if (!metricsAddress) return undefined;
  const { host, port } = metricsAddress;
  const server = metricsServer(metrics, log);
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`the address of MILLRACE_METRICS_ADDRESS, ${host}:${port}, cannot be opened: ${why}`, {
      cause: error,
    });
  }
  const given = (server.address() as AddressInfo).port;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${given}/metrics`;
  log.info({ url }, "metrics are served without a key");
  return {
    url,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
