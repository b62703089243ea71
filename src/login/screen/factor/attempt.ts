import { type Proof, usableSession } from "../../../domain/session/index.ts"
import {
  type AdmitFactor,
  type Asked,
  type Checked,
  type CheckKind,
  factorChecks,
  recoveryCodesLeft,
  user,
} from "../../../domain/user/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import type { LoginContext } from "../../context.ts"
import { type DoneKind, doneHref } from "../account/done.ts"
import { recoveryLeftHref } from "./recovery-left.ts"

/** How a proof ended; `over`: the session that it was for. */
export type Attempted =
  | { readonly kind: "in"; readonly answer: Response }
  | { readonly kind: "wrong" | "over" }
  | { readonly kind: "too many"; readonly retryAfterSeconds: number }

/** Something that was proved beside what a session has; it goes on with that, in one step. */
export async function attempt(
  loginContext: LoginContext,
  asked: {
    readonly userId: string
    readonly kind: CheckKind
    readonly admit: () => Promise<AdmitFactor>
    /** What keeps out whose proof is right; without a word that their session is over. */
    readonly refuses?: (tx: Transaction) => boolean
    /** What it has set up, where it has. */
    readonly done?: DoneKind
  },
): Promise<Attempted> {
  const { cx, browserContext } = loginContext
  const { userId, kind } = asked
  const own = browserContext.present.find((each) => each.userId === userId)
  const isOver = (tx: Transaction) => own === undefined || !usableSession(tx, own.id)
  let checked: Checked = { isRight: false }
  let left: number | undefined
  try {
    cx.allowance?.spend("guess")
    const admit = await asked.admit()
    const entered = await completeSignIn<Exclude<Attempted, { kind: "in" }>>(loginContext, {
      userId,
      first: (tx) => {
        if ((asked.refuses ?? isOver)(tx)) return { kind: "over" }
        checked = admit(tx)
        if (kind === "recovery_code") left = recoveryCodesLeft(tx.state(user, userId))
        return checked.isRight ? undefined : { kind: "wrong" }
      },
      proof: () => proofOf(kind, checked),
      stopAt: () =>
        left === undefined
          ? asked.done && doneHref(loginContext, asked.done, userId)
          : recoveryLeftHref(loginContext, { userId, left }),
      method: kind === "webauthn" ? (own ? "U2F" : "passwordless") : "OTP",
    })
    if (!(entered instanceof Response)) return entered
    cx.allowance?.refund("guess")
    return { kind: "in", answer: entered }
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return { kind: "too many", retryAfterSeconds }
  }
}

function proofOf(kind: CheckKind, checked: Checked): Proof {
  if (!checked.isRight) throw new Error("nobody signs in by what was wrong")
  const { methods, isUserVerified } = checked
  return { kind, methods, isUserVerified }
}

/** The same of what the table of checks verifies. */
export const attemptCheck = (
  loginContext: LoginContext,
  kind: CheckKind,
  asked: Asked,
  refuses?: (tx: Transaction) => boolean,
): Promise<Attempted> =>
  attempt(loginContext, {
    userId: asked.userId,
    kind,
    admit: () => factorChecks[kind](loginContext.cx, asked),
    ...(refuses && { refuses }),
  })
