import { folderAt } from "../../boot/folder/folder.ts"
import type { StartInput } from "../../boot/running.ts"
import type { Config } from "../../kernel/config.ts"

/** The start message of a worker; plain JSON. */
export type WorkerStart = {
  readonly part: number
  /** The version of the program, which may have been replaced on disk. */
  readonly version: string
  readonly port: number
  readonly upstream: string
  readonly started: number
  /** In base64. */
  readonly master: string
  /** Without settings that only the writer needs. Infinity can't be represented in JSON. */
  readonly config: Omit<Config, "limits" | WithheldSetting> & { readonly limits: string }
  /** Why the service is not ready yet. */
  readonly notReady?: string | undefined
}

/** Secrets for backups and the audit collector. */
type WithheldSetting = "masterKey" | "s3Secret" | "auditCollectorAuthorization"

export function createWorkerStart(
  { config, master, started }: StartInput,
  options: Pick<WorkerStart, "part" | "version" | "port" | "upstream">,
): WorkerStart {
  const { masterKey: _, s3Secret: __, auditCollectorAuthorization: ___, ...rest } = config
  const { limits, ...sharedConfig } = rest
  return {
    ...options,
    started,
    master: Buffer.from(master).toString("base64"),
    config: { ...sharedConfig, limits: String(limits) },
  }
}

/** The start input of the worker. */
export function startInputOf(
  { config, master, started, port }: WorkerStart,
  env: NonNullable<StartInput["env"]>,
): StartInput {
  const { limits, listen, ...sharedConfig } = config
  return {
    config: { ...sharedConfig, limits: Number(limits), listen: { ...listen, port } },
    folder: folderAt(config.data),
    master: new Uint8Array(Buffer.from(master, "base64")),
    started,
    env,
  }
}
