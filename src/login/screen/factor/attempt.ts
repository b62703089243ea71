import {
  type AdmitFactor,
  type Asked,
  type Checked,
  type CheckKind,
  factorChecks,
  finishedKey,
  recoveryCodesLeft,
} from "../../../domain/factor/index.ts"
import { org } from "../../../domain/org/index.ts"
import { mayUsePasskeyAlone, type Proof, usableSession } from "../../../domain/session/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import type { LoginContext } from "../../context.ts"
import { type DoneKind, doneHref } from "../../part/done.ts"
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

type NewKey = {
  readonly userId: string
  readonly kind: "passkey" | "u2f"
  readonly tokenId: string
  readonly given: string
  /** Of the link that the registration began with, where it let them begin. */
  readonly codeId?: string
  /** What keeps out who registers it; without a word that their session is over. */
  readonly refuses?: (tx: Transaction) => boolean
}

/** Registers a key; that it could be made is the first proof by it. */
export async function keyAttempt(
  loginContext: LoginContext,
  { userId, kind, tokenId, given, codeId, refuses }: NewKey,
): Promise<Attempted> {
  try {
    return await attempt(loginContext, {
      userId,
      kind: "webauthn",
      ...(refuses && { refuses }),
      done: kind === "passkey" ? "passkey_setup" : "factor_setup",
      admit: async () => {
        const credential = jsonOf(given)
        const finish = await finishedKey(loginContext.cx, userId, {
          kind,
          tokenId,
          credential,
          name: "",
          codeId,
        })
        return (tx) => {
          finish(tx)
          const isUserVerified = kind === "passkey"
          return { isRight: true, methods: ["pop", "user"], isUserVerified }
        }
      },
    })
  } catch (cause) {
    if (cause instanceof Fault && cause.id.startsWith("user.key_")) return { kind: "wrong" }
    throw cause
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether somebody may sign in by a passkey alone. */
export function maySignInByPasskey(tx: Transaction, userId: string): boolean {
  const orgId = tx.owner(user, userId)
  const isActive = tx.state(user, userId).status === "active"
  const isHomeActive = tx.state(org, orgId).status === "active"
  return isActive && isHomeActive && mayUsePasskeyAlone(tx, userId)
}
