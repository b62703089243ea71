import {
  afterCreation,
  beforeCreation,
  giveGranted,
  notedBy,
  noteScripted,
  shownNew,
} from "../../../domain/action/index.ts"
import { consumeIntent, signInTimesOf, useAnswer } from "../../../domain/idp/index.ts"
import { standingNow, standingOf } from "../../../domain/session/index.ts"
import { linkedUserIn } from "../../../domain/user-link/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import type { LoginContext } from "../../context.ts"
import { askedAt, newcomersHome, sceneOf } from "../../entered/script.ts"
import { doneHref } from "../../part/done.ts"
import { trouble } from "../../trouble.ts"
import { addPerson, follow, link, type Newcomer, personOf, type Said } from "./person.ts"

/** Signs in whom the provider vouches for; what `before` does belongs to the same step. */
export async function enter(
  loginContext: LoginContext,
  newcomer: Newcomer,
  { userId, isNew = false, isLinking = false, hindered, before }: Entering,
): Promise<Response> {
  const entered = await completeSignIn<Hindered>(loginContext, {
    userId,
    first: (tx) => {
      const use = newcomer.isFresh ? useAnswer : consumeIntent
      use(tx, newcomer.intent)
      const standing = hindered ?? (isNew ? undefined : standingOf(tx, userId))
      if (standing) return { standing }
      before(tx)
      noteFrom(loginContext, tx, { userId, newcomer })
      return undefined
    },
    proof: () => ({ kind: "intent", ...vouchedBy(newcomer) }),
    stopAt: () => (isLinking ? doneHref(loginContext, "linking", userId) : undefined),
    method: undefined,
  })
  if (entered instanceof Response) return entered
  const reason = `error.not_allowed.${entered.standing}` as const
  return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
}

/** Which provider says who they are, and when they signed in there. */
const vouchedBy = ({ found: { idp, place = "" }, intent }: Newcomer) => ({
  idpId: idp.id,
  idpOrg: place,
  upstream: intent.answered.upstream,
  ...signInTimesOf(idp, intent.answered),
})

/** What scripts have noted of who came; about people of their own organisation alone. */
function noteFrom(
  { cx }: LoginContext,
  tx: Transaction,
  { userId, newcomer }: { readonly userId: string; readonly newcomer: Newcomer },
): void {
  const { scripted } = newcomer.intent.answered
  if (!scripted) return
  noteScripted(cx, tx, { userId, orgId: scripted.orgId, noted: notedBy(scripted) })
}

type Entering = {
  readonly userId: string
  /** Whether `before` makes the account. */
  readonly isNew?: boolean
  /** Whether `before` links them. */
  readonly isLinking?: boolean
  /** What has kept them out before scripts were asked: of them none was. */
  readonly hindered?: Hindered["standing"] | undefined
  readonly before: (tx: Transaction) => void
}

type Hindered = { readonly standing: "locked" | "inactive" }

type EnteringKnown = {
  readonly userId: string
  readonly isLinking: boolean
  readonly before: (tx: Transaction, asked: Newcomer) => void
}

/** Somebody who is there; of whoever is kept out anyway no script is asked. */
async function enterKnown(
  loginContext: LoginContext,
  newcomer: Newcomer,
  { userId, isLinking, before }: EnteringKnown,
): Promise<Response> {
  const { cx } = loginContext
  const hindered = standingNow(cx, userId)
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const asked = hindered ? newcomer : await newcomerAt(loginContext, newcomer, { orgId, userId })
  const entering = { userId, isLinking, hindered, before: (tx: Transaction) => before(tx, asked) }
  return enter(loginContext, asked, entering)
}

/** The newcomer as the scripts of their organisation want them; see `askedAt`. */
export async function newcomerAt(
  loginContext: LoginContext,
  newcomer: Newcomer,
  home: { readonly orgId: string; readonly userId?: string },
): Promise<Newcomer> {
  const { found, intent } = newcomer
  const answered = await askedAt(loginContext, found, { answered: intent.answered, ...home })
  return { ...newcomer, identity: answered.identity, intent: { ...intent, answered } }
}

/** Whoever is linked already; it must be so still when they come in. */
export const enterLinked = (loginContext: LoginContext, newcomer: Newcomer, userId: string) =>
  enterKnown(loginContext, newcomer, {
    userId,
    isLinking: false,
    before: (tx, asked) => {
      const { externalId } = newcomer.identity
      if (linkedUserIn(tx, { idpId: newcomer.found.idp.id, externalId }) !== userId) {
        throw goneError()
      }
      follow(loginContext.cx, tx, { userId, newcomer: asked })
    },
  })

/** Somebody who is there, and is linked from now on. */
export const enterLinking = (loginContext: LoginContext, newcomer: Newcomer, userId: string) =>
  enterKnown(loginContext, newcomer, {
    userId,
    isLinking: true,
    before: (tx, asked) => link(tx, userId, asked),
  })

/** Somebody who is new here. */
export async function enterNew(loginContext: LoginContext, newcomer: Newcomer, said: Said) {
  const { cx, waiting } = loginContext
  const userId = cx.ids.next()
  const orgId = newcomersHome(cx, newcomer.found, waiting)
  const asked = await newcomerAt(loginContext, newcomer, { orgId })
  const planned = personOf(loginContext, userId, { ...asked, said })
  const arriving = { flowType: 1, orgId, scene: sceneOf(loginContext) } as const
  const person = await beforeCreation(cx, userId, { ...arriving, person: planned })
  const granted = await afterCreation(cx, shownNew(userId, person), arriving)
  if (person.email.code) cx.allowance?.spend("message")
  return enter(loginContext, asked, {
    userId,
    isNew: true,
    before: (tx) => {
      addPerson(tx, userId, { newcomer: asked, person })
      giveGranted(tx, { userId, orgId }, granted)
    },
  })
}

const goneError = () =>
  new Fault("failed_precondition", "user.idp_link_missing", "the link has gone meanwhile")
