import { closeSync, existsSync, fsyncSync, openSync, writeFileSync } from "node:fs"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { keyLength } from "../../kernel/crypto/secret.ts"
import { snapshotBefore } from "../../store/index.ts"
import type { CommandTable, Flags, Outcome } from "../command-line.ts"
import { folderFlags, masterKeyFlag, settingsIn } from "../flags.ts"
import { type Claim, claimFolder, isRunning } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { masterKeyText, replaceMasterKey } from "../folder/master-key.ts"
import type { Start } from "../running.ts"
import { readConfig } from "../settings.ts"
import { startError, systemCode } from "../start-error.ts"

/** What the process lends to commands. */
type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  /** When it began, in ms. */
  readonly started: number
  readonly server: () => Promise<MasterKeys>
}

/** What opens a data folder with one master key or two. */
export type MasterKeys = {
  readonly prepareMaster: (start: Start, next: Uint8Array) => Promise<void>
  readonly takeMaster: (start: Start) => Promise<void>
}

export const keyCommands = (lent: Lent): CommandTable => ({
  "keys rotate-master": {
    help: "Put a new master key in the old one's place, while no server runs",
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      "--old-key-file": {
        hint: "OUT",
        help: "Keep the old key in this file: backups made before need it",
      },
    },
    run: (flags) => run(lent, flags),
  },
})

async function run({ env, random, started, server }: Lent, flags: Flags): Promise<Outcome> {
  const config = readConfig({ flags: settingsIn(flags), env })
  await refuseUnfit(config)
  const claim = await claimFolder(config, random)
  const oldKeyFile = flags["--old-key-file"]
  const before = snapshotBefore(claim.folder.database)
  const wasKept = existsSync(before)
  try {
    if (oldKeyFile !== undefined) writeOldKey(oldKeyFile, claim.master)
    await rotateMaster({ claim, config, random, started }, await server())
  } finally {
    claim.release()
  }
  const file = config.masterKeyFile ?? claim.folder.masterKey
  const old = oldKeyFile ? `The old key is in ${oldKeyFile}.` : "The old key is gone."
  const text = `  ${file} has a new master key: keep a copy of it in another place.
  ${old} Backups made before can only be brought back with that one.`
  const removed = wasKept && !existsSync(before) ? before : null
  const word = `\n  ${removed} could not be put under it and is removed: no upgrade undo any more.`
  return {
    text: removed ? text + word : text,
    data: { masterKeyFile: file, oldKeyFile: oldKeyFile ?? null, removed },
  }
}

type Rotation = {
  readonly claim: Claim
  readonly config: Config
  readonly random: Random
  readonly started: number
}

/** In three steps, each whole on disk before the next: wherever it ends, one key opens all. */
export async function rotateMaster(
  { claim, config, random, started }: Rotation,
  { prepareMaster, takeMaster }: MasterKeys,
): Promise<void> {
  const { folder, master } = claim
  const next = new Uint8Array(random.bytes(keyLength))
  await prepareMaster({ config, folder, master, started }, next)
  replaceMasterKey(folder, config, next)
  await takeMaster({ config, folder, master: next, started })
}

async function refuseUnfit(config: Config): Promise<void> {
  const folder = folderAt(config.data)
  const refuse = (because: string) => startError("master_key_fixed", because)
  if (config.database !== undefined) {
    throw refuse(
      "nodes that share a log in PostgreSQL share its master key: it can't be replaced yet",
    )
  }
  if (config.masterKey) {
    throw refuse(
      "LATCHKEY_MASTER_KEY or master_key gives the master key, which no command can change; " +
        "put it into a file that --master-key-file names, then rotate",
    )
  }
  if (!existsSync(folder.database)) {
    throw refuse(`there is no database in ${folder.path}; name the data folder with --data DIR`)
  }
  if (await isRunning(folder)) {
    throw refuse(`a server runs on ${folder.path}; stop it, rotate (a second), and start it again`)
  }
}

function writeOldKey(file: string, key: Uint8Array): void {
  try {
    const descriptor = openSync(file, "wx", 0o600)
    writeFileSync(descriptor, masterKeyText(key))
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch (cause) {
    throw startError("key_file_unusable", `${file} can't be made (${systemCode(cause)})`, cause)
  }
}
