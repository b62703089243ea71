import {
  type AuthMethod,
  hasAfterAuthentication,
  runAfterAuthentication,
  runAfterExternal,
  type ScriptRequest,
} from "../../domain/action/index.ts"
import type { AuthenticatedAnswer, OwnedIdp } from "../../domain/idp/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { findCurrentAccountObstacle, type SignInProof } from "../../domain/session/index.ts"
import type { Metadata } from "../../domain/user/index.ts"
import { findLinkedUser, findUserToSignIn } from "../../domain/user-link/index.ts"
import { isAbsent, user } from "../../domain/user-model/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { type PresentSession, signInKindOf } from "../flow.ts"
import { requirementOf } from "../policy/factor-requirement.ts"
import { findPendingRequest, type PendingRequest, type RequestBrowser } from "../request.ts"

/** The context that scripts receive data from. */
type ScriptContext = {
  readonly cx: Cx
  readonly request: Request
  readonly browserContext: RequestBrowser
  readonly waiting: PendingRequest | undefined
}

/** The user who signs in, and the proof; a password by default. */
type ScriptUser = { readonly userId: string; readonly proof?: SignInProof | undefined }

/** The context of a sign-in as scripts receive it; the names are part of the API. */
export function scriptContextOf(
  { cx, request, browserContext, waiting }: ScriptContext,
  scriptUser?: ScriptUser,
): ScriptRequest {
  const { origin, host, pathname } = new URL(request.url)
  const userAgent = request.headers.get("user-agent") ?? ""
  const acceptLanguage = request.headers.get("accept-language") ?? ""
  const remoteIp = cx.from?.address ?? ""
  return {
    httpRequest: {
      // The query may contain a code, and the form a password.
      method: request.method,
      url: `${origin}${pathname}`,
      host,
      remoteAddr: remoteIp,
      headers: { "user-agent": [userAgent], "accept-language": [acceptLanguage] },
    },
    authRequest: waiting && {
      ...toScriptRequest(cx, waiting),
      ...(scriptUser ? toScriptUser(cx, browserContext.present, scriptUser) : { mfasVerified: [] }),
      agentId: browserContext.browser.id,
      browserInfo: { userAgent, acceptLanguage, remoteIp },
    },
  }
}

const promptNumbers = { none: 1, login: 2, consent: 3, select_account: 4, create: 5 } as const

function toScriptRequest(cx: Cx, { id, asked, loginHint }: PendingRequest) {
  const now = new Date(cx.clock.now()).toISOString()
  const numbers: Readonly<Record<string, number>> = promptNumbers
  return {
    id,
    creationDate: now,
    changeDate: now,
    instanceId: cx.instance,
    applicationId: asked.clientId,
    callbackUri: asked.redirectUri,
    loginHint,
    transferState: asked.state ?? "",
    prompt: asked.prompts.map((prompt) => numbers[prompt] ?? 0),
    uiLocales: asked.languages,
    // In nanoseconds.
    ...(asked.maxAge !== undefined && { maxAuthAge: asked.maxAge * 1_000_000_000 }),
    request: { oidc: { scopes: asked.scopes } },
    requestedOrgId: asked.home ?? "",
    audience: asked.audience,
  }
}

function toScriptUser(cx: Cx, present: readonly PresentSession[], { userId, proof }: ScriptUser) {
  const state = cx.store.state(cx, user, userId)
  const session = present.find((each) => each.userId === userId)
  const isSecond = session !== undefined && (proof?.kind === "webauthn" || isCode(proof))
  const authTime = isSecond ? session.authTime : cx.clock.now()
  return {
    userId,
    loginName: isAbsent(state) ? "" : state.userName,
    mfasVerified: toScriptFactors(cx, { userId, session, proof }),
    resourceOwner: cx.store.receipt(cx, user, userId)?.owner ?? "",
    authTime: new Date(authTime).toISOString(),
  }
}

const isCode = (proof: SignInProof | undefined): boolean =>
  codeKinds.some((kind) => kind === proof?.kind)
const codeKinds = ["totp", "otp_sms", "otp_email", "recovery_code"] as const

/**
 * The verified second factors as numbers of the API: 0 a code, 1 a security key, 2 a key that
 * verified the user.
 */
