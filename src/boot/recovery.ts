import { existsSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../kernel/config.ts"
import type { Random } from "../kernel/crypto/random.ts"
import { ask } from "./control.ts"
import { type Claim, claimFolder, isRunning } from "./folder/claim.ts"
import { folderAt } from "./folder/folder.ts"
import { startError } from "./start-error.ts"
import type { Terminal } from "./system/terminal.ts"

/** What a recovery is asked for; also what comes in through the control socket. */
export const recoveryRequest = z.lazy(() =>
  z.strictObject({
    /** Login name of who is let in; the only owner where it is left out. */
    owner: z.optional(z.string()),
    /** The address of a person who is to be made: `owner` is nobody's name yet. */
    email: z.optional(z.string()),
    /** The id of an instance, where there are several. */
    instance: z.optional(z.string()),
    /** Their second factors and passkeys are not lost. */
    keepsFactors: z.boolean(),
  }),
)
export type RecoveryRequest = Readonly<z.output<typeof recoveryRequest>>

/** What a user proves themselves with beside a password. */
const removedFactor = z.lazy(() =>
  z.object({
    kind: z.enum(["passkey", "u2f", "otp", "otp_email", "otp_sms", "recovery_codes"]),
    /** Of a passkey or security key; empty where it has none. */
    name: z.string(),
  }),
)

/** What a recovery will remove, and of whom. */
export const recoveryPreview = z.lazy(() =>
  z.object({ loginName: z.string(), removed: z.array(removedFactor) }),
)
export type RecoveryPreview = Readonly<z.output<typeof recoveryPreview>>

/** Whom a link lets in. */
export const recovered = z.lazy(() =>
  z.object({
    link: z.string(),
    loginName: z.string(),
    /** Until when the link is good, ms UTC. */
    expires: z.int(),
    /** Whether they did not own the instance before. */
    isNewOwner: z.boolean(),
    /** What was removed; absent in answers of servers of earlier versions. */
    removed: z.optional(z.array(removedFactor)),
  }),
)
export type Recovered = Readonly<z.output<typeof recovered>>

type Options = {
  readonly config: Config
  readonly random: Random
  readonly request: RecoveryRequest
  /** Agrees to what will be removed, or rejects; absent where that was agreed to before. */
  readonly confirm: ((preview: RecoveryPreview) => Promise<void>) | undefined
  /** The same in a folder that no server runs on. */
  readonly here: {
    readonly preview: (claim: Claim, request: RecoveryRequest) => Promise<RecoveryPreview>
    readonly recover: (claim: Claim, request: RecoveryRequest) => Promise<Recovered>
  }
}

/**
 * Lets an owner in through the server that runs on the data folder, else by `here`. Removes nothing
 * that was not confirmed before.
 */
export async function recoverOwner(options: Options): Promise<Recovered> {
  const { config, random, request, confirm, here } = options
  const folder = folderAt(config.data)
  if (await isRunning(folder)) {
    if (confirm && !request.keepsFactors) {
      await confirm(recoveryPreview.parse(await ask(folder, "recover-preview", request)))
    }
    return recovered.parse(await ask(folder, "recover", request))
  }
  if (!existsSync(folder.database)) {
    const todo = "name the data folder with --data DIR"
    throw startError("database_missing", `there is no database in ${folder.path}; ${todo}`)
  }
  const claim = await claimFolder(config, random)
  try {
    if (confirm && !request.keepsFactors) await confirm(await here.preview(claim, request))
    return await here.recover(claim, request)
  } finally {
    claim.release()
  }
}

/** Asks before anything is removed. A script can't be asked: it agrees by a flag. */
export const confirmRemoval =
  (terminal: Terminal) =>
  async ({ loginName, removed }: RecoveryPreview): Promise<void> => {
    if (removed.length === 0) return
    const todo = "--yes removes them, --keep-factors keeps them"
    if (!terminal.isInteractive) {
      const names = removed.map(factorText).join(", ")
      throw startError(
        "recovery_unconfirmed",
        `this would remove from ${loginName}: ${names}; ${todo}`,
      )
    }
    const answer = await terminal.ask(
      [
        `  This removes from ${loginName}:`,
        ...removed.map((factor) => `    - ${factorText(factor)}`),
        "  Remove them and go on? (--keep-factors keeps them) [y/N] ",
      ].join("\n"),
    )
    if (/^y(es)?$/i.test(answer.trim())) return
    throw startError("recovery_canceled", `nothing was changed; ${todo}`)
  }

const kindTexts = {
  passkey: "passkey",
  u2f: "security key",
  otp: "authenticator app",
  otp_email: "codes by email",
  otp_sms: "codes by text message",
  recovery_codes: "recovery codes",
} as const

/** Users choose the names: what would move the cursor of a terminal is left out. */
function factorText({ kind, name }: RecoveryPreview["removed"][number]): string {
  const shown = Bun.stripANSI(name).replace(/\p{C}/gu, "")
  return shown === "" ? kindTexts[kind] : `${kindTexts[kind]} “${shown}”`
}

/** The link with what it does, for a person. */
export function recoveredText({
  link,
  loginName,
  expires,
  isNewOwner,
  removed = [],
}: Recovered): string {
  const until = new Date(expires).toISOString()
  return [
    `  ${link}`,
    `  By this link ${loginName} chooses a new password, once, until ${until}.`,
    ...(removed.length > 0 ? [`  Removed: ${removed.map(factorText).join(", ")}.`] : []),
    ...(isNewOwner ? ["  They own the instance from now on."] : []),
    "  All owners are told by mail.",
  ].join("\n")
}
