import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { lowerThreadPriority } from "../../runtime/thread.ts"
import {
  type CommandResult,
  type CommandTable,
  type Flag,
  type Flags,
  usageError,
} from "../command-line.ts"
import { folderFlags, masterKeyFlag, settingFlagsOf, storageFlags } from "../flags.ts"
import { claimFolder } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { findMasterKey } from "../folder/master-key.ts"
import type { StartInput } from "../running.ts"
import { readConfig } from "../settings.ts"
import { readPassword } from "../setup.ts"
import type { DecryptionKey, Encryption } from "./encryption.ts"
import type { RestoreResult } from "./restore.ts"

/** The dependencies that the process provides to commands. */
export type BackupContext = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly random: Random
  /** When the process started, in ms since the epoch. */
  readonly started: number
  /** Opens a data directory and checks everything in it. */
  readonly drill: (start: StartInput) => Promise<{ instances: number; signatures: number }>
}

const passphraseFlag: Flag = { hint: "FILE", help: "File that contains the passphrase" }
const workFolderFlag: Flag = {
  hint: "DIR",
  help: "Directory for temporary files, with room for a copy of the database",
}

/** The flags for decrypting a backup. */
export const openingFlags = {
  "--passphrase-file": passphraseFlag,
  "--identity-file": {
    hint: "FILE",
    help: "Identity file created by age-keygen, for a backup made with --recipient",
  },
} as const satisfies Record<string, Flag>

/** The commands that create and restore backups. */
export const backupCommands = (context: BackupContext): CommandTable => ({
  backup: {
    help: "Back up everything to one file, even while the server runs",
    arguments: {
      FILE: { help: "New file, s3://BUCKET/NAME, or - for standard output" },
    },
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      ...storageFlags,
      "--passphrase-file": {
        ...passphraseFlag,
        help: "Encrypt the backup (age) with the passphrase in this file",
      },
      "--recipient": {
        hint: "AGE1…",
        help: "Encrypt the backup (age) for this public key",
      },
      "--include-master-key": { help: "Include the master key, which decrypts all secrets" },
      "--work-folder": workFolderFlag,
    },
    run: (flags) => runBackup(context, flags),
  },
  restore: {
    help: "Restore a backup into an empty data directory",
    arguments: {
      FILE: { help: "Backup file, s3://BUCKET/NAME, or - for standard input" },
    },
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      ...storageFlags,
      ...openingFlags,
      "--check": { help: "Only read the backup to the end and print its contents" },
      "--drill": {
        help: "Test the backup: restore it temporarily, check all data, delete it again",
      },
      "--work-folder": {
        ...workFolderFlag,
        help: "Directory for the test restore (default: the temporary directory)",
      },
    },
    run: (flags) => runRestore(context, flags),
  },
})

async function runBackup({ env, clock }: BackupContext, flags: Flags): Promise<CommandResult> {
  const { backup, formatBackupResult } = await import("./backup.ts")
  // Lowers the priority so that sign-ins are not delayed.
  lowerThreadPriority(15)
  const request = {
    config: readConfig({ flags: settingFlagsOf(flags), env }),
    clock,
    to: flags.FILE ?? "",
    withMasterKey: flags["--include-master-key"] !== undefined,
    encryption: encryptionFrom(flags),
    workFolder: flags["--work-folder"],
    warn: (text: string) => void process.stderr.write(`${text}\n`),
  }
  const saved = await backup(request)
  return request.to === "-" ? {} : { text: formatBackupResult(saved, request), data: saved }
}

function encryptionFrom(flags: Flags): Encryption | undefined {
  const { "--passphrase-file": file, "--recipient": recipient } = flags
  if (file && recipient)
    throw usageError("--passphrase-file and --recipient can't be used together")
  if (recipient) return { recipients: recipient.split(",") }
  return file === undefined ? undefined : { passphrase: readPassphrase(file) }
}

function readPassphrase(file: string): string {
  const passphrase = readPassword(file)
  if (passphrase === "") throw usageError(`${file} is empty; it must contain the passphrase`)
  return passphrase
}

async function runRestore(context: BackupContext, flags: Flags): Promise<CommandResult> {
  const { readBackupManifest, formatManifest, restore, formatRestoreResult } = await import(
    "./restore.ts"
  )
  const opening = await openingFrom(flags)
  const request = {
    config: readConfig({ flags: settingFlagsOf(flags), env: context.env }),
    from: flags.FILE ?? "",
    opening,
  }
  if (flags["--drill"]) return runDrill(context, { ...request, flags })
  if (flags["--check"]) {
    const manifest = await readBackupManifest(request)
    return { text: formatManifest(manifest), data: manifest }
  }
  const restored = await restore(request)
  return { text: formatRestoreResult(restored, request), data: restoreJson(restored) }
}

export async function openingFrom(flags: Flags): Promise<DecryptionKey> {
  const { "--passphrase-file": passphraseFile, "--identity-file": identityFile } = flags
  const { readIdentities } = await import("./encryption.ts")
  return {
    ...(passphraseFile && { passphrase: readPassphrase(passphraseFile) }),
    ...(identityFile && { identities: readIdentities(identityFile) }),
  }
}

/** The output with `--json`, whose names programs read. */
const restoreJson = ({ hasMasterKey, ...manifest }: RestoreResult) => ({
  ...manifest,
  isOpen: hasMasterKey,
})

type DrillInput = {
  readonly config: Config
  readonly from: string
  readonly opening: DecryptionKey
  readonly flags: Flags
}

/** Uses the master key from the backup, from the configuration or from the data directory. */
async function runDrill(context: BackupContext, { config, from, opening, flags }: DrillInput) {
  const { formatManifest, restore } = await import("./restore.ts")
  const { withCleanupOnSignal } = await import("./interrupt.ts")
  const folder = mkdtempSync(join(resolve(flags["--work-folder"] ?? tmpdir()), "latchkey-drill-"))
  const data = join(folder, "data")
  try {
    return await withCleanupOnSignal([folder], async () => {
      const manifest = await restore({ config: { ...config, data }, from, opening })
      const masterKey = manifest.hasMasterKey
        ? undefined
        : findMasterKey(folderAt(config.data), config)
      const restoreConfig = {
        ...config,
        data,
        ...(masterKey && { masterKey, masterKeyFile: undefined }),
      }
      const claim = await claimFolder(restoreConfig, context.random)
      try {
        const found = await context.drill({
          ...claim,
          config: restoreConfig,
          started: context.started,
        })
        const { instances, signatures } = found
        const drillResult = `${instances} instances opened, ${signatures} signing keys verified`
        const text = `${formatManifest(manifest)}\n  All events and rows are intact; ${drillResult}`
        return { text, data: { ...restoreJson(manifest), ...found } }
      } finally {
        claim.release()
      }
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
