/** `millrace volumes ls|cp|sync|rm|mkdir|mv|link`: the files of network volumes. */
import { volumeFileOperations } from "@millrace/platform/resources/volume-files/operations.ts";
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { confirmed } from "./ask.ts";
import { type Copied, type CopyOptions, download, Progress, sizeText, upload } from "./copy.ts";
import { wrongUse } from "./failure.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";
import { printTable, tableLines } from "./table.ts";
import { filesIn, mustBeRemote, remoteFiles, remotePath, withVolume } from "./volume-paths.ts";

interface Options extends TargetOptions {
  json?: boolean;
  recursive?: boolean;
  yes?: boolean;
}

const made = (name: string, about: string, example: string) =>
  withTarget(new Command(name).description(about))
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  millrace volumes ${name} ${example}`);

export function volumeFileCommands(shell: Shell): Command[] {
  return [ls(shell), cp(shell), sync(shell), rm(shell), mkdir(shell), mv(shell), link(shell)];
}

function ls(shell: Shell): Command {
  return made("ls", "list a folder of a volume", "data:models")
    .argument("<volume:path>", "the folder; a volume alone is its top")
    .option("-r, --recursive", "list every file below it")
    .action(async (text: string, { json, recursive, ...target }: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const { volume, path } = mustBeRemote(text);
      const files = await withVolume<{ size: number }[]>(api, volume, (id) =>
        recursive ? Array.fromAsync(remoteFiles(api, id, path)) : filesIn(api, id, path),
      );
      if (json) return writeLine(shell.stdout, JSON.stringify({ files }));
      const rows = files.map((file) => ({ ...file, size: sizeText(file.size) }));
      printTable(shell, tableLines(rows, recursive ? ["size", "name"] : ["kind", "size", "modifiedAt", "name"]));
    });
}

function cp(shell: Shell): Command {
  return made("cp", "copy files to a volume or from one", "./models/a.bin data:models/")
    .argument("<source>", "a path of this machine, or VOLUME:PATH")
    .argument("<target>", "the other of the two")
    .option("-r, --recursive", "copy a folder with all that it holds")
    .option("--force", "copy equal files too")
    .action((source: string, target: string, options: Options & CopyOptions) => copy(shell, source, target, options));
}

function sync(shell: Shell): Command {
  return made("sync", "copy what differs between a folder and a volume", "./models data:models --delete")
    .argument("<source>", "a folder of this machine, or VOLUME:PATH")
    .argument("<target>", "the other of the two")
    .option("--delete", "delete in the target what the source does not have")
    .action((source: string, target: string, options: Options & CopyOptions) =>
      copy(shell, source, target, { ...options, recursive: true }),
    );
}

async function copy(shell: Shell, source: string, target: string, options: Options & CopyOptions): Promise<void> {
  const [from, to] = [remotePath(source), remotePath(target)];
  if ((from === undefined) === (to === undefined))
    throw wrongUse("one of the two must be on a volume, as VOLUME:PATH, and the other on this machine");
  const api = await ApiClient.open(options, shell.env);
  const copying = { api, progress: new Progress(shell) };
  const said = from ? await download(copying, from, target, options) : await upload(copying, source, to!, options);
  writeLine(shell.stdout, options.json ? JSON.stringify(said) : summary(said));
}

const summary = ({ copied, skipped, deleted, bytes }: Copied) =>
  [`copied ${copied} (${sizeText(bytes)})`, skipped > 0 && `${skipped} equal`, deleted > 0 && `deleted ${deleted}`]
    .filter(Boolean)
    .join(", ");

function rm(shell: Shell): Command {
  return made("rm", "delete files or folders of a volume", "data:models/a.bin --yes")
    .argument("<volume:path...>", "the files or folders")
    .option("-r, --recursive", "delete folders with all that they hold")
    .option("--yes", "do not ask")
    .action(async (texts: string[], { json, recursive, yes, ...target }: Options) => {
      const paths = texts.map(mustBeRemote);
      if (paths.some(({ path }) => path === ""))
        throw wrongUse("name a path on the volume; 'volumes delete' deletes a volume");
      await confirmed(shell, `this deletes ${texts.join(", ")}, for good`, yes);
      const api = await ApiClient.open(target, shell.env);
      let removed = 0;
      for (const { volume, path } of paths)
        removed += await withVolume(api, volume, (id) => removeAll(api, id, path, recursive));
      writeLine(shell.stdout, json ? JSON.stringify({ removed }) : `deleted ${removed}`);
    });
}

async function removeAll(api: ApiClient, id: string, path: string, recursive = false): Promise<number> {
  const ask = { params: { id }, query: { path, recursive } };
  let removed = 0;
  for (let isComplete = false; !isComplete; ) {
    const answer = await api.call(volumeFileOperations.deleteVolumeFiles, ask);
    removed += answer.removed;
    ({ isComplete } = answer);
  }
  return removed;
}

function mkdir(shell: Shell): Command {
  return made("mkdir", "make a folder on a volume", "data:models")
    .argument("<volume:path>", "the folder")
    .action(async (text: string, { json, ...target }: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const { volume, path } = mustBeRemote(text);
      const answer = await withVolume(api, volume, (id) =>
        api.call(volumeFileOperations.createVolumeFolder, { params: { id }, body: { path } }),
      );
      writeLine(shell.stdout, json ? JSON.stringify(answer) : `made ${volume}:${answer.path}`);
    });
}

function mv(shell: Shell): Command {
  return made("mv", "move a file or folder within a volume", "data:models data:weights")
    .argument("<from>", "VOLUME:PATH")
    .argument("<to>", "VOLUME:PATH on the same volume")
    .action(async (source: string, target: string, { json, ...server }: Options) => {
      const [from, to] = [mustBeRemote(source), mustBeRemote(target)];
      if (from.volume !== to.volume) throw wrongUse("both must be on the same volume: copy, then delete");
      const api = await ApiClient.open(server, shell.env);
      const answer = await withVolume(api, from.volume, (id) =>
        api.call(volumeFileOperations.moveVolumeFile, { params: { id }, body: { from: from.path, to: to.path } }),
      );
      writeLine(shell.stdout, json ? JSON.stringify(answer) : `moved to ${to.volume}:${answer.path}`);
    });
}

function link(shell: Shell): Command {
  return made("link", "make a link to a file, good for five minutes", "data:weights/a.bin")
    .argument("<volume:path>", "the file")
    .action(async (text: string, { json, ...target }: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const { volume, path } = mustBeRemote(text);
      const answer = await withVolume(api, volume, (id) =>
        api.call(volumeFileOperations.createVolumeFileLink, { params: { id }, body: { path } }),
      );
      const url = new URL(answer.url, api.target.url).href;
      writeLine(shell.stdout, json ? JSON.stringify({ ...answer, url }) : url);
    });
}
