import { existsSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../kernel/config.ts"
import type { Random } from "../kernel/crypto/random.ts"
import { sendCommand } from "./control.ts"
import { claimFolder, type FolderClaim, isRunning } from "./folder/claim.ts"
import { folderAt } from "./folder/folder.ts"
import { startError } from "./start-error.ts"
import type { Terminal } from "./system/terminal.ts"

/** A request for a recovery, also sent over the control socket. */
export const recoveryRequest = z.lazy(() =>
  z.strictObject({
    /** The login name of the owner to recover; by default the only owner. */
    owner: z.optional(z.string()),
    /** The email address of a new owner, if `owner` does not exist yet. */
    email: z.optional(z.string()),
    /** The ID of the instance, if there are several. */
    instance: z.optional(z.string()),
    /** Whether the owner's second factors and passkeys are kept. */
    keepsFactors: z.boolean(),
  }),
)
export type RecoveryRequest = Readonly<z.output<typeof recoveryRequest>>

/** A sign-in factor other than a password. */
const removedFactor = z.lazy(() =>
  z.object({
    kind: z.enum(["passkey", "u2f", "otp", "otp_email", "otp_sms", "recovery_codes"]),
    /** The name of a passkey or security key; empty if it has none. */
    name: z.string(),
  }),
)

/** The factors that a recovery would remove, and their user. */
export const recoveryPreview = z.lazy(() =>
  z.object({ loginName: z.string(), removed: z.array(removedFactor) }),
)
export type RecoveryPreview = Readonly<z.output<typeof recoveryPreview>>

/** The user who can sign in with the link. */
export const recoveryResult = z.lazy(() =>
  z.object({
    link: z.string(),
    loginName: z.string(),
    /** When the link expires, in ms since the epoch. */
    expires: z.int(),
    /** Whether the user was not an owner of the instance before. */
    isNewOwner: z.boolean(),
    /** The removed factors; absent in responses of older servers. */
    removed: z.optional(z.array(removedFactor)),
  }),
)
export type RecoveryResult = Readonly<z.output<typeof recoveryResult>>

type RecoveryOptions = {
  readonly config: Config
  readonly random: Random
  readonly request: RecoveryRequest
  /** Confirms the removal or throws; absent if it was already confirmed. */
  readonly confirm: ((preview: RecoveryPreview) => Promise<void>) | undefined
  /** The same functions for a directory without a running server. */
  readonly here: {
    readonly preview: (claim: FolderClaim, request: RecoveryRequest) => Promise<RecoveryPreview>
    readonly recover: (claim: FolderClaim, request: RecoveryRequest) => Promise<RecoveryResult>
  }
}

/**
 * Recovers an owner through the running server of the data directory, otherwise with `here`.
 * Removes only factors that were confirmed.
 */
export async function recoverOwner(options: RecoveryOptions): Promise<RecoveryResult> {
  const { config, random, request, confirm, here } = options
  const folder = folderAt(config.data)
  if (await isRunning(folder)) {
    if (confirm && !request.keepsFactors) {
      await confirm(recoveryPreview.parse(await sendCommand(folder, "recover-preview", request)))
    }
    return recoveryResult.parse(await sendCommand(folder, "recover", request))
  }
  if (!existsSync(folder.database)) {
    const todo = "name the data directory with --data DIR"
    throw startError("database_missing", `no database found in ${folder.path}; ${todo}`)
  }
  const claim = await claimFolder(config, random)
  try {
    if (confirm && !request.keepsFactors) await confirm(await here.preview(claim, request))
    return await here.recover(claim, request)
  } finally {
    claim.release()
  }
}

/** Asks for confirmation before factors are removed. Scripts confirm with a flag. */
export const confirmRemoval =
  (terminal: Terminal) =>
  async ({ loginName, removed }: RecoveryPreview): Promise<void> => {
    if (removed.length === 0) return
    const todo = "use --yes to remove them or --keep-factors to keep them"
    if (!terminal.isInteractive) {
      const names = removed.map(formatFactor).join(", ")
      throw startError(
        "recovery_unconfirmed",
        `this would remove the following factors of ${loginName}: ${names}; ${todo}`,
      )
    }
    const answer = await terminal.ask(
      [
        `  This removes the following factors of ${loginName}:`,
        ...removed.map((factor) => `    - ${formatFactor(factor)}`),
        "  Continue? (--keep-factors keeps them) [y/N] ",
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

/** Users choose these names, so control characters are removed. */
function formatFactor({ kind, name }: RecoveryPreview["removed"][number]): string {
  const plainName = Bun.stripANSI(name).replace(/\p{C}/gu, "")
  return plainName === "" ? kindTexts[kind] : `${kindTexts[kind]} "${plainName}"`
}

/** The link and its effects as text for the terminal. */
export function formatRecoveryResult({
  link,
  loginName,
  expires,
  isNewOwner,
  removed = [],
}: RecoveryResult): string {
  const until = new Date(expires).toISOString()
  return [
    `  ${link}`,
    `  With this link, ${loginName} can set a new password once, until ${until}.`,
    ...(removed.length > 0 ? [`  Removed: ${removed.map(formatFactor).join(", ")}.`] : []),
    ...(isNewOwner ? ["  The user is now an owner of the instance."] : []),
    "  All owners are notified by email.",
  ].join("\n")
}
