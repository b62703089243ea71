import {
  type CheckKind,
  type FactorCheckResult,
  type FactorDecision,
  type FactorProof,
  factorChecks,
  prepareKey,
  remainingRecoveryCodes,
} from "../../../domain/factor/index.ts"
import { org } from "../../../domain/org/index.ts"
import {
  canUsePasskeyAlone,
  findUsableSession,
  type SignInProof,
} from "../../../domain/session/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import type { LoginContext } from "../../context.ts"
import { type DoneKind, doneHref } from "../../part/done.ts"
import { remainingCodesHref } from "./remaining-codes.ts"

/** The result of a proof. `over`: its session has ended. */
export type AttemptResult =
  | { readonly kind: "in"; readonly answer: Response }
  | { readonly kind: "wrong" | "over" }
  | { readonly kind: "too many"; readonly retryAfterSeconds: number }

/** Verifies a second factor and continues the session, in one transaction. */
export async function attemptFactor(
  loginContext: LoginContext,
  input: {
    readonly userId: string
    readonly kind: CheckKind
    readonly admit: () => Promise<FactorDecision>
    /**
     * Whether the user can't sign in although the proof is correct; by default, only if the session
     * has ended.
     */
    readonly refuses?: (tx: Transaction) => boolean
    /** The factor that was set up, if any. */
    readonly done?: DoneKind
  },
): Promise<AttemptResult> {
  const { cx, browserContext } = loginContext
  const { userId, kind } = input
  const own = browserContext.present.find((each) => each.userId === userId)
  const isSessionEnded = (tx: Transaction) => own === undefined || !findUsableSession(tx, own.id)
  let checked: FactorCheckResult = { isRight: false }
  let left: number | undefined
  try {
    cx.allowance?.spend("guess")
    const admit = await input.admit()
    const entered = await completeSignIn<Exclude<AttemptResult, { kind: "in" }>>(loginContext, {
      userId,
      first: (tx) => {
        if ((input.refuses ?? isSessionEnded)(tx)) return { kind: "over" }
        checked = admit(tx)
        if (kind === "recovery_code") left = remainingRecoveryCodes(tx.state(user, userId))
        return checked.isRight ? undefined : { kind: "wrong" }
      },
      proof: () => proofOf(kind, checked),
      stopAt: () =>
        left === undefined
          ? input.done && doneHref(loginContext, input.done, userId)
          : remainingCodesHref(loginContext, { userId, left }),
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

function proofOf(kind: CheckKind, checked: FactorCheckResult): SignInProof {
  if (!checked.isRight) throw new Error("a failed check does not sign in")
  const { methods, isUserVerified } = checked
  return { kind, methods, isUserVerified }
}

/** The same for factors in the table of checks. */
export const attemptCheck = (
  loginContext: LoginContext,
  kind: CheckKind,
  input: FactorProof,
  refuses?: (tx: Transaction) => boolean,
): Promise<AttemptResult> =>
  attemptFactor(loginContext, {
    userId: input.userId,
    kind,
    admit: () => factorChecks[kind](loginContext.cx, input),
    ...(refuses && { refuses }),
  })

type KeyRegistrationInput = {
  readonly userId: string
  readonly kind: "passkey" | "u2f"
  readonly tokenId: string
  readonly given: string
  /** The code of the registration link that the registration began with, if any. */
  readonly codeId?: string
  /** Whether the user can't register a key; by default, only if the session has ended. */
  readonly refuses?: (tx: Transaction) => boolean
}

/** Registers a key; the registration is also its first proof. */
export async function attemptKeyRegistration(
  loginContext: LoginContext,
  { userId, kind, tokenId, given, codeId, refuses }: KeyRegistrationInput,
): Promise<AttemptResult> {
  try {
    return await attemptFactor(loginContext, {
      userId,
      kind: "webauthn",
      ...(refuses && { refuses }),
      done: kind === "passkey" ? "passkey_setup" : "factor_setup",
      admit: async () => {
        const credential = parseJson(given)
        const finish = await prepareKey(loginContext.cx, userId, {
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a user can sign in with a passkey alone. */
export function canSignInByPasskey(tx: Transaction, userId: string): boolean {
  const orgId = tx.owner(user, userId)
  const isActive = tx.state(user, userId).status === "active"
  const isHomeActive = tx.state(org, orgId).status === "active"
  return isActive && isHomeActive && canUsePasskeyAlone(tx, userId)
}
