import type { Calls, Cx, Reactor } from "../../../store/index.ts"
import { hasLeft, user } from "../model.ts"
import { othersWithEmail } from "./verified.ts"

/**
 * Takes an address from everybody who held it in the whole instance before a user proved that it is
 * theirs: it is no longer verified for them, so that they no longer sign in or reset a password by
 * it. They keep their login name, and can prove the address again.
 */
export async function supersedeOthers(cx: Cx, id: string): Promise<void> {
  for (const other of othersWithEmail(cx, id)) {
    await cx.store.transact(cx, (tx) => {
      // Either may have changed their address meanwhile.
      tx.state(user, id)
      const theirs = tx.state(user, other)
      if (hasLeft(theirs) || theirs.kind !== "human") return
      if (!othersWithEmail(cx, id).includes(other)) return
      const data = { isSuperseded: true }
      const secret = { email: theirs.email.address }
      tx.append(user, other, [{ type: "user.human.email.changed", data, private: secret }])
    })
  }
}

/** Follows every proof; who signs in by an address is decided without it, at the proof itself. */
export const supersessions = (call: Calls): Reactor => {
  const name = "email-supersessions"
  const supersede = ({ instance, id }: { readonly instance: string; readonly id: string }) =>
    supersedeOthers(call(instance, name), id)
  return {
    name,
    from: "now",
    on: { "user.human.added": supersede, "user.human.email.verified": supersede },
  }
}
