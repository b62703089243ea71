import { linkSession } from "../domain/grant/index.ts"
import { enterBrowser } from "../domain/session/index.ts"
import {
  accountOf,
  attemptsOf,
  checkPassword,
  isPasswordChangeRequired,
  type PasswordCheck,
} from "../domain/user/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import type { Scene } from "./context.ts"
import { isHomeActive } from "./visit.ts"

export type SignedIn =
  | { readonly kind: "in"; readonly setCookie: string }
  | { readonly kind: "wrong" | "busy" | "change required" }
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
  await slowDown(cx, account)
  const result = await check(cx, account, password)
  if (result === "none") return { kind: "wrong" }
  if (result !== "ok") return { kind: result }
  if (!isHomeActive(cx, account)) return { kind: "inactive" }
  if (isPasswordChangeRequired(cx, account)) return { kind: "change required" }
  const setCookie = await enterBrowser(cx, visit.browser.id, {
    userId: account,
    secure: visit.secure,
    also: (tx, sessionId) => {
      if (waiting) linkSession(tx, waiting.id, sessionId)
    },
  })
  return { kind: "in", setCookie }
}

/** A full queue of the hasher is the person's to see: they can try again. */
async function check(cx: Cx, account: string, password: string): Promise<PasswordCheck | "busy"> {
  try {
    return await checkPassword(cx, account, password)
  } catch (cause) {
    if (cause instanceof Fault && cause.code === "resource_exhausted") return "busy"
    if (cause instanceof Fault && cause.code === "invalid_argument") return "wrong"
    throw cause
  }
}

const triesUntilSlow = 5
const secondsMost = 10
const remembered = 15 * 60_000

/** From five failed tries on, each further five make the next one wait a second longer. */
function slowDown(cx: Cx, account: string): Promise<void> {
  const { failures, last } = attemptsOf(cx, account)
  const recent = cx.clock.now() - last < remembered
  const seconds = recent ? Math.min(Math.floor(failures / triesUntilSlow), secondsMost) : 0
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => cx.clock.after(seconds * 1000, resolve))
}
