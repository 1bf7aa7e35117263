/** What the site uses of its generator, which brings no types. */
declare module "@11ty/eleventy" {
  interface Config {
    setUseGitIgnore(isUsed: boolean): void;
    setIncludesDirectory(path: string): void;
    setTemplateFormats(formats: readonly string[]): void;
    addPlugin(plugin: unknown, options?: object): void;
    amendLibrary(name: "md", amend: (library: never) => void): void;
    addGlobalData(name: string, value: unknown): void;
    addTemplate(path: string, text: string, data?: object): void;
  }

  export default class Eleventy {
    constructor(input: string, output: string, options: { quietMode: boolean; config(config: Config): void });
    toJSON(): Promise<{ inputPath: string; outputPath: string; rawInput: string; content: string }[]>;
  }
  export const IdAttributePlugin: unknown;
}

declare module "@11ty/eleventy-plugin-syntaxhighlight" {
  const highlight: unknown;
  export default highlight;
}
