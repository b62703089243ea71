import type { Cx, Transaction } from "../../store/index.ts"
import {
  countFailedTry,
  forgetFailedTries,
  inTurn,
  keepAhead,
  keepFailure,
  lineAt,
  nobody,
  passwordCheck,
} from "../lockout/index.ts"

/** A try with a password that somebody else keeps, a directory for instance. */
export type TryElsewhere = {
  /** Who keeps it, and whose it is there. */
  readonly where: string
  readonly who: string
  /** Whose account here it opens; undefined where it is nobody's yet. */
  readonly account: string | undefined
  /** Whether it is anybody's there: of names that nobody has nothing is written. */
  readonly isKnown: boolean
}

/**
 * Has a password checked that somebody else keeps, with the patience that guesses at ours meet:
 * failed tries slow the next ones down, whatever the spelling, a policy that locks counts them, and
 * a failure is told at the pace of all failures. Faults where too many tries wait already.
 */
export function proveElsewhere(
  cx: Cx,
  { where, who, account, isKnown }: TryElsewhere,
  check: () => Promise<boolean>,
): Promise<boolean> {
  const name = cx.secrets.hash(JSON.stringify([where, who]), "password_elsewhere")
  const line = account === undefined ? `${nobody}${name}` : lineAt(account, name)
  const tries = { line, isStranger: !isKnown }
  return inTurn(cx, tries, async (delay) => {
    await delay
    const paced = cx.allowance?.pace()
    await keepAhead(cx, tries)
    const isRight = await check()
    if (isRight) await cx.store.transact(cx, (tx) => forget(tx, line, account))
    else {
      await keepFailure(cx, tries, (tx) => account !== undefined && countFailedTry(tx, account))
      await paced?.()
    }
    return { value: isRight, isRight }
  })
}

function forget(tx: Transaction, line: string, account: string | undefined): void {
  if (tx.state(passwordCheck, line).failures > 0) {
    tx.append(passwordCheck, line, [{ type: "user.human.password.check.succeeded", data: {} }])
  }
  if (account !== undefined) forgetFailedTries(tx, account)
}
