import { consumeIntent } from "../../domain/idp/index.ts"
import { standingOf } from "../../domain/session/index.ts"
import { linkedUserIn } from "../../domain/user/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Transaction } from "../../store/index.ts"
import { completeSignIn } from "../complete-sign-in.ts"
import { type LoginContext, trouble } from "../context.ts"
import { addPerson, follow, link, type Newcomer, personOf, type Said } from "./person.ts"

/** Signs in whom the provider vouches for; what `before` does belongs to the same step. */
export async function enter(
  loginContext: LoginContext,
  newcomer: Newcomer,
  { userId, isNew = false, before }: Entering,
): Promise<Response> {
  const entered = await completeSignIn<Hindered>(loginContext, {
    userId,
    first: (tx) => {
      consumeIntent(tx, newcomer.intent.id)
      const standing = isNew ? undefined : standingOf(tx, userId)
      if (standing) return { standing }
      before(tx)
      return undefined
    },
    proof: () => ({ kind: "intent" }),
  })
  if (entered instanceof Response) return entered
  const reason = `error.not_allowed.${entered.standing}` as const
  return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
}

type Entering = {
  readonly userId: string
  /** Whether `before` makes the account. */
  readonly isNew?: boolean
  readonly before: (tx: Transaction) => void
}

type Hindered = { readonly standing: "locked" | "inactive" }

/** Whoever is linked already; it must be so still when they come in. */
export const enterLinked = (loginContext: LoginContext, newcomer: Newcomer, userId: string) =>
  enter(loginContext, newcomer, {
    userId,
    before: (tx) => {
      const { externalId } = newcomer.identity
      if (linkedUserIn(tx, { idpId: newcomer.found.idp.id, externalId }) !== userId) {
        throw goneError()
      }
      follow(tx, userId, newcomer)
    },
  })

/** Somebody who is there, and is linked from now on. */
export const enterLinking = (loginContext: LoginContext, newcomer: Newcomer, userId: string) =>
  enter(loginContext, newcomer, { userId, before: (tx) => link(tx, userId, newcomer) })

/** Somebody who is new here. */
export function enterNew(loginContext: LoginContext, newcomer: Newcomer, said: Said) {
  const userId = loginContext.cx.ids.next()
  const person = personOf(loginContext, userId, { ...newcomer, said })
  if (person.email.code) loginContext.cx.allowance?.spend("message")
  return enter(loginContext, newcomer, {
    userId,
    isNew: true,
    before: (tx) => addPerson(tx, userId, { newcomer, person }),
  })
}

const goneError = () =>
  new Fault("failed_precondition", "user.idp_link_missing", "the link has gone meanwhile")
