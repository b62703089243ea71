import { aggregate, type Cx, type Event } from "../../store/index.ts"

export type PasswordCheckEvent =
  | Event<"user.human.password.check.failed">
  | Event<"user.human.password.check.succeeded">

/** Failed tries since the last one that worked; `last` is ms UTC, 0 where there are none. */
export type Attempts = { readonly failures: number; readonly last: number }

/**
 * Tries of one account, whatever the spelling it was asked for by, apart from the user's own
 * stream: that one is kept forever, these only as long as they say something.
 */
export const passwordCheck = aggregate<PasswordCheckEvent, Attempts>({
  stream: "password_check",
  retention: "transient",
  initial: { failures: 0, last: 0 },
  evolve: {
    "user.human.password.check.failed": ({ failures }, { time }) => ({
      failures: failures + 1,
      last: time,
    }),
    "user.human.password.check.succeeded": () => ({ failures: 0, last: 0 }),
  },
})

/** The failed tries of an account (see `accountOf`), for who slows down further ones. */
export const attemptsOf = (cx: Cx, account: string): Attempts =>
  cx.store.state(cx, passwordCheck, account)
