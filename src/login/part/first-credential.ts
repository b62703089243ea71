import type { FirstPasskey } from "../../../ui/login/index.ts"
import type { NewPassword } from "../../domain/credential/index.ts"
import { type Challenge, verifyFirstKey } from "../../domain/factor/index.ts"
import type { FirstCredential } from "../../domain/registration/index.ts"
import type { SignInProof } from "../../domain/session/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { LoginContext } from "../context.ts"
import type { Fields } from "../form.ts"
import { openChallenge, sealChallenge } from "./challenge.ts"
import type { ChoiceProblem } from "./link.ts"
import { parseNewPassword } from "./new-password.ts"

type PasskeyRegistration = { readonly options: object; readonly challenge: Challenge }

/** Options for a passkey that the user can register instead of a first password. */
export function firstPasskey(
  { cx, browserContext }: LoginContext,
  userId: string,
  { options, challenge }: PasskeyRegistration,
): Omit<FirstPasskey, "error"> {
  const sealed = sealChallenge(cx, browserContext, { userId, challenge })
  return { options: JSON.stringify(options), challenge: sealed }
}

type FirstCredentialForm = {
  readonly userId: string
  readonly fields: Fields
  /** Prepares an entered password. */
  readonly password: (plain: string) => Promise<NewPassword>
}

/** Parses the chosen credential, a passkey or a password; returns the problem if it is invalid. */
export async function parseFirstCredential(
  { cx, browserContext }: LoginContext,
  { userId, fields, password: prepare }: FirstCredentialForm,
): Promise<FirstCredential | { readonly problem: ChoiceProblem }> {
  const given = fields.get("credential")
  if (given === "") {
    const password = await parseNewPassword(fields, prepare)
    return "key" in password ? { problem: password } : { password }
  }
  const sealed = fields.get("challenge")
  const challenge = openChallenge(cx, browserContext, { userId, sealed })
  try {
    return { passkey: await verifyFirstKey(cx, { challenge, given }) }
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.id !== "user.key_wrong") throw cause
    return { problem: passkeyProblem }
  }
}

/** The passkey is unreadable, or already registered. */
export const passkeyProblem: ChoiceProblem = { at: "passkey", key: "factor.error.key" }

/** Registering a passkey is also its first proof; otherwise the proof is a password by default. */
export const proofOfCredential = (chosen: FirstCredential): SignInProof | undefined =>
  "passkey" in chosen
    ? { kind: "webauthn", methods: ["pop", "user"], isUserVerified: true }
    : undefined
