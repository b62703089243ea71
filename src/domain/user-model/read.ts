import type { Cx, DecisionContext } from "../../store/index.ts"
import { factorsOf } from "./factors.ts"
import { linksOf } from "./links.ts"
import { user } from "./model.ts"
import { isAbsent, type User } from "./state.ts"

/** The organization of a user, whose policies apply. */
export const findHomeOrg = (cx: Cx, id: string): string =>
  cx.store.receipt(cx, user, id)?.owner ?? ""

/** Reads states outside of a transaction like one. */
export const createReader = (cx: Cx): Pick<DecisionContext, "state" | "owner"> => ({
  state: (kind, id) => cx.store.state(cx, kind, id),
  owner: (kind, id) => cx.store.receipt(cx, kind, id)?.owner ?? "",
})

/** Whether the user can sign in with a passkey alone. */
export const hasPasskey = (state: User): boolean =>
  !isAbsent(state) &&
  state.kind === "human" &&
  Object.values(factorsOf(state).keys).some(
    (key) => key.kind === "passkey" && key.state === "ready",
  )

/** Whether the user has a credential besides the mailbox. */
export const hasOwnCredential = (state: User): boolean =>
  !isAbsent(state) &&
  state.kind === "human" &&
  (state.password !== null || hasPasskey(state) || linksOf(state).length > 0)

/** How long a browser waits for a key, and how long a challenge is valid. */
export const ceremonyMs = 10 * 60_000
