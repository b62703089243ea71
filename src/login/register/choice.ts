import type { FirstPasskey } from "../../../ui/login/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import type { Proof } from "../../domain/session/index.ts"
import {
  type FirstCredential,
  firstKey,
  hasKeys,
  registrationKey,
  registrationPassword,
} from "../../domain/user/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { LoginContext } from "../context.ts"
import { readChallenge, writeChallenge } from "../factor/challenge.ts"
import type { Fields } from "../form.ts"
import type { ChoiceProblem } from "../link/link.ts"
import { newPasswordIn } from "../password/change.ts"

type Offering = { readonly userId: string; readonly orgId: string }

/** The passkey that the account may be made with; undefined where that can't be. */
export async function offeredFirst(
  { cx, browserContext }: LoginContext,
  { userId, orgId }: Offering,
): Promise<Omit<FirstPasskey, "error"> | undefined> {
  if (!mayTakePasskey(cx, orgId)) return undefined
  const { options, challenge } = await registrationKey(cx, userId)
  const sealed = writeChallenge(cx, browserContext, { userId, challenge })
  return { options: JSON.stringify(options), challenge: sealed }
}

const mayTakePasskey = (cx: Cx, orgId: string): boolean =>
  hasKeys(cx) && policyOf(cx, orgId, login).allowPasswordless

/** Whether an account of the organisation may be made with that by now. */
export const mayTake = (cx: Cx, orgId: string, chosen: FirstCredential): boolean =>
  !("passkey" in chosen) || mayTakePasskey(cx, orgId)

type Posted = { readonly userId: string; readonly fields: Fields }

/** Reads what was chosen, a passkey where one was made; or what is wrong with it. */
export async function chosenIn(
  { cx, browserContext }: LoginContext,
  { userId, fields }: Posted,
): Promise<FirstCredential | { readonly problem: ChoiceProblem }> {
  const given = fields.get("credential")
  if (given === "") {
    const password = await newPasswordIn(fields, (plain) => registrationPassword(cx, userId, plain))
    return "key" in password ? { problem: password } : { password }
  }
  const sealed = fields.get("challenge")
  const challenge = readChallenge(cx, browserContext, { userId, sealed })
  try {
    return { passkey: await firstKey(cx, { challenge, given }) }
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.id !== "user.key_wrong") throw cause
    return { problem: { at: "passkey", key: "factor.error.key" } }
  }
}

/** That a passkey could be made is the first proof by it; without a word it is a password. */
export const proofOf = (chosen: FirstCredential): Proof | undefined =>
  "passkey" in chosen
    ? { kind: "webauthn", methods: ["pop", "user"], isUserVerified: true }
    : undefined
