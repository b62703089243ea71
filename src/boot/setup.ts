import { readFileSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../kernel/config.ts"
import type { Random } from "../kernel/crypto/random.ts"
import { errorText, Fault } from "../kernel/fault.ts"
import type { Ids } from "../kernel/id.ts"
import { usageError } from "./command-line.ts"
import { sendCommand } from "./control.ts"
import { claimFolder, type FolderClaim, isRunning } from "./folder/claim.ts"
import { folderAt } from "./folder/folder.ts"
import { createKeyFile, type KeyFile, registeredKey } from "./folder/key-file.ts"
import { startError, systemCode } from "./start-error.ts"

/**
 * The password complexity of the new instance. `length`, the default: at least 15 characters.
 * `composition`: at least 8, with an uppercase letter, a lowercase letter, a digit and a symbol.
 */
export const passwordRuleSets = ["length", "composition"] as const
export type PasswordRuleSet = (typeof passwordRuleSets)[number]

/** A request for a setup without a browser, also sent over the control socket. */
export const setupRequest = z.lazy(() =>
  z.strictObject({
    publicUrl: z.string(),
    org: z.string(),
    owner: z.string(),
    ownerEmail: z.string(),
    ownerPassword: z.string(),
    passwordRules: z.optional(z.enum(passwordRuleSets)),
    /** The key of a service account that also becomes an owner of the instance. */
    serviceKey: z.optional(registeredKey),
  }),
)
export type SetupRequest = Readonly<z.output<typeof setupRequest>>

type SetupOptions = {
  readonly config: Config
  readonly random: Random
  readonly ids: Ids
  readonly request: Omit<SetupRequest, "serviceKey">
  readonly keyFile: string | undefined
  /** Sets up a directory without a running server. */
  readonly here: (claim: FolderClaim, request: SetupRequest) => Promise<void>
}

/**
 * Sets up an instance through the running server of the data directory, otherwise with `here`,
 * which opens the store itself. The key of a service account is on disk before it is registered and
 * gets its final name afterwards, so an interrupted setup can be run again.
 */
export async function runSetup(options: SetupOptions): Promise<void> {
  const { config, ids, keyFile } = options
  const file = keyFile === undefined ? undefined : await createKeyFile(keyFile, ids)
  const request = { ...options.request, ...(file && { serviceKey: file.registered }) }
  const folder = folderAt(config.data)
  try {
    if (await isRunning(folder)) await sendCommand(folder, "setup", request)
    else await runLocalSetup(options, request)
  } catch (error) {
    throw file ? setupError(error, file) : error
  }
  file?.finish()
}

/**
 * A Fault of the server leaves nothing behind. After any other error the outcome is unknown, and
 * the key is kept.
 */
function setupError(error: unknown, file: KeyFile): unknown {
  if (error instanceof Fault && error.code !== "internal") {
    file.discard()
    return error
  }
  const message = errorText(error)
  const todo = `run the command again: it reuses the key in ${file.part}`
  return startError(
    "setup_unclear",
    `the setup may or may not have been completed (${message}); ${todo}`,
    error,
  )
}

async function runLocalSetup(
  { config, random, here }: SetupOptions,
  request: SetupRequest,
): Promise<void> {
  const claim = await claimFolder(config, random)
  try {
    await here(claim, request)
  } finally {
    claim.release()
  }
}

/** The rule set with this name; the default if no name is given. */
export function parsePasswordRules(name: string | undefined): PasswordRuleSet {
  const found = passwordRuleSets.find((each) => each === (name ?? "length"))
  if (found) return found
  throw usageError(`--password-rules must be one of: ${passwordRuleSets.join(", ")}`)
}

/** Reads a password from a file without the trailing line break. */
export function readPassword(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "")
  } catch (error) {
    throw startError("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}
