/** The official templates, which run without any code of the user: on this machine's own files and on well-known images. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface OfficialTemplate {
  /** This never changes, because users keep it. */
  id: string;
  /** The id that public clients use for it. */
  alias?: string;
  name: string;
  image: string;
  cmd: string[];
  ports?: string[];
  env?: Record<string, string>;
  disk?: number;
  category: "CPU" | "NVIDIA";
  serverless?: boolean;
  startSsh?: boolean;
  startJupyter?: boolean;
  mounts?: { persistent: { size: number; path: string } };
  portLabels?: { port: string; name: string }[];
  readme: string;
}

const examples = fileURLToPath(new URL("../../../examples", import.meta.url));
/** The npm package has the examples as plain JavaScript. */
const extension = existsSync(`${examples}/echo/worker.ts`) ? "ts" : "js";
const example = (folder: string, program: string) => ({
  image: `host:${examples}/${folder}`,
  cmd: ["node", `${program}.${extension}`],
});

/** Programs of this repository, which need nothing else. */
const onThisMachine: OfficialTemplate[] = [
  {
    id: "millrace-shell",
    name: "Shell",
    ...example("starters", "shell"),
    ports: ["7681/http"],
    category: "CPU",
    startJupyter: true,
    portLabels: [{ port: "7681", name: "Shell" }],
    readme: "A shell in the browser, behind the password in `JUPYTER_PASSWORD`.",
  },
  {
    id: "millrace-notebook",
    name: "Notebook",
    ...example("starters", "notebook"),
    ports: ["8888/http"],
    category: "CPU",
    startJupyter: true,
    mounts: { persistent: { size: 10, path: "/workspace" } },
    portLabels: [{ port: "8888", name: "Notebook" }],
    readme:
      "JavaScript in cells, behind the password in `JUPYTER_PASSWORD`. It is kept in `/workspace` where there is such a folder.",
  },
  {
    id: "millrace-openai",
    name: "OpenAI-compatible server",
    ...example("starters", "openai-server"),
    ports: ["8000/http"],
    category: "CPU",
    portLabels: [{ port: "8000", name: "OpenAI API" }],
    readme:
      "`/v1/models` and `/v1/chat/completions`, plain and streamed, with a model that says back what it was told.",
  },
  {
    id: "millrace-openai-balanced",
    name: "OpenAI-compatible endpoint",
    ...example("starters", "openai-server"),
    category: "CPU",
    serverless: true,
    readme: "The same behind an endpoint: create it with `type: LOAD_BALANCER`.",
  },
  {
    id: "millrace-echo",
    name: "Echo",
    ...example("echo", "worker"),
    category: "CPU",
    serverless: true,
    readme: "A handler that gives back what it gets.",
  },
];

/** Well-known images, by tags that their makers maintain. */
const inContainers: OfficialTemplate[] = [
  {
    id: "ubuntu-shell",
    alias: "runpod-ubuntu",
    name: "Ubuntu",
    image: "ubuntu:24.04",
    cmd: ["sleep", "infinity"],
    category: "CPU",
    startSsh: true,
    readme: "Ubuntu 24.04 that waits for you: open a terminal in it.",
  },
  {
    id: "jupyter-notebook",
    name: "Jupyter",
    image: "quay.io/jupyter/minimal-notebook:python-3.12",
    cmd: [
      "bash",
      "-c",
      'exec start-notebook.py --ServerApp.ip=0.0.0.0 --ServerApp.allow_remote_access=True --IdentityProvider.token="$JUPYTER_PASSWORD"',
    ],
    ports: ["8888/http"],
    category: "CPU",
    startJupyter: true,
    mounts: { persistent: { size: 20, path: "/home/jovyan/work" } },
    portLabels: [{ port: "8888", name: "Jupyter" }],
    readme: "Jupyter with Python, behind the token in `JUPYTER_PASSWORD`.",
  },
  {
    id: "ollama-openai",
    name: "Ollama",
    image: "ollama/ollama:latest",
    cmd: ["serve"],
    ports: ["11434/http"],
    env: { OLLAMA_HOST: "0.0.0.0:11434" },
    disk: 40,
    category: "CPU",
    mounts: { persistent: { size: 40, path: "/root/.ollama" } },
    portLabels: [{ port: "11434", name: "OpenAI API" }],
    readme:
      "Language models on CPU or GPU with an OpenAI-compatible API at `/v1`. Pull one first: `ollama pull qwen2.5:0.5b`.",
  },
  {
    id: "vllm-openai",
    name: "vLLM",
    image: "vllm/vllm-openai:latest",
    cmd: ["--model", "Qwen/Qwen2.5-0.5B-Instruct", "--port", "8000"],
    ports: ["8000/http"],
    disk: 60,
    category: "NVIDIA",
    mounts: { persistent: { size: 40, path: "/root/.cache/huggingface" } },
    portLabels: [{ port: "8000", name: "OpenAI API" }],
    readme: "A language model on an NVIDIA GPU with an OpenAI-compatible API at `/v1`.",
  },
];

export const officialTemplateData: readonly OfficialTemplate[] = [...onThisMachine, ...inContainers];
