import {
  addRoleGrants,
  metadataFrom,
  newUserForScript,
  runAfterCreation,
  runBeforeCreation,
  storeScriptMetadata,
} from "../../../domain/action/index.ts"
import { consumeAnswer, consumeIntent, signInTimesOf } from "../../../domain/idp/index.ts"
import { findAccountObstacle, findCurrentAccountObstacle } from "../../../domain/session/index.ts"
import { findLinkedUserInTransaction } from "../../../domain/user-link/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import type { LoginContext } from "../../context.ts"
import { doneHref } from "../../part/done.ts"
import { showProblem } from "../../problem.ts"
import { newUserOrgOf, runOrgScripts, scriptContextOf } from "../../sign-in/script.ts"
import {
  addNewcomer,
  type EnteredData,
  linkUser,
  type Newcomer,
  newUserOf,
  updateProfile,
} from "./newcomer.ts"

/** Signs in a user that a provider vouches for; `before` is part of the same transaction. */
export async function signInExternal(
  loginContext: LoginContext,
  newcomer: Newcomer,
  { userId, isNew = false, isLinking = false, hindered, before }: ExternalSignInOptions,
): Promise<Response> {
  const entered = await completeSignIn<AccountObstacle>(loginContext, {
    userId,
    first: (tx) => {
      const use = newcomer.isFresh ? consumeAnswer : consumeIntent
      use(tx, newcomer.intent)
      const standing = hindered ?? (isNew ? undefined : findAccountObstacle(tx, userId))
      if (standing) return { standing }
      before(tx)
      recordScriptMetadata(loginContext, tx, { userId, newcomer })
      return undefined
    },
    proof: () => ({ kind: "intent", ...voucherOf(newcomer) }),
    stopAt: () => (isLinking ? doneHref(loginContext, "linking", userId) : undefined),
    method: undefined,
  })
  if (entered instanceof Response) return entered
  const reason = `error.not_allowed.${entered.standing}` as const
  return showProblem(loginContext, { problem: "not_allowed", status: 403, reason })
}

/** The provider that vouches for the user, and when the user signed in there. */
const voucherOf = ({ found: { idp, place = "" }, intent }: Newcomer) => ({
  idpId: idp.id,
  idpOrg: place,
  upstream: intent.answered.upstream,
  ...signInTimesOf(idp, intent.answered),
})

/** Stores the metadata that scripts set for users of their own organization. */
function recordScriptMetadata(
  { cx }: LoginContext,
  tx: Transaction,
  { userId, newcomer }: { readonly userId: string; readonly newcomer: Newcomer },
): void {
  const { scripted } = newcomer.intent.answered
  if (!scripted) return
  storeScriptMetadata(cx, tx, { userId, orgId: scripted.orgId, noted: metadataFrom(scripted) })
}

type ExternalSignInOptions = {
  readonly userId: string
  /** Whether `before` creates the account. */
  readonly isNew?: boolean
  /** Whether `before` links the account. */
  readonly isLinking?: boolean
  /** Why the user can't sign in, determined before scripts; then no script runs. */
  readonly hindered?: AccountObstacle["standing"] | undefined
  readonly before: (tx: Transaction) => void
}

type AccountObstacle = { readonly standing: "locked" | "inactive" }

type ExistingSignInOptions = {
  readonly userId: string
  readonly isLinking: boolean
  readonly before: (tx: Transaction, current: Newcomer) => void
}

/** Signs in an existing user. No script runs if the user can't sign in anyway. */
async function signInExisting(
  loginContext: LoginContext,
  newcomer: Newcomer,
  { userId, isLinking, before }: ExistingSignInOptions,
): Promise<Response> {
  const { cx } = loginContext
  const hindered = findCurrentAccountObstacle(cx, userId)
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const current = hindered
    ? newcomer
    : await applyOrgScripts(loginContext, newcomer, { orgId, userId })
  const entering = { userId, isLinking, hindered, before: (tx: Transaction) => before(tx, current) }
  return signInExternal(loginContext, current, entering)
}

/**
 * The external account after the scripts of an organization have changed it; see `runOrgScripts`.
 */
export async function applyOrgScripts(
  loginContext: LoginContext,
  newcomer: Newcomer,
  home: { readonly orgId: string; readonly userId?: string },
): Promise<Newcomer> {
  const { found, intent } = newcomer
  const answered = await runOrgScripts(loginContext, found, { answered: intent.answered, ...home })
  return { ...newcomer, identity: answered.identity, intent: { ...intent, answered } }
}

/** Signs in a linked user; the link must still exist in the transaction. */
export const signInLinked = (loginContext: LoginContext, newcomer: Newcomer, userId: string) =>
  signInExisting(loginContext, newcomer, {
    userId,
    isLinking: false,
    before: (tx, current) => {
      const { externalId } = newcomer.identity
      if (
        findLinkedUserInTransaction(tx, { idpId: newcomer.found.idp.id, externalId }) !== userId
      ) {
        throw linkMissingError()
      }
      updateProfile(loginContext.cx, tx, { userId, newcomer: current })
    },
  })

/** Signs in an existing user and links the account. */
export const signInAndLink = (loginContext: LoginContext, newcomer: Newcomer, userId: string) =>
  signInExisting(loginContext, newcomer, {
    userId,
    isLinking: true,
    before: (tx, current) => linkUser(tx, userId, current),
  })

/** Signs in a newly created user. */
export async function signInNew(loginContext: LoginContext, newcomer: Newcomer, data: EnteredData) {
  const { cx, waiting } = loginContext
  const userId = cx.ids.next()
  const orgId = newUserOrgOf(cx, newcomer.found, waiting)
  const current = await applyOrgScripts(loginContext, newcomer, { orgId })
  const planned = newUserOf(loginContext, userId, { ...current, said: data })
  const scriptInput = { flowType: 1, orgId, scene: scriptContextOf(loginContext) } as const
  const person = await runBeforeCreation(cx, userId, { ...scriptInput, person: planned })
  const granted = await runAfterCreation(cx, newUserForScript(userId, person), scriptInput)
  if (person.email.code) cx.allowance?.spend("message")
  return signInExternal(loginContext, current, {
    userId,
    isNew: true,
    before: (tx) => {
      addNewcomer(tx, userId, { newcomer: current, person })
      addRoleGrants(tx, { userId, orgId }, granted)
    },
  })
}

const linkMissingError = () =>
  new Fault("failed_precondition", "user.idp_link_missing", "the account is no longer linked")
