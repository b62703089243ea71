import {
  type Answered,
  type Intent,
  type OpenIntent,
  succeedIntent,
} from "../../../domain/idp/index.ts"
import { linkedUser } from "../../../domain/user-link/index.ts"
import { Fault, reasonText } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import type { LoginContext, PageContext } from "../../context.ts"
import { loginContextOf } from "../../entrance.ts"
import { goTo } from "../../form.ts"
import { type ProviderProblem, providerText } from "../../look/fault-text.ts"
import { linkings, options } from "../../part/provider.ts"
import { trouble } from "../../trouble.ts"
import { domainRefusalOf, recordDomainRefusal } from "./allowed-domain.ts"
import { enterLinked, enterLinking, enterNew } from "./enter.ts"
import { judged, type Newcomer, newcomerOf } from "./person.ts"

type Elsewhere = Pick<OpenIntent, "id" | "idpId" | "successUrl" | "failureUrl">
type End = { readonly token: string; readonly answered: Answered } | { readonly error: string }

/** Tells a login page of somebody else what came of an intent that it has begun. */
export function tellElsewhere(cx: Cx, open: Elsewhere, end: End): Response {
  const { id, idpId, successUrl, failureUrl } = open
  if ("error" in end) return goTo(withParameters(failureUrl, { id, error: end.error }))
  const { externalId } = end.answered.identity
  const user = linkedUser(cx, { idpId, externalId }) ?? ""
  return goTo(withParameters(successUrl, { id, token: end.token, user }))
}

/** What came of an intent, and whether that is kept already. */
type Came = { readonly intent: Intent; readonly isKept: boolean }

/**
 * Goes on with who has proved to a provider who they are, on our own pages. What came of it is used
 * at once where nothing is left to ask: then none of it is kept.
 */
export async function proceed(pageContext: PageContext, came: Came): Promise<Response> {
  const { cx } = pageContext
  const { intent, isKept } = came
  const context = await loginContextOf(pageContext, intent.requestId)
  if (context instanceof Response) return context
  const newcomer = newcomerOf(context, intent)
  if (!newcomer) return trouble(context, { problem: "expired" })
  const verdict = intent.linkUserId === undefined ? judged(context, newcomer) : undefined
  const fresh = { ...newcomer, isFresh: !isKept }
  if (verdict?.kind === "sign in") return enterLinked(context, fresh, verdict.userId)
  if (verdict?.kind === "link") return enterLinking(context, fresh, verdict.userId)
  if (verdict?.kind === "create") return created(context, fresh)
  if (verdict?.kind === "barred") return trouble(context, { problem: "not_allowed", status: 403 })
  if (!isKept) await succeedIntent(cx, intent.id, intent.answered)
  if (verdict?.kind === "refuse") return refuseCreation(context, newcomer)
  const domainRefusal = verdict && domainRefusalOf(newcomer)
  if (domainRefusal) recordDomainRefusal(context, domainRefusal)
  return (verdict ? options : linkings).next(context, { intentId: intent.id })
}

/** The page for somebody who can't get an account; the administrators find out why. */
export function refuseCreation(
  context: LoginContext,
  newcomer: Newcomer,
): Promise<Response> | Response {
  const domainRefusal = domainRefusalOf(newcomer)
  if (domainRefusal) recordDomainRefusal(context, domainRefusal)
  const problem = domainRefusal ? "provider_domain" : "provider_unlinked"
  return trouble(context, { problem, status: 403 })
}

/** Where the account can't be made as the provider says, the person is asked. */
async function created(context: LoginContext, newcomer: Newcomer): Promise<Response> {
  const { givenName, familyName, email, userName } = newcomer.identity
  const { intent, isFresh } = newcomer
  try {
    return await enterNew(context, newcomer, { givenName, familyName, email, userName })
  } catch (cause) {
    if (!(cause instanceof Fault) || !mendable.has(cause.code)) throw cause
    if (isFresh) await succeedIntent(context.cx, intent.id, intent.answered)
    return options.next(context, { intentId: intent.id, problem: "taken" })
  }
}

/** What somebody else's name or a word that can't be one is refused with. */
export const mendable: ReadonlySet<string> = new Set(["already_exists", "invalid_argument"])

/** A provider that did not do what it should has a page of its own; the log has the cause. */
export const failed = (pageContext: PageContext, cause: unknown): Promise<Response> | Response =>
  showFailed(pageContext, problemOf(pageContext.cx, cause))

/** The page itself. */
export const showFailed = (
  pageContext: PageContext,
  problem: ProviderProblem,
): Promise<Response> | Response =>
  trouble(pageContext, { problem, status: problem === "provider_down" ? 503 : 400 })

/** What is told of it, and logged; throws what is no failure of a provider. */
export function problemOf(cx: Cx, cause: unknown): ProviderProblem {
  const problem = cause instanceof Fault ? providerText[cause.id] : undefined
  if (!(cause instanceof Fault) || !problem) throw cause
  if (cause.cause) cx.warn(`an identity provider failed: ${reasonText(cause.cause)}`)
  return problem
}

/** The id of what went wrong, as it is kept and told. */
export const reasonOf = (cause: unknown): string => (cause instanceof Fault ? cause.id : "internal")

function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "") url.searchParams.set(name, value)
  }
  return url.href
}
