import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import * as z from "zod/mini"
import type { Config } from "../../kernel/config.ts"
import { randomToken, systemRandom } from "../../kernel/crypto/random.ts"
import { writeDurably } from "../folder/durable.ts"
import type { Folder } from "../folder/folder.ts"
import { systemCode } from "../start-error.ts"
import { bucketAt, isInBucket } from "./bucket.ts"
import { beginningOf, knownLabel } from "./rotation.ts"

type Wanted = {
  /** Where another backup is about to go. */
  readonly to: string
  readonly config: Config
  readonly folder: Folder
  readonly isEncrypted: boolean
  /** Is told what stays all the same. */
  readonly warn: (text: string) => void
}

/** What a backup is called as long as it is not all there: like no file of another backup. */
export const partOf = (to: string): string => `${to}.${randomToken(systemRandom, 6)}.part`

/** Names the files that a backup makes, so that the next one of this folder finds what was left. */
export function noteMade({ backupMade }: Folder, files: readonly string[]): void {
  const names = files.map((file) => resolve(file))
  writeDurably(backupMade, `${JSON.stringify(names)}\n`)
}

/** Removes the files that a backup of this folder was making when it was killed. */
export function dropMade({ backupMade }: Folder, warn: Wanted["warn"]): void {
  if (!existsSync(backupMade)) return
  for (const file of madeIn(readFileSync(backupMade, "utf8"))) {
    if (file.endsWith(".part")) unless(file, warn, () => rmSync(file, { force: true }))
  }
  rmSync(backupMade, { force: true })
}

function madeIn(text: string): readonly string[] {
  try {
    const read = z.array(z.string()).safeParse(JSON.parse(text))
    return read.success ? read.data : []
  } catch {
    // A note that was cut names nothing.
    return []
  }
}

/**
 * Removes what a backup by itself that was killed has left beside where another one goes: it has no
 * name that anybody would find it by. What can't be removed is told, and costs no backup. Only for
 * who holds the lock of this data folder's backups, or it would take one that is being made.
 */
export async function dropLeftovers(wanted: Wanted): Promise<void> {
  const { to, config, folder, isEncrypted, warn } = wanted
  const label = knownLabel(folder)
  if (label === undefined || to === "-") return
  const beginning = beginningOf(label)
  if (isInBucket(to)) {
    const { dropUploads } = bucketAt(to.slice(0, to.lastIndexOf("/")), config, isEncrypted)
    return dropUploads(beginning)
  }
  const place = dirname(resolve(to))
  if (!existsSync(place)) return
  for (const name of unless(place, warn, () => readdirSync(place)) ?? []) {
    const isLeft = name.startsWith(beginning) && /\.backup(\.[\w-]+)?\.part$/.test(name)
    const left = join(place, name)
    if (isLeft) unless(left, warn, () => rmSync(left, { force: true }))
  }
}

/** What is done to a file, unless the system refuses it. */
function unless<T>(file: string, warn: Wanted["warn"], act: () => T): T | undefined {
  try {
    return act()
  } catch (cause) {
    const code = systemCode(cause)
    if (code === "") throw cause
    warn(`what broken off backups left stays: ${file} can't be removed or read (${code})`)
    return undefined
  }
}
