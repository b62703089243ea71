import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Config } from "../../../kernel/config.ts"
import type { Random } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import { sizeText } from "../../../kernel/text/size.ts"
import { stepBack } from "../../../runtime/thread.ts"
import type { Opening } from "../../backup/encryption.ts"
import { unlessInterrupted } from "../../backup/interrupt.ts"
import { restore } from "../../backup/restore.ts"
import { type Claim, claimFolder } from "../../folder/claim.ts"
import type { Folder } from "../../folder/folder.ts"
import { givenMasterKey } from "../../folder/master-key.ts"
import { type Finding, ok, warning, wrong } from "../finding.ts"
import { type RoomAt, sizeOf } from "./room.ts"

export type RestoreOptions = {
  readonly config: Config
  readonly folder: Folder
  readonly random: Random
  /** A file or s3://…; undefined where there is none. */
  readonly from: string | undefined
  readonly opening: Opening
  readonly roomAt: RoomAt
  /** Opens a data folder and tries everything in it. */
  readonly drill: (claim: Claim, config: Config) => Promise<Drilled>
}

export type Drilled = { readonly instances: number; readonly signatures: number }

/**
 * Restores a backup into the data folder, where only its owner can read it, compares every sum,
 * opens it, and removes it again. The caller holds the lock for it.
 */
export async function checkRestore(options: RestoreOptions): Promise<readonly Finding[]> {
  const { folder, from } = options
  if (from === undefined) {
    const todo = "set backup_folder, or name a backup with --backup FILE"
    return [warning("restore", "there is no backup to restore", todo)]
  }
  const lack = lackOfRoom(options, from)
  if (lack) return [lack]
  // Whoever signs in comes first.
  stepBack(15)
  try {
    mkdirSync(folder.doctorCopy, { mode: 0o700 })
    return await unlessInterrupted([folder.doctorCopy], () => restored(options, from))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    if (cause.id === "start.backup_locked") {
      const todo = "give --passphrase-file or --identity-file, or try it with restore --drill"
      return [warning("restore", `${from} is encrypted, and was not opened`, todo)]
    }
    const todo = "make another backup now, and see why this one is not whole"
    return [wrong("restore", `${from}: ${cause.message}`, todo)]
  } finally {
    rmSync(folder.doctorCopy, { recursive: true, force: true })
  }
}

/** A server that runs must not lose its disk to the copy. */
function lackOfRoom({ folder, roomAt }: RestoreOptions, from: string): Finding | undefined {
  // What is packed can be several times as large.
  const needed = Math.max(sizeOf(folder.database) * 1.2, sizeOf(from) * 4) + reserve
  const { bytes } = roomAt(folder.path)
  if (bytes >= needed) return undefined
  const room = `needs ${sizeText(needed)} in ${folder.path}, and ${sizeText(bytes)} are free`
  const said = `not tried: the copy ${room}`
  const todo = `latchkey restore ${from} --drill --work-folder DIR, on a disk with more room`
  return warning("restore", said, todo)
}

const reserve = 256e6

async function restored(
  { config, folder, random, opening, drill }: RestoreOptions,
  from: string,
): Promise<readonly Finding[]> {
  const data = join(folder.doctorCopy, "data")
  const manifest = await restore({ config: { ...config, data }, from, opening })
  const masterKey = manifest.isOpen ? undefined : givenMasterKey(folder, config)
  const there = { ...config, data, ...(masterKey && { masterKey, masterKeyFile: undefined }) }
  const claim = await claimFolder(there, random)
  try {
    const { instances, signatures } = await drill(claim, there)
    const counts = `${manifest.position} events, ${instances} instances, ${signatures} keys sign`
    return [ok("restore", `${from} of ${manifest.made} is whole: ${counts}`)]
  } finally {
    claim.release()
  }
}
