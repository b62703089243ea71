import { linkSession } from "../domain/grant/index.ts"
import { enterBrowser } from "../domain/session/index.ts"
import {
  accountOf,
  checkPassword,
  isPasswordChangeRequired,
  mustStillHave,
  type PasswordCheck,
  passwordVersion,
  user,
} from "../domain/user/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import type { Scene } from "./context.ts"
import { writeProof } from "./password-change.ts"
import { isHomeActive } from "./visit.ts"

export type SignedIn =
  | { readonly kind: "in"; readonly setCookie: string }
  | { readonly kind: "wrong" | "busy" }
  | { readonly kind: "change required"; readonly userId: string; readonly proof: string }
  | { readonly kind: "too many"; readonly retryAfterSeconds: number }
  | { readonly kind: "locked" | "inactive" }

/**
 * Checks a password and signs in to this browser. A login name that is nobody's makes the same
 * work, waits as long, and is answered as a wrong password is.
 */
export async function signInWith(
  { cx, visit, waiting }: Scene,
  loginName: string,
  password: string,
): Promise<SignedIn> {
  const account = accountOf(cx, loginName)
  // Before the check: what was proved is never a password that came afterwards.
  const version = passwordVersion(cx, account)
  const result = await check(cx, account, password)
  if (typeof result === "object") return { kind: "too many", ...result }
  if (result === "none") return { kind: "wrong" }
  if (result !== "ok") return { kind: result }
  if (!isHomeActive(cx, account)) return { kind: "inactive" }
  if (isPasswordChangeRequired(cx, account)) {
    const proof = writeProof(cx, visit, { userId: account, version })
    return { kind: "change required", userId: account, proof }
  }
  const setCookie = await enterBrowser(cx, visit.browser.id, {
    userId: account,
    secure: visit.secure,
    first: (tx) => void mustStillHave(tx.state(user, account), version),
    also: (tx, sessionId) => {
      if (waiting) linkSession(tx, waiting.id, sessionId)
    },
  })
  return { kind: "in", setCookie }
}

type Checked = PasswordCheck | "busy" | { readonly retryAfterSeconds: number }

/** A full queue of the hasher, and tries too many, are the person's to see: they can try again. */
async function check(cx: Cx, account: string, password: string): Promise<Checked> {
  try {
    cx.allowance?.spend("guess")
    const result = await checkPassword(cx, account, password)
    if (result !== "none" && result !== "wrong") cx.allowance?.refund("guess")
    return result
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, retryAfterSeconds } = cause
    if (retryAfterSeconds !== undefined) return { retryAfterSeconds }
    if (code === "resource_exhausted") return "busy"
    if (code === "invalid_argument") return "wrong"
    throw cause
  }
}
