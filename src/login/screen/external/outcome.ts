import {
  type AuthenticatedAnswer,
  type Intent,
  type OpenIntent,
  succeedIntent,
} from "../../../domain/idp/index.ts"
import { findLinkedUser } from "../../../domain/user-link/index.ts"
import { errorText, Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { type ProviderProblem, providerText } from "../../appearance/fault-text.ts"
import type { LoginContext, PageContext } from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { loadLoginContext } from "../../load-context.ts"
import { externalOptionState, linkingState } from "../../part/provider.ts"
import { showProblem } from "../../problem.ts"
import { findDomainRejection, recordDomainRejection } from "./allowed-domain.ts"
import { decideAccount, findNewcomer, type Newcomer } from "./newcomer.ts"
import { signInAndLink, signInLinked, signInNew } from "./sign-in.ts"

type CustomLoginIntent = Pick<OpenIntent, "id" | "idpId" | "successUrl" | "failureUrl">
type IntentResult =
  | { readonly token: string; readonly answered: AuthenticatedAnswer }
  | { readonly error: string }

/** Redirects to a custom login page with the result of an intent that it started. */
export function redirectToCustomLogin(
  cx: Cx,
  open: CustomLoginIntent,
  intentResult: IntentResult,
): Response {
  const { id, idpId, successUrl, failureUrl } = open
  if ("error" in intentResult)
    return redirectTo(withParameters(failureUrl, { id, error: intentResult.error }))
  const { externalId } = intentResult.answered.identity
  const user = findLinkedUser(cx, { idpId, externalId }) ?? ""
  return redirectTo(withParameters(successUrl, { id, token: intentResult.token, user }))
}

/** The result of an intent, and whether it is already stored. */
type ReceivedIntent = { readonly intent: Intent; readonly isStored: boolean }

/**
 * Continues on our own pages with a user who signed in at a provider. If no further input is
 * needed, the result is used immediately and never stored.
 */
export async function continueWithIntent(
  pageContext: PageContext,
  came: ReceivedIntent,
): Promise<Response> {
  const { cx } = pageContext
  const { intent, isStored } = came
  const context = await loadLoginContext(pageContext, intent.requestId)
  if (context instanceof Response) return context
  const newcomer = findNewcomer(context, intent)
  if (!newcomer) return showProblem(context, { problem: "expired" })
  const verdict = intent.linkUserId === undefined ? decideAccount(context, newcomer) : undefined
  const fresh = { ...newcomer, isFresh: !isStored }
  if (verdict?.kind === "sign in") return signInLinked(context, fresh, verdict.userId)
  if (verdict?.kind === "link") return signInAndLink(context, fresh, verdict.userId)
  if (verdict?.kind === "create") return createAccount(context, fresh)
  if (verdict?.kind === "barred")
    return showProblem(context, { problem: "not_allowed", status: 403 })
  if (!isStored) await succeedIntent(cx, intent.id, intent.answered)
  if (verdict?.kind === "refuse") return rejectCreation(context, newcomer)
  const domainRefusal = verdict && findDomainRejection(newcomer)
  if (domainRefusal) recordDomainRejection(context, domainRefusal)
  return (verdict ? externalOptionState : linkingState).next(context, { intentId: intent.id })
}

/**
 * The page for a user for whom no account can be created; administrators find the reason in the
 * log.
 */
export function rejectCreation(
  context: LoginContext,
  newcomer: Newcomer,
): Promise<Response> | Response {
  const domainRefusal = findDomainRejection(newcomer)
  if (domainRefusal) recordDomainRejection(context, domainRefusal)
  const problem = domainRefusal ? "provider_domain" : "provider_unlinked"
  return showProblem(context, { problem, status: 403 })
}

/** Creates the account, or asks the user if the provider's data is not sufficient. */
async function createAccount(context: LoginContext, newcomer: Newcomer): Promise<Response> {
  const { givenName, familyName, email, userName } = newcomer.identity
  const { intent, isFresh } = newcomer
  try {
    return await signInNew(context, newcomer, { givenName, familyName, email, userName })
  } catch (cause) {
    if (!(cause instanceof Fault) || !correctableCodes.has(cause.code)) throw cause
    if (isFresh) await succeedIntent(context.cx, intent.id, intent.answered)
    return externalOptionState.next(context, { intentId: intent.id, problem: "taken" })
  }
}

/** Codes of faults that the user can correct, such as a name that is taken or invalid. */
export const correctableCodes: ReadonlySet<string> = new Set(["already_exists", "invalid_argument"])

/** Shows the page for a failed sign-in with a provider; the cause is logged. */
export const showProviderFailure = (
  pageContext: PageContext,
  cause: unknown,
): Promise<Response> | Response =>
  showProviderProblem(pageContext, problemOf(pageContext.cx, cause))

/** The page for a failed sign-in with a provider. */
export const showProviderProblem = (
  pageContext: PageContext,
  problem: ProviderProblem,
): Promise<Response> | Response =>
  showProblem(pageContext, { problem, status: problem === "provider_down" ? 503 : 400 })

/**
 * The problem to show; also logs the cause. Rethrows everything that is not a failure of a
 * provider.
 */
export function problemOf(cx: Cx, cause: unknown): ProviderProblem {
  const problem = cause instanceof Fault ? providerText[cause.id] : undefined
  if (!(cause instanceof Fault) || !problem) throw cause
  if (cause.cause) cx.warn(`an identity provider failed: ${errorText(cause.cause)}`)
  return problem
}

/** The ID of a failure, as stored and returned. */
export const failureIdOf = (cause: unknown): string =>
  cause instanceof Fault ? cause.id : "internal"

function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "") url.searchParams.set(name, value)
  }
  return url.href
}
