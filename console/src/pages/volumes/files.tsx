/** The files of a volume: folders in the address, list by page, preview, upload, download, move and delete. */
import type { VolumeFile } from "@millrace/platform/resources/volume-files/model.ts";
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { File as FileIcon, Folder, FolderPlus, Upload } from "lucide-react";
import { type DragEvent, useMemo, useRef, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { sizeText, When } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { DataTable } from "../../design/table.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { type Dropped, droppedIn, MOST_DROPPED } from "./dropped.ts";
import { DeleteFiles, MoveFile, NewFolder } from "./file-dialogs.tsx";
import { VolumeFrame } from "./frame.tsx";
import { crumbsOf, inOrder, joined } from "./paths.ts";
import { Preview } from "./preview.tsx";
import { saveFile } from "./save-file.ts";
import { UploadList } from "./upload-list.tsx";
import { type Uploads, useUploads } from "./use-uploads.ts";
import css from "./volumes.module.css";

const columns: Column<VolumeFile>[] = [
  {
    id: "name",
    title: "Name",
    value: ({ name }) => name,
    cell: ({ name, kind }) => (
      <span className={css.file}>
        {kind === "FOLDER" ? <Folder aria-label="Folder" /> : <FileIcon aria-label="File" />}
        {name}
      </span>
    ),
  },
  {
    id: "size",
    title: "Size",
    value: ({ kind, size }) => (kind === "FOLDER" ? undefined : size),
    cell: ({ kind, size }) => (kind === "FOLDER" ? <span className="quiet">–</span> : sizeText(size)),
    isNumber: true,
  },
  {
    id: "modifiedAt",
    title: "Changed",
    value: ({ modifiedAt }) => modifiedAt,
    cell: ({ modifiedAt }) => <When at={modifiedAt} />,
  },
  { id: "etag", title: "ETag", value: ({ etag }) => etag, cell: ({ etag }) => <code>{etag}</code>, isExtra: true },
];

export function VolumeFiles() {
  const { id } = useParams({ strict: false }) as { id: string };
  const [path] = useView<string>("path", "");
  // They go on while a person looks into other folders.
  const uploads = useUploads(id);
  return (
    <VolumeFrame curl={curlOf("listVolumeFiles", { params: { id }, query: { path } })}>
      {(volume) => <Browser key={path} volume={volume} path={path} uploads={uploads} />}
    </VolumeFrame>
  );
}

type Open = { dialog: "folder" } | { dialog: "move" | "delete"; files: readonly VolumeFile[]; done?: () => void };

function Browser({ volume: { id }, path, uploads }: { volume: NetworkVolume; path: string; uploads: Uploads }) {
  const navigate = useNavigate();
  const [prefix, setPrefix] = useView<string>("prefix", "");
  const [previewed, setPreviewed] = useView("file");
  const [open, setOpen] = useState<Open>();
  const mayNot = useMayNot("network-volumes:write");
  const { rows, error, refetch, more } = useList<VolumeFile>(
    { list: "listVolumeFiles", key: "files" },
    { ...(path && { path }), ...(prefix && { prefix }), limit: 500 },
    { id },
  );
  const shown = useMemo(() => rows && inOrder(rows), [rows]);
  const named = (paths: readonly string[]) => shown?.filter((file) => paths.includes(file.path)) ?? [];
  const take = (files: readonly Dropped[]) => {
    if (files.length === 0) say("There is no file in it");
    else if (files.length <= MOST_DROPPED) uploads.add(files.map((one) => ({ ...one, path: joined(path, one.path) })));
    else
      say(
        `These are more than ${MOST_DROPPED} files`,
        "Nothing is uploaded. For so many, use S3: the tab S3 access says how.",
      );
  };
  const close = () => setOpen(undefined);
  return (
    <DropPlace refused={mayNot} onFiles={take}>
      <Crumbs volume={id} path={path} />
      <UploadList {...uploads} />
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="files"
          rows={shown}
          columns={columns}
          idOf={(file) => file.path}
          more={more}
          onOpen={(file) =>
            file.kind === "FOLDER"
              ? void navigate({ to: "/volumes/$id/files", params: { id }, search: { path: file.path } })
              : setPreviewed(file.name)
          }
          bulk={(paths, clear) => (
            <Button
              size="small"
              kind="danger"
              refused={mayNot}
              onClick={() => setOpen({ dialog: "delete", files: named(paths), done: clear })}
            >
              Delete
            </Button>
          )}
          rowActions={(file) => (
            <Menu
              label={`Actions for ${file.name}`}
              items={[
                file.kind === "FILE" && {
                  label: "Download",
                  refused: mayNot,
                  onSelect: () => void saveFile(id, file).catch(sayRefused),
                },
                {
                  label: "Rename or move",
                  refused: mayNot,
                  onSelect: () => setOpen({ dialog: "move", files: [file] }),
                },
                {
                  label: "Delete",
                  isDanger: true,
                  refused: mayNot,
                  onSelect: () => setOpen({ dialog: "delete", files: [file] }),
                },
              ]}
            />
          )}
          tools={
            <>
              <SearchField label="Begins with" value={prefix} onChange={setPrefix} />
              <Button icon={<FolderPlus />} refused={mayNot} onClick={() => setOpen({ dialog: "folder" })}>
                New folder
              </Button>
              <UploadButton refused={mayNot} onFiles={take} />
            </>
          }
          empty={
            prefix ? (
              <Empty title="No name begins so">Clear the field above to see the whole folder.</Empty>
            ) : (
              <Empty title={path === "" ? "The volume is empty" : "The folder is empty"}>
                Drop files here, or upload them with the button above. Programs that mount the volume see them at once.
              </Empty>
            )
          }
        />
      )}
      <Preview
        volume={id}
        mayNot={mayNot}
        file={shown?.find(({ name, kind }) => name === previewed && kind === "FILE")}
        onClose={() => setPreviewed(undefined)}
      />
      {open?.dialog === "folder" && <NewFolder volume={id} folder={path} onClose={close} />}
      {open?.dialog === "move" && <MoveFile volume={id} file={open.files[0]!} onClose={close} />}
      {open?.dialog === "delete" && (
        <DeleteFiles volume={id} files={open.files} onClose={close} {...(open.done && { onDone: open.done })} />
      )}
    </DropPlace>
  );
}

