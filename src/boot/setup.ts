import { readFileSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../kernel/config.ts"
import type { Random } from "../kernel/crypto/random.ts"
import { Fault, reasonText } from "../kernel/fault.ts"
import type { Ids } from "../kernel/id.ts"
import { usageError } from "./command-line.ts"
import { ask } from "./control.ts"
import { type Claim, claimFolder, isRunning } from "./folder/claim.ts"
import { folderAt } from "./folder/folder.ts"
import { type KeyFile, keyFileAt, registeredKey } from "./folder/key-file.ts"
import { startError, systemCode } from "./start-error.ts"

/**
 * What passwords of the new instance must have. `length`, the default: at least 15 characters.
 * `composition`: at least 8, with a capital, a small letter, a digit and a symbol.
 */
export const passwordRuleSets = ["length", "composition"] as const
export type PasswordRuleSet = (typeof passwordRuleSets)[number]

/** What set-up without a person is asked for; also what comes in through the control socket. */
export const setupRequest = z.lazy(() =>
  z.strictObject({
    publicUrl: z.string(),
    org: z.string(),
    owner: z.string(),
    ownerEmail: z.string(),
    ownerPassword: z.string(),
    passwordRules: z.optional(z.enum(passwordRuleSets)),
    /** The key of a service user who shall own the instance, too. */
    serviceKey: z.optional(registeredKey),
  }),
)
export type SetupRequest = Readonly<z.output<typeof setupRequest>>

type Options = {
  readonly config: Config
  readonly random: Random
  readonly ids: Ids
  readonly request: Omit<SetupRequest, "serviceKey">
  readonly keyFile: string | undefined
  /** Sets up in a folder that no server runs on. */
  readonly here: (claim: Claim, request: SetupRequest) => Promise<void>
}

/**
 * Sets an instance up: through the server that runs on the data folder, else by `here`, which opens
 * the store itself. The key of a service user lies on disk before it is registered, and gets its
 * name afterwards: a run that was cut off comes to its end when it is made again.
 */
export async function setUp(options: Options): Promise<void> {
  const { config, ids, keyFile } = options
  const file = keyFile === undefined ? undefined : await keyFileAt(keyFile, ids)
  const request = { ...options.request, ...(file && { serviceKey: file.registered }) }
  const folder = folderAt(config.data)
  try {
    if (await isRunning(folder)) await ask(folder, "setup", request)
    else await setUpHere(options, request)
  } catch (error) {
    throw file ? outcomeOf(error, file) : error
  }
  file?.finish()
}

/** A refusal leaves nothing behind. After anything else nobody knows, and the key is kept. */
function outcomeOf(error: unknown, file: KeyFile): unknown {
  if (error instanceof Fault && error.code !== "internal") {
    file.discard()
    return error
  }
  const said = reasonText(error)
  const todo = `run it again: it goes on with the key in ${file.part}`
  return startError("setup_unclear", `set-up may have been done or not (${said}); ${todo}`, error)
}

async function setUpHere({ config, random, here }: Options, request: SetupRequest): Promise<void> {
  const claim = await claimFolder(config, random)
  try {
    await here(claim, request)
  } finally {
    claim.release()
  }
}

/** The rules with that name; the default where none is given. */
export function passwordRulesIn(name: string | undefined): PasswordRuleSet {
  const found = passwordRuleSets.find((each) => each === (name ?? "length"))
  if (found) return found
  throw usageError(`--password-rules is one of ${passwordRuleSets.join(", ")}`)
}

/** Reads a password from a file; the line break that editors leave at its end does not count. */
export function passwordIn(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "")
  } catch (error) {
    throw startError("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}
