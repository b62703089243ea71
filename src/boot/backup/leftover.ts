import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import * as z from "zod/mini"
import type { Config } from "../../kernel/config.ts"
import { randomToken, systemRandom } from "../../kernel/crypto/random.ts"
import { writeDurably } from "../folder/durable.ts"
import type { Folder } from "../folder/folder.ts"
import { systemCode } from "../start-error.ts"
import { bucketAt, isInBucket } from "./bucket.ts"
import { findLabel, namePrefixOf } from "./rotation.ts"

type DropLeftoversOptions = {
  /** The destination of the next backup. */
  readonly to: string
  readonly config: Config
  readonly folder: Folder
  readonly isEncrypted: boolean
  /** Called with files that can't be removed. */
  readonly warn: (text: string) => void
}

/** The temporary name of an incomplete backup, which no other backup uses. */
export const temporaryNameOf = (to: string): string => `${to}.${randomToken(systemRandom, 6)}.part`

/**
 * Records the files that a backup is writing, so that the next backup of this data directory can
 * remove leftovers.
 */
export function recordTemporaryFiles({ backupMade }: Folder, files: readonly string[]): void {
  const names = files.map((file) => resolve(file))
  writeDurably(backupMade, `${JSON.stringify(names)}\n`)
}

/** Removes the files of a killed backup of this data directory. */
export function dropRecordedFiles(
  { backupMade }: Folder,
  warn: DropLeftoversOptions["warn"],
): void {
  if (!existsSync(backupMade)) return
  for (const file of parseRecord(readFileSync(backupMade, "utf8"))) {
    if (file.endsWith(".part")) tryFile(file, warn, () => rmSync(file, { force: true }))
  }
  rmSync(backupMade, { force: true })
}

function parseRecord(text: string): readonly string[] {
  try {
    const read = z.array(z.string()).safeParse(JSON.parse(text))
    return read.success ? read.data : []
  } catch {
    // A truncated record names no files.
    return []
  }
}

/**
 * Removes incomplete files that a killed scheduled backup left at the destination. Files that can't
 * be removed are reported, and the backup continues. The caller must hold the backup lock of the
 * data directory; otherwise this could remove a running backup.
 */
export async function dropLeftovers(options: DropLeftoversOptions): Promise<void> {
  const { to, config, folder, isEncrypted, warn } = options
  const label = findLabel(folder)
  if (label === undefined || to === "-") return
  const beginning = namePrefixOf(label)
  if (isInBucket(to)) {
    const { abortUploads } = bucketAt(to.slice(0, to.lastIndexOf("/")), config, isEncrypted)
    return abortUploads(beginning)
  }
  const directory = dirname(resolve(to))
  if (!existsSync(directory)) return
  for (const name of tryFile(directory, warn, () => readdirSync(directory)) ?? []) {
    const isLeft = name.startsWith(beginning) && /\.backup(\.[\w-]+)?\.part$/.test(name)
    const left = join(directory, name)
    if (isLeft) tryFile(left, warn, () => rmSync(left, { force: true }))
  }
}

/** Runs `act` on a file and reports an error of the operating system. */
function tryFile<T>(file: string, warn: DropLeftoversOptions["warn"], act: () => T): T | undefined {
  try {
    return act()
  } catch (cause) {
    const code = systemCode(cause)
    if (code === "") throw cause
    warn(`leftovers of an interrupted backup remain: ${file} can't be read or deleted (${code})`)
    return undefined
  }
}
