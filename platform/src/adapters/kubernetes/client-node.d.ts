/** The few parts of `@kubernetes/client-node` that the driver uses. The library's own types are 1,400 files, which the compiler would read. */
declare module "@kubernetes/client-node/dist/config.js" {
  export class KubeConfig {
    loadFromDefault(): void;
    loadFromFile(file: string): void;
    setCurrentContext(context: string): void;
    getCurrentCluster(): { server: string } | null;
    /** Adds certificates, tokens and the agent. */
    applyToHTTPSOptions(options: import("node:https").RequestOptions): Promise<void>;
  }
}
