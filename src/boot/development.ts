import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Config } from "../kernel/config.ts"
import { type Address, isLoopback } from "../kernel/net/address.ts"
import { type Folder, openFolder } from "./folder/folder.ts"
import { startError } from "./start-error.ts"

/**
 * A temporary directory that is deleted when the server stops, or the directory that the user
 * names.
 */
export function openDevelopmentFolder(data: string | undefined): {
  readonly data: string
  readonly discard: () => void
} {
  if (data !== undefined) return { data, discard: () => undefined }
  const directory = mkdtempSync(join(tmpdir(), "latchkey-dev-"))
  return { data: directory, discard: () => rmSync(directory, { recursive: true, force: true }) }
}

/**
 * Marks a directory as a development instance permanently. Throws if it contains anything else,
 * because the well-known users must never be mixed with real ones.
 */
export function claimForDevelopment(data: string): void {
  const folder = openFolder(data)
  if (existsSync(folder.development)) return
  if (readdirSync(folder.path).length > 0) {
    throw startError(
      "dev_folder_foreign",
      `${folder.path} was not created by latchkey dev; name an empty directory with --data DIR`,
    )
  }
  writeFileSync(
    folder.development,
    "Created by latchkey dev. The passwords of its users are public.\n",
  )
}

/** Throws for a development instance, whose users and passwords are public. */
export function rejectDevelopment(folder: Folder): void {
  if (!existsSync(folder.development)) return
  throw startError(
    "dev_folder",
    `${folder.path} was created by latchkey dev; serve it with: latchkey dev --data ` +
      `${folder.path}`,
  )
}

/**
 * The listen address. It must be a loopback port, because anyone who can reach it can sign in as
 * any user, and browsers can't open a socket.
 */
export function developmentAddress(config: Config): Address {
  const { listen, grpcListen, metricsListen, redirectListen } = config
  const all = [listen, grpcListen, metricsListen, redirectListen]
  const isHere = all.every(
    (each) => !each || ("host" in each && (each.host === "localhost" || isLoopback(each.host))),
  )
  if (isHere && "port" in listen && listen.port !== 0) return listen
  throw startError(
    "dev_elsewhere",
    "latchkey dev must listen on a loopback address: --listen 127.0.0.1:PORT",
  )
}
