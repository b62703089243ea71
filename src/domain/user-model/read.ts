import type { Cx, Decision } from "../../store/index.ts"
import { factorsOf } from "./factors.ts"
import { linksOf } from "./links.ts"
import { user } from "./model.ts"
import { hasLeft, type User } from "./state.ts"

/** The organisation of a user, whose policies count for them. */
export const homeOf = (cx: Cx, id: string): string => cx.store.receipt(cx, user, id)?.owner ?? ""

/** Reads outside of a step as one within it does. */
export const readerOf = (cx: Cx): Pick<Decision, "state" | "owner"> => ({
  state: (kind, id) => cx.store.state(cx, kind, id),
  owner: (kind, id) => cx.store.receipt(cx, kind, id)?.owner ?? "",
})

/** Whether a passkey alone lets them in. */
export const hasPasskey = (state: User): boolean =>
  !hasLeft(state) &&
  state.kind === "human" &&
  Object.values(factorsOf(state).keys).some(
    (key) => key.kind === "passkey" && key.state === "ready",
  )

/** Whether somebody has what they can have signed in by, beside their mailbox. */
export const hasOwnWay = (state: User): boolean =>
  !hasLeft(state) &&
  state.kind === "human" &&
  (state.password !== null || hasPasskey(state) || linksOf(state).length > 0)

/** How long a browser waits for a key, and how long what was asked for is good. */
export const ceremonyMs = 10 * 60_000
