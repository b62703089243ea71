import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { stepBack } from "../../runtime/thread.ts"
import {
  type CommandTable,
  type Flag,
  type Flags,
  type Outcome,
  usageError,
} from "../command-line.ts"
import { folderFlags, masterKeyFlag, settingsIn, storageFlags } from "../flags.ts"
import { claimFolder } from "../folder/claim.ts"
import { folderAt } from "../folder/folder.ts"
import { givenMasterKey } from "../folder/master-key.ts"
import type { Start } from "../running.ts"
import { readConfig } from "../settings.ts"
import { passwordIn } from "../setup.ts"
import type { Encryption, Opening } from "./encryption.ts"

/** What the process lends to commands. */
export type Lent = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly random: Random
  /** When it began, in ms. */
  readonly started: number
  /** Opens a data folder and tries everything in it. */
  readonly drill: (start: Start) => Promise<{ instances: number; signatures: number }>
}

const passphrase: Flag = { hint: "FILE", help: "File with the passphrase" }
const workFolder: Flag = {
  hint: "DIR",
  help: "Where to put what is needed meanwhile, as large as the database",
}

/** What opens an encrypted backup. */
export const openingFlags = {
  "--passphrase-file": passphrase,
  "--identity-file": { hint: "FILE", help: "What age-keygen made, for --recipient" },
} as const satisfies Record<string, Flag>

/** The commands that save a data folder and bring it back. */
export const backupCommands = (lent: Lent): CommandTable => ({
  backup: {
    help: "Save everything in one file, also while the server runs",
    words: {
      FILE: { help: "A file or s3://BUCKET/NAME that is not there yet, or - for standard output" },
    },
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      ...storageFlags,
      "--passphrase-file": { ...passphrase, help: "Encrypt it (age); the file has the passphrase" },
      "--recipient": {
        hint: "AGE1…",
        help: "Encrypt it (age) for who has this public key's other",
      },
      "--include-master-key": { help: "Put the master key in, too: whoever reads it has it all" },
      "--work-folder": workFolder,
    },
    run: (flags) => runBackup(lent, flags),
  },
  restore: {
    help: "Bring a backup back, into a folder that is empty",
    words: {
      FILE: { help: "What latchkey backup made, also s3://BUCKET/NAME, or - for standard input" },
    },
    flags: {
      ...folderFlags,
      ...masterKeyFlag,
      ...storageFlags,
      ...openingFlags,
      "--check": { help: "Only read it to its end, and say what it holds" },
      "--drill": { help: "Try it: restore it elsewhere, look at all of it, remove it again" },
      "--work-folder": {
        ...workFolder,
        help: "Where a drill restores to (default: for temporary)",
      },
    },
    run: (flags) => runRestore(lent, flags),
  },
})

async function runBackup({ env, clock }: Lent, flags: Flags): Promise<Outcome> {
  const { backup, savedText } = await import("./backup.ts")
  // Whoever signs in comes first.
  stepBack(15)
  const request = {
    config: readConfig({ flags: settingsIn(flags), env }),
    clock,
    to: flags.FILE ?? "",
    withMasterKey: flags["--include-master-key"] !== undefined,
    encryption: encryptionBy(flags),
    workFolder: flags["--work-folder"],
    warn: (text: string) => void process.stderr.write(`${text}\n`),
  }
  const saved = await backup(request)
  return request.to === "-" ? {} : { text: savedText(saved, request), data: saved }
}

function encryptionBy(flags: Flags): Encryption | undefined {
  const { "--passphrase-file": file, "--recipient": recipient } = flags
  if (file && recipient) throw usageError("--passphrase-file and --recipient exclude each other")
  if (recipient) return { recipients: recipient.split(",") }
  return file === undefined ? undefined : { passphrase: passphraseIn(file) }
}

function passphraseIn(file: string): string {
  const passphrase = passwordIn(file)
  if (passphrase === "") throw usageError(`${file} is empty; it must hold the passphrase`)
  return passphrase
}

async function runRestore(lent: Lent, flags: Flags): Promise<Outcome> {
  const { examine, manifestText, restore, restoredText } = await import("./restore.ts")
  const opening = await openingBy(flags)
  const request = {
    config: readConfig({ flags: settingsIn(flags), env: lent.env }),
    from: flags.FILE ?? "",
    opening,
  }
  if (flags["--drill"]) return runDrill(lent, { ...request, flags })
  if (flags["--check"]) {
    const manifest = await examine(request)
    return { text: manifestText(manifest), data: manifest }
  }
  const restored = await restore(request)
  return { text: restoredText(restored, request), data: restored }
}

export async function openingBy(flags: Flags): Promise<Opening> {
  const { "--passphrase-file": passphraseFile, "--identity-file": identityFile } = flags
  const { identitiesIn } = await import("./encryption.ts")
  return {
    ...(passphraseFile && { passphrase: passphraseIn(passphraseFile) }),
    ...(identityFile && { identities: identitiesIn(identityFile) }),
  }
}

type Drill = {
  readonly config: Config
  readonly from: string
  readonly opening: Opening
  readonly flags: Flags
}

/** The key is the backup's own, the one that is configured, or the one of the data folder. */
async function runDrill(lent: Lent, { config, from, opening, flags }: Drill) {
  const { manifestText, restore } = await import("./restore.ts")
  const { unlessInterrupted } = await import("./interrupt.ts")
  const folder = mkdtempSync(join(resolve(flags["--work-folder"] ?? tmpdir()), "latchkey-drill-"))
  const data = join(folder, "data")
  try {
    return await unlessInterrupted([folder], async () => {
      const manifest = await restore({ config: { ...config, data }, from, opening })
      const masterKey = manifest.isOpen ? undefined : givenMasterKey(folderAt(config.data), config)
      const there = { ...config, data, ...(masterKey && { masterKey, masterKeyFile: undefined }) }
      const claim = await claimFolder(there, lent.random)
      try {
        const found = await lent.drill({ ...claim, config: there, started: lent.started })
        const { instances, signatures } = found
        const tried = `${instances} instances opened, ${signatures} keys sign and verify`
        const text = `${manifestText(manifest)}\n  Every event and every row is whole; ${tried}`
        return { text, data: { ...manifest, ...found } }
      } finally {
        claim.release()
      }
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
