import type { FirstPasskey } from "../../../ui/login/index.ts"
import type { NewPassword } from "../../domain/credential/index.ts"
import { type Challenge, firstKey } from "../../domain/factor/index.ts"
import type { FirstCredential } from "../../domain/registration/index.ts"
import type { Proof } from "../../domain/session/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { LoginContext } from "../context.ts"
import type { Fields } from "../form.ts"
import { readChallenge, writeChallenge } from "./challenge.ts"
import type { ChoiceProblem } from "./link.ts"
import { newPasswordIn } from "./new-password.ts"

type BegunKey = { readonly options: object; readonly challenge: Challenge }

/** A passkey that was begun, as a page offers it in place of a first password. */
export function firstPasskey(
  { cx, browserContext }: LoginContext,
  userId: string,
  { options, challenge }: BegunKey,
): Omit<FirstPasskey, "error"> {
  const sealed = writeChallenge(cx, browserContext, { userId, challenge })
  return { options: JSON.stringify(options), challenge: sealed }
}

type Posted = {
  readonly userId: string
  readonly fields: Fields
  /** Prepares a password that was typed. */
  readonly password: (plain: string) => Promise<NewPassword>
}

/** Reads what was chosen, a passkey where one was made; or what is wrong with it. */
export async function firstCredentialIn(
  { cx, browserContext }: LoginContext,
  { userId, fields, password: prepare }: Posted,
): Promise<FirstCredential | { readonly problem: ChoiceProblem }> {
  const given = fields.get("credential")
  if (given === "") {
    const password = await newPasswordIn(fields, prepare)
    return "key" in password ? { problem: password } : { password }
  }
  const sealed = fields.get("challenge")
  const challenge = readChallenge(cx, browserContext, { userId, sealed })
  try {
    return { passkey: await firstKey(cx, { challenge, given }) }
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.id !== "user.key_wrong") throw cause
    return { problem: keyProblem }
  }
}

/** What is wrong with a key that could not be read, or that somebody has. */
export const keyProblem: ChoiceProblem = { at: "passkey", key: "factor.error.key" }

/** That a passkey could be made is the first proof by it; without a word it is a password. */
export const proofOf = (chosen: FirstCredential): Proof | undefined =>
  "passkey" in chosen
    ? { kind: "webauthn", methods: ["pop", "user"], isUserVerified: true }
    : undefined
