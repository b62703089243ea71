import type { Cx, Transaction } from "../../store/index.ts"
import {
  countFailedAttempt,
  directoryThrottleKey,
  passwordCheck,
  recordBeforehand,
  recordFailure,
  resetFailedAttempts,
  runThrottled,
  unknownAccountPrefix,
} from "../lockout/index.ts"

/** An attempt to sign in with a password that an external system checks, such as a directory. */
export type ExternalPasswordAttempt = {
  /** The external system and the user's name there. */
  readonly authority: string
  readonly subject: string
  /** The linked local account, or undefined if there is none. */
  readonly account: string | undefined
  /** Whether the name exists in the external system; nothing is stored for unknown names. */
  readonly isKnown: boolean
}

/**
 * Checks a password at an external system with the same throttling as local passwords: failed
 * attempts slow down the next ones, lockout policies count them, and failures are returned at the
 * common pace. Throws if too many attempts are waiting.
 */
export function checkExternalPassword(
  cx: Cx,
  { authority, subject, account, isKnown }: ExternalPasswordAttempt,
  check: () => Promise<boolean>,
): Promise<boolean> {
  const name = cx.secrets.hash(JSON.stringify([authority, subject]), "password_elsewhere")
  const throttleKey =
    account === undefined ? `${unknownAccountPrefix}${name}` : directoryThrottleKey(account, name)
  const tries = { line: throttleKey, isStranger: !isKnown }
  return runThrottled(cx, tries, async (delay) => {
    await delay
    const paced = cx.allowance?.pace()
    await recordBeforehand(cx, tries)
    const isRight = await check()
    if (isRight) await cx.store.transact(cx, (tx) => resetFailures(tx, throttleKey, account))
    else {
      await recordFailure(
        cx,
        tries,
        (tx) => account !== undefined && countFailedAttempt(tx, account),
      )
      await paced?.()
    }
    return { value: isRight, isRight }
  })
}

function resetFailures(tx: Transaction, throttleKey: string, account: string | undefined): void {
  if (tx.state(passwordCheck, throttleKey).failures > 0) {
    tx.append(passwordCheck, throttleKey, [
      { type: "user.human.password.check.succeeded", data: {} },
    ])
  }
  if (account !== undefined) resetFailedAttempts(tx, account)
}
