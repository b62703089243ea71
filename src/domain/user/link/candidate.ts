import { type Cx, fold, statement } from "../../../store/index.ts"
import { findByUserName } from "../account/login-name.ts"
import { type Human, hasLeft, user } from "../model.ts"
import { letsIn } from "./commands.ts"

/** A person here who may be the one that came from a provider. */
export type Candidate = {
  readonly userId: string
  /** What they have in common. */
  readonly by: "email" | "username"
  /** Whether they have shown here that they read what goes to the address. */
  readonly emailVerified: boolean
}

/** Those first who have shown that it is theirs: anybody may have written it down elsewhere. */
const withEmail = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND email_folded = $email AND kind = 'human'
   ORDER BY email_verified DESC, id LIMIT 20`,
)

/** The people that a provider lets in who have the same address or login name. */
export function candidatesFor(
  cx: Cx,
  idpId: string,
  { email, userName }: { readonly email: string; readonly userName: string },
): readonly Candidate[] {
  const rows = email === "" ? [] : cx.store.all(cx, withEmail, { email: fold(email) })
  const named = userName === "" ? undefined : findByUserName(cx, userName)
  const found = [
    ...rows.map(({ id }) => ({ id, by: "email" as const })),
    ...(named === undefined ? [] : [{ id: named, by: "username" as const }]),
  ]
  return found.flatMap(({ id, by }) => {
    const person = personNow(cx, id)
    const home = cx.store.receipt(cx, user, id)?.owner ?? ""
    if (!person || !letsIn(cx, idpId, home)) return []
    return [{ userId: id, by, emailVerified: person.email.verified }]
  })
}

function personNow(cx: Cx, id: string): Human | undefined {
  const state = cx.store.state(cx, user, id)
  return hasLeft(state) || state.kind !== "human" ? undefined : state
}
