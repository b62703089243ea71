import { closeSync, existsSync, fsyncSync, openSync, writeFileSync } from "node:fs"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { keyLength } from "../../kernel/crypto/secret.ts"
import { upgradeSnapshotOf } from "../../store/index.ts"
import type { CommandResult, CommandTable, Flags } from "../command-line.ts"
import { folderFlags, masterKeyFlag, settingFlagsOf } from "../flags.ts"
import { claimFolder, type FolderClaim, isRunning } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { formatMasterKey, replaceMasterKey } from "../folder/master-key.ts"
import type { StartInput } from "../running.ts"
import { readConfig } from "../settings.ts"
import { startError, systemCode } from "../start-error.ts"

/** The dependencies that the process provides to the commands. */
type KeyContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly random: Random
  /** When the process started, in ms since the epoch. */
  readonly started: number
  readonly server: () => Promise<MasterKeys>
}

/** Opens a data directory with one master key or with both. */
export type MasterKeys = {
  readonly prepareMaster: (start: StartInput, next: Uint8Array) => Promise<void>
  readonly takeMaster: (start: StartInput) => Promise<void>
}

export const keyCommands = (context: KeyContext): CommandTable => ({
  "keys rotate-master": {
    help: "Replace the master key while no server runs",
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      "--old-key-file": {
        hint: "OUT",
        help: "Save the old key to this file; existing backups require it",
      },
    },
    run: (flags) => runRotation(context, flags),
  },
})

async function runRotation(
  { env, random, started, server }: KeyContext,
  flags: Flags,
): Promise<CommandResult> {
  const config = readConfig({ flags: settingFlagsOf(flags), env })
  await requireRotatable(config)
  const claim = await claimFolder(config, random)
  const oldKeyFile = flags["--old-key-file"]
  const before = upgradeSnapshotOf(claim.folder.database)
  const wasKept = existsSync(before)
  try {
    if (oldKeyFile !== undefined) writeOldKey(oldKeyFile, claim.master)
    await rotateMaster({ claim, config, random, started }, await server())
  } finally {
    claim.release()
  }
  const file = config.masterKeyFile ?? claim.folder.masterKey
  const old = oldKeyFile ? `The old key is in ${oldKeyFile}.` : "The old key was deleted."
  const text =
    `  ${file} contains the new master key: keep a copy of it in another place.\n  ${old} ` +
    "Existing backups can only be restored with the old key."
  const removed = wasKept && !existsSync(before) ? before : null
  const word =
    `\n  ${removed} could not be re-encrypted and was deleted: upgrade undo is no longer ` +
    "possible."
  return {
    text: removed ? text + word : text,
    data: { masterKeyFile: file, oldKeyFile: oldKeyFile ?? null, removed },
  }
}

type Rotation = {
  readonly claim: FolderClaim
  readonly config: Config
  readonly random: Random
  readonly started: number
}

/**
 * Runs in three steps, each complete on disk before the next. At any point, one key opens all data.
 */
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

async function requireRotatable(config: Config): Promise<void> {
  const folder = folderAt(config.data)
  const refuse = (reason: string) => startError("master_key_fixed", reason)
  if (config.database !== undefined) {
    throw refuse("the master key of nodes that share a log in PostgreSQL can't be replaced")
  }
  if (config.masterKey) {
    throw refuse(
      "LATCHKEY_MASTER_KEY or master_key sets the master key, which this command can't " +
        "change; move the key to a file, set --master-key-file, then rotate",
    )
  }
  if (!existsSync(folder.database)) {
    throw refuse(`no database found in ${folder.path}; name the data directory with --data DIR`)
  }
  if (await isRunning(folder)) {
    throw refuse(`a server runs on ${folder.path}; stop it, rotate the key, and start it again`)
  }
}

function writeOldKey(file: string, key: Uint8Array): void {
  try {
    const descriptor = openSync(file, "wx", 0o600)
    writeFileSync(descriptor, formatMasterKey(key))
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch (cause) {
    throw startError("key_file_unusable", `${file} can't be created (${systemCode(cause)})`, cause)
  }
}
