import { folderAt } from "../../boot/folder/folder.ts"
import type { Start } from "../../boot/running.ts"
import type { Config } from "../../kernel/config.ts"

/** What a worker is told when it begins; plain JSON. */
export type Beginning = {
  readonly part: number
  /** Of the program: another one may have taken its place on disk. */
  readonly version: string
  readonly port: number
  readonly upstream: string
  readonly started: number
  /** In base64. */
  readonly master: string
  /** Without what only the process that writes needs. A number without end is none in JSON. */
  readonly config: Omit<Config, "limits" | Withheld> & { readonly limits: string }
  /** Why the service is not ready yet. */
  readonly notReady?: string | undefined
}

/** Secrets of what goes to others: backups, and all that happens. */
type Withheld = "masterKey" | "s3Secret" | "auditCollectorAuthorization"

export function beginningOf(
  { config, master, started }: Start,
  how: Pick<Beginning, "part" | "version" | "port" | "upstream">,
): Beginning {
  const { masterKey: _, s3Secret: __, auditCollectorAuthorization: ___, ...rest } = config
  const { limits, ...told } = rest
  return {
    ...how,
    started,
    master: Buffer.from(master).toString("base64"),
    config: { ...told, limits: String(limits) },
  }
}

/** What it stands on. */
export function startOf(
  { config, master, started, port }: Beginning,
  env: NonNullable<Start["env"]>,
): Start {
  const { limits, listen, ...told } = config
  return {
    config: { ...told, limits: Number(limits), listen: { ...listen, port } },
    folder: folderAt(config.data),
    master: new Uint8Array(Buffer.from(master, "base64")),
    started,
    env,
  }
}