function Crumbs({ volume, path }: { volume: string; path: string }) {
  const crumbs = [{ name: "Top", path: "" }, ...crumbsOf(path)];
  return (
    <nav aria-label="Folder" className={css.crumbs}>
      <ol>
        {crumbs.map((crumb) => (
          <li key={crumb.path}>
            {crumb.path === path ? (
              <span aria-current="page">{crumb.name}</span>
            ) : (
              <Link
                to="/volumes/$id/files"
                params={{ id: volume }}
                search={{ path: crumb.path === "" ? undefined : crumb.path }}
              >
                {crumb.name}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

interface Taking {
  refused: string | undefined;
  onFiles: (files: readonly Dropped[]) => void;
}

function UploadButton({ refused, onFiles }: Taking) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button kind="primary" icon={<Upload />} refused={refused} onClick={() => input.current?.click()}>
        Upload
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])].map((file) => ({ path: file.name, file })));
          target.value = "";
        }}
      />
    </>
  );
}

function DropPlace({ refused, onFiles, children }: Taking & { children: React.ReactNode }) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    if (refused || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button above does the same for the keyboard
    <div
      className={css.drop}
      data-over={isOver || undefined}
      onDragOver={over}
      onDragLeave={(event) => event.currentTarget === event.target && setOver(false)}
      onDrop={(event) => {
        if (refused) return;
        event.preventDefault();
        setOver(false);
        void droppedIn(event.dataTransfer).then(onFiles, sayRefused);
      }}
    >
      {children}
    </div>
  );
}
