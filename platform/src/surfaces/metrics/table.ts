/** Every metric, once: its type, its labels, whose numbers it has, and what it says. */

export interface MetricKind {
  type: "counter" | "gauge" | "histogram";
  /**
   * `node`: of the process that answers. `installation`: of the whole installation, so that every node gives the same; take the maximum over
   * nodes, not the sum.
   */
  of: "node" | "installation";
  labels?: readonly string[];
  about: string;
}

export const metricTable = {
  millrace_info: {
    type: "gauge",
    of: "node",
    labels: ["version", "node"],
    about: "Always 1. Its labels say what runs.",
  },
  millrace_http_requests_total: {
    ...{ type: "counter", of: "node", labels: ["method", "route", "status"] },
    about:
      "Answered requests. `route` is the path as it is documented. `status` is `none` if the client left before its answer.",
  },
  millrace_http_request_duration_seconds: {
    ...{ type: "histogram", of: "node", labels: ["method", "route"] },
    about:
      "From the arrival of a request to the end of its answer. Held requests, such as /runsync, take as long as they are held.",
  },
  millrace_connections_open: { type: "gauge", of: "node", about: "Open connections of clients and workers." },
  millrace_connections_limit: { type: "gauge", of: "node", about: "How many connections there may be." },
  millrace_bodies_held_bytes: { type: "gauge", of: "node", about: "Memory that bodies and results in transit hold." },
  millrace_bodies_limit_bytes: { type: "gauge", of: "node", about: "Memory that they may hold." },
  millrace_bodies_waiting: { type: "gauge", of: "node", about: "Requests that wait for such memory." },
  millrace_jobs_submitted_total: { type: "counter", of: "node", about: "Jobs that were accepted." },
  millrace_jobs_ended_total: {
    type: "counter",
    of: "node",
    labels: ["state"],
    about: "Jobs by the state they ended in.",
  },
  millrace_jobs_retried_total: { type: "counter", of: "node", about: "Jobs that went back to the queue." },
  millrace_job_delay_seconds: {
    ...{ type: "histogram", of: "node" },
    about: "From the queue to a worker, of jobs that ended.",
  },
  millrace_job_execution_seconds: {
    ...{ type: "histogram", of: "node" },
    about: "From a worker's take to the end, of jobs that ended.",
  },
  millrace_starts_total: {
    ...{ type: "counter", of: "node", labels: ["result"] },
    about: "Starts of programs of workers and Pods: `started` or `failed`.",
  },
  millrace_start_part_seconds: {
    ...{ type: "histogram", of: "node", labels: ["part"] },
    about:
      "Parts of a start. Workers and Pods: `image`, `create`. Workers: `schedule`, `first_ask`, `warm_up`, and `ready` for all together.",
  },
  millrace_store_call_duration_seconds: {
    ...{ type: "histogram", of: "node", labels: ["call"] },
    about: "Calls of the store of records. Of calls at the same time, one is measured.",
  },
  millrace_store_call_failures_total: {
    ...{ type: "counter", of: "node", labels: ["call"] },
    about: "Measured calls that the store could not do.",
  },
  millrace_queue_call_duration_seconds: {
    ...{ type: "histogram", of: "node", labels: ["call"] },
    about: "Calls of the queue of jobs. Of calls at the same time, one is measured.",
  },
  millrace_queue_call_failures_total: {
    ...{ type: "counter", of: "node", labels: ["call"] },
    about: "Measured calls that the queue could not do.",
  },
  millrace_event_loop_delay_seconds: {
    ...{ type: "gauge", of: "node", labels: ["part"] },
    about: "How late timers of the main thread were since the last scrape. `median`, `p99` or `longest`.",
  },
  millrace_event_loop_utilization: {
    type: "gauge",
    of: "node",
    about: "Share of its time that the main thread worked since the last scrape.",
  },
  millrace_duty_interval_seconds: {
    type: "gauge",
    of: "node",
    labels: ["duty"],
    about: "How often a background duty runs.",
  },
  millrace_duty_last_success_timestamp_seconds: {
    ...{ type: "gauge", of: "node", labels: ["duty"] },
    about: "When the duty last ended well.",
  },
  millrace_duty_last_run_seconds: { type: "gauge", of: "node", labels: ["duty"], about: "How long its last run took." },
  millrace_duty_running_seconds: {
    ...{ type: "gauge", of: "node", labels: ["duty"] },
    about: "How long the run in progress has taken so far. 0 between two runs.",
  },
  millrace_duty_longest_seconds: {
    ...{ type: "gauge", of: "node", labels: ["duty"] },
    about: "How long a run should take at most. One that takes longer probably hangs.",
  },
  millrace_duty_failures_in_row: {
    type: "gauge",
    of: "node",
    labels: ["duty"],
    about: "Failures since it last ended well.",
  },
  millrace_clock_ahead_seconds: {
    ...{ type: "gauge", of: "node" },
    about:
      "How far the node's clock is ahead of the database's; negative if it is behind. Measured every 10 s. Absent with SQLite, and while PostgreSQL is away.",
  },
  millrace_accepts_work: {
    type: "gauge",
    of: "node",
    about: "0 while the node accepts nothing new, as on a full disk.",
  },
  millrace_data_disk_free_bytes: { type: "gauge", of: "node", about: "Room on the disk of the data folder." },
  millrace_data_disk_bytes: { type: "gauge", of: "node", about: "Size of that disk." },
  millrace_installation_read: {
    ...{ type: "gauge", of: "node" },
    about: "1 if the figures of the installation could be read. 0 if the database was away, and they are missing.",
  },
  millrace_audit_lines_total: {
    ...{ type: "counter", of: "node", labels: ["result"] },
    about: "Lines of the [audit log](audit.md) for a file or syslog: `written`, or `lost`.",
  },
  millrace_trace_spans_total: {
    ...{ type: "counter", of: "node", labels: ["result"] },
    about: "Spans of [traces](traces.md): `sent` to the collector, or `dropped` because it did not take them.",
  },
  process_cpu_seconds_total: { type: "counter", of: "node", about: "CPU time of the process." },
  process_resident_memory_bytes: { type: "gauge", of: "node", about: "Memory of the process." },
  nodejs_heap_size_used_bytes: { type: "gauge", of: "node", about: "JavaScript heap in use." },
  process_open_fds: { type: "gauge", of: "node", about: "Open files and connections of the process." },
  process_start_time_seconds: { type: "gauge", of: "node", about: "When the process started." },
  millrace_jobs: { type: "gauge", of: "installation", labels: ["state"], about: "Jobs that wait or run." },
  millrace_jobs_waiting: {
    ...{ type: "gauge", of: "installation", labels: ["reason"] },
    about:
      "Waiting jobs by the [reason code](reasons.md) of their wait. Beyond the 100 longest queues: `not-looked-at`.",
  },
  millrace_queue_oldest_job_seconds: {
    ...{ type: "gauge", of: "installation" },
    about: "How long the job has waited that waits for longest, without those of low priority.",
  },
  millrace_endpoints_busy: { type: "gauge", of: "installation", about: "Endpoints with waiting or running jobs." },
  millrace_endpoint_jobs: {
    ...{ type: "gauge", of: "installation", labels: ["endpoint", "state"] },
    about: "Jobs of the endpoints with the longest queues. Off unless `MILLRACE_METRICS_ENDPOINTS` says how many.",
  },
  millrace_endpoint_oldest_job_seconds: {
    ...{ type: "gauge", of: "installation", labels: ["endpoint"] },
    about: "The longest wait of each of these endpoints.",
  },
  millrace_workers: {
    type: "gauge",
    of: "installation",
    labels: ["state"],
    about: "Workers, by the words of the API.",
  },
  millrace_pods: { type: "gauge", of: "installation", labels: ["status"], about: "Pods by status." },
  millrace_nodes: { type: "gauge", of: "installation", labels: ["state"], about: "Servers on this database." },
  millrace_machines: {
    type: "gauge",
    of: "installation",
    labels: ["state"],
    about: "Machines. A drained one is `DRAINING`, also after it was switched off.",
  },
  millrace_machines_away: {
    ...{ type: "gauge", of: "installation", labels: ["images"] },
    about: "Machines that are up and cannot run such images now, such as `container` without its engine.",
  },
  millrace_gpus: {
    type: "gauge",
    of: "installation",
    labels: ["type", "part"],
    about: "GPUs of machines that are up: `total` and `free`.",
  },
  millrace_vcpus: { type: "gauge", of: "installation", labels: ["part"], about: "CPU cores of these machines." },
  millrace_memory_bytes: { type: "gauge", of: "installation", labels: ["part"], about: "Memory of these machines." },
  millrace_disk_bytes: {
    type: "gauge",
    of: "installation",
    labels: ["part"],
    about: "Disk space of these machines for instances.",
  },
  millrace_spend_usd_per_hour: {
    ...{ type: "gauge", of: "installation", labels: ["for"] },
    about: "What everything costs in an hour: `instances` that run, and `storage`.",
  },
} as const satisfies Record<string, MetricKind>;

export type MetricName = keyof typeof metricTable;
