import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Config } from "../kernel/config.ts"
import { type Address, isLoopback } from "../kernel/net/address.ts"
import { type Folder, openFolder } from "./folder/folder.ts"
import { startError } from "./start-error.ts"

/** A folder that is thrown away when the server stops, or kept where somebody names one. */
export function developmentFolder(data: string | undefined): {
  readonly data: string
  readonly discard: () => void
} {
  if (data !== undefined) return { data, discard: () => undefined }
  const made = mkdtempSync(join(tmpdir(), "latchkey-dev-"))
  return { data: made, discard: () => rmSync(made, { recursive: true, force: true }) }
}

/**
 * Makes a folder one for development, for good. Refuses one that holds anything else: what it is
 * filled with must never get among real people.
 */
export function claimForDevelopment(data: string): void {
  const folder = openFolder(data)
  if (existsSync(folder.development)) return
  if (readdirSync(folder.path).length > 0) {
    throw startError(
      "dev_folder_foreign",
      `${folder.path} was not made by latchkey dev; name an empty folder with --data DIR`,
    )
  }
  writeFileSync(
    folder.development,
    "Made by latchkey dev. Everybody knows the passwords in here.\n",
  )
}

/** Everybody knows who is in there, and what they sign in with. */
export function refuseDevelopment(folder: Folder): void {
  if (!existsSync(folder.development)) return
  throw startError(
    "dev_folder",
    `${folder.path} was made by latchkey dev; serve it with: latchkey dev --data ${folder.path}`,
  )
}

/**
 * Where it listens. Nobody but this machine may get there, where anybody may be anybody; and a
 * browser has to, so it is a port.
 */
export function developmentPlace(config: Config): Address {
  const { listen, grpcListen, metricsListen, redirectListen } = config
  const all = [listen, grpcListen, metricsListen, redirectListen]
  const isHere = all.every(
    (each) => !each || ("host" in each && (each.host === "localhost" || isLoopback(each.host))),
  )
  if (isHere && "port" in listen && listen.port !== 0) return listen
  throw startError(
    "dev_elsewhere",
    "latchkey dev listens on this machine alone: --listen 127.0.0.1:PORT",
  )
}