function toScriptFactors(
  cx: Cx,
  { userId, session, proof }: ScriptUser & { readonly session: PresentSession | undefined },
): readonly number[] {
  const { secondLifetime, multiLifetime } = requirementOf(cx, userId)
  const { checks, userVerified }: Pick<PresentSession, "checks" | "userVerified"> = session ?? {
    checks: {},
    userVerified: false,
  }
  const { webAuthN, totp, otpSms, otpEmail, recoveryCode } = checks
  const isCheckValid = (time: number | undefined, lifetime = secondLifetime) =>
    time !== undefined && cx.clock.now() - time <= lifetime * 1000
  // After a sign-in by email, an emailed code proves nothing more.
  const isMailed = signInKindOf({ checks }) === "link"
  const isNew = isCode(proof) && !(isMailed && proof?.kind === "otp_email")
  const codes = [totp, otpSms, recoveryCode, isMailed ? undefined : otpEmail]
  const hasCode = isNew || codes.some((time) => isCheckValid(time))
  const isValid = isCheckValid(webAuthN, userVerified ? multiLifetime : secondLifetime)
  const key = proof?.kind === "webauthn" ? proof.isUserVerified : isValid ? userVerified : undefined
  return [...(hasCode ? [0] : []), ...(key === undefined ? [] : [key ? 2 : 1])]
}

type SignInAttempt = {
  readonly userId: string
  /** Runs first in the sign-in transaction; returns why the user can't sign in. */
  readonly first: (tx: Transaction) => object | undefined
  /** How the user authenticates; if absent, no script runs. */
  readonly method?: AuthMethod | undefined
  /** The proof, as determined by `first`. */
  readonly proof?: (() => SignInProof | undefined) | undefined
}

/**
 * Runs the scripts for a sign-in and returns the metadata that they set. Throws if a script denies
 * the sign-in. Skipped if the user can't sign in anyway.
 */
export async function runSignInScripts(
  scriptContext: ScriptContext,
  { userId, first, method, proof }: SignInAttempt,
): Promise<readonly Metadata[]> {
  const { cx } = scriptContext
  if (method === undefined || !hasAfterAuthentication(cx, userId)) return []
  if (await isSignInRejected(cx, first)) return []
  return runAfterAuthentication(cx, userId, {
    method,
    scene: scriptContextOf(scriptContext, { userId, proof: proof?.() }),
  })
}

/** Runs a transaction to determine its result, and rolls it back. */
async function isSignInRejected(cx: Cx, first: SignInAttempt["first"]): Promise<boolean> {
  const takenBack = new Fault("aborted", "login.tried", "dry run only")
  let refusal: object | undefined
  try {
    await cx.store.transact(cx, (tx) => {
      refusal = first(tx)
      throw takenBack
    })
  } catch (cause) {
    if (cause !== takenBack) throw cause
  }
  return refusal !== undefined
}

type ExternalSignIn = {
  readonly answered: AuthenticatedAnswer
  /** The pending sign-in; empty if there is none. */
  readonly requestId: string
  /** The user to link the account to; absent for a sign-in. */
  readonly linkUserId?: string | undefined
}

/**
 * The response of a provider after the scripts of the user's organization have changed it. Skipped
 * if the user can't sign in anyway.
 */
export async function runExternalScripts(
  context: Omit<ScriptContext, "waiting">,
  idp: OwnedIdp,
  { answered, requestId, linkUserId }: ExternalSignIn,
): Promise<AuthenticatedAnswer> {
  const { cx, browserContext } = context
  const waiting = findPendingRequest(cx, browserContext, requestId)
  const { externalId } = answered.identity
  const external = { idpId: idp.idp.id, externalId }
  const userId = linkUserId ?? findUserToSignIn(cx, external)
  if (userId === undefined) {
    if (findLinkedUser(cx, external) !== undefined) return answered
    const orgId = newUserOrgOf(cx, idp, waiting)
    return runOrgScripts({ ...context, waiting }, idp, { answered, orgId })
  }
  if (findCurrentAccountObstacle(cx, userId)) return answered
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  return runOrgScripts({ ...context, waiting }, idp, { answered, orgId, userId })
}

/** The organization of a user who does not exist yet. */
export const newUserOrgOf = (
  cx: Cx,
  { place }: OwnedIdp,
  waiting: PendingRequest | undefined,
): string => place ?? waiting?.asked.home ?? requireInstance(cx).defaultOrgId

type OrgScriptInput = {
  readonly answered: AuthenticatedAnswer
  readonly orgId: string
  /** Absent if the user is about to be created. */
  readonly userId?: string
}

/**
 * The response of a provider after the scripts of one organization have changed it; the scripts can
 * deny the sign-in. Changes by scripts of another organization are discarded, as are changes for a
 * different user, who may have been admitted to repair the scripts.
 */
export function runOrgScripts(
  scriptContext: ScriptContext,
  idp: OwnedIdp,
  { answered, orgId, userId = "" }: OrgScriptInput,
): Promise<AuthenticatedAnswer> | AuthenticatedAnswer {
  const before = answered.scripted
  if (before?.orgId === orgId && ["", userId].includes(before.userId)) return answered
  const scene = scriptContextOf(scriptContext)
  return runAfterExternal(scriptContext.cx, { orgId, userId, idpId: idp.idp.id, answered, scene })
}
