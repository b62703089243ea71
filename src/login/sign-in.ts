import { deviceOf, hindranceOf } from "../domain/session/index.ts"
import { type Admit, accountOf, passwordOf, provePassword, user } from "../domain/user/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Transaction } from "../store/index.ts"
import { completeSignIn } from "./complete-sign-in.ts"
import type { LoginContext } from "./context.ts"
import { writeProof } from "./screen/password/change.ts"
import { expiryHref } from "./screen/password/expiry.ts"

export type SignedIn =
  | { readonly kind: "in"; readonly answer: Response }
  | { readonly kind: "wrong" | "busy" | "passkey required" }
  | { readonly kind: "change required"; readonly userId: string; readonly proof: string }
  | { readonly kind: "too many"; readonly retryAfterSeconds: number }
  | { readonly kind: "locked" | "inactive" }

/**
 * Checks a password and signs in to this browser. A login name that is nobody's makes the same
 * work, waits as long, and is answered as a wrong password is. A full queue of the hasher, and
 * tries too many, are the person's to see: they can try again.
 */
export async function signInWith(
  loginContext: LoginContext,
  loginName: string,
  password: string,
): Promise<SignedIn> {
  const { cx, browserContext } = loginContext
  const account = accountOf(cx, loginName)
  const tried = { account, plain: password, device: deviceOf(cx, browserContext, account) }
  try {
    cx.allowance?.spend("guess")
    const way = await provePassword(cx, tried, (admit) => letIn(loginContext, account, admit))
    if (typeof way === "string") return { kind: "wrong" }
    if (way.kind !== "wrong") cx.allowance?.refund("guess")
    return way
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, retryAfterSeconds } = cause
    if (retryAfterSeconds !== undefined) return { kind: "too many", retryAfterSeconds }
    if (code === "resource_exhausted") return { kind: "busy" }
    if (code === "invalid_argument") return { kind: "wrong" }
    throw cause
  }
}

/** What a right password leads to, in one step. */
async function letIn(loginContext: LoginContext, account: string, admit: Admit): Promise<SignedIn> {
  let warning: string | undefined
  const entered = await completeSignIn<Refusal>(loginContext, {
    userId: account,
    first: (tx) => {
      const refusal = refusalOf(tx, loginContext, { account, admit })
      warning = refusal ? undefined : expiryHref(tx, loginContext, account)
      return refusal
    },
    stopAt: () => warning,
    method: "password",
  })
  return entered instanceof Response ? { kind: "in", answer: entered } : entered
}

type Refusal = Exclude<SignedIn, { kind: "in" }>

/** What keeps the person out whose password is right. */
function refusalOf(
  tx: Transaction,
  { cx, browserContext }: LoginContext,
  { account, admit }: { readonly account: string; readonly admit: Admit },
): Refusal | undefined {
  const hindrance = hindranceOf(tx, account, admit)
  if (hindrance !== "change required") return hindrance && { kind: hindrance }
  const { version = 0 } = passwordOf(tx.state(user, account)) ?? {}
  const proof = writeProof(cx, browserContext, { userId: account, version })
  return { kind: "change required", userId: account, proof }
}
