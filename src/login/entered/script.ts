import {
  type AuthMethod,
  afterAuthentication,
  afterExternal,
  hasAfterAuthentication,
  type Scene,
} from "../../domain/action/index.ts"
import type { Answered, Found } from "../../domain/idp/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { type Proof, standingNow } from "../../domain/session/index.ts"
import type { Metadata } from "../../domain/user/index.ts"
import { linkedUser, userLetIn } from "../../domain/user-link/index.ts"
import { hasLeft, user } from "../../domain/user-model/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { cameBy, type Present } from "../flow.ts"
import { needOf } from "../policy/need.ts"
import { type RequestBrowser, type Waiting, waitingRequest } from "../request.ts"

/** What scripts are shown something of. */
type ScriptContext = {
  readonly cx: Cx
  readonly request: Request
  readonly browserContext: RequestBrowser
  readonly waiting: Waiting | undefined
}

/** Who is about to come in, and what they have just shown; without a word a password. */
type Who = { readonly userId: string; readonly proof?: Proof | undefined }

/** What scripts are shown of where somebody signs in; the names are the interface's. */
export function sceneOf({ cx, request, browserContext, waiting }: ScriptContext, who?: Who): Scene {
  const { origin, host, pathname } = new URL(request.url)
  const userAgent = request.headers.get("user-agent") ?? ""
  const acceptLanguage = request.headers.get("accept-language") ?? ""
  const remoteIp = cx.from?.address ?? ""
  return {
    httpRequest: {
      // What stands behind the path may be a code, and what was posted a password.
      method: request.method,
      url: `${origin}${pathname}`,
      host,
      remoteAddr: remoteIp,
      headers: { "user-agent": [userAgent], "accept-language": [acceptLanguage] },
    },
    authRequest: waiting && {
      ...shownRequest(cx, waiting),
      ...(who ? shownWho(cx, browserContext.present, who) : { mfasVerified: [] }),
      agentId: browserContext.browser.id,
      browserInfo: { userAgent, acceptLanguage, remoteIp },
    },
  }
}

const promptNumbers = { none: 1, login: 2, consent: 3, select_account: 4, create: 5 } as const

function shownRequest(cx: Cx, { id, asked, loginHint }: Waiting) {
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
    // Nanoseconds.
    ...(asked.maxAge !== undefined && { maxAuthAge: asked.maxAge * 1_000_000_000 }),
    request: { oidc: { scopes: asked.scopes } },
    requestedOrgId: asked.home ?? "",
    audience: asked.audience,
  }
}

function shownWho(cx: Cx, present: readonly Present[], { userId, proof }: Who) {
  const state = cx.store.state(cx, user, userId)
  const session = present.find((each) => each.userId === userId)
  const isSecond = session !== undefined && (proof?.kind === "webauthn" || isCode(proof))
  const authTime = isSecond ? session.authTime : cx.clock.now()
  return {
    userId,
    loginName: hasLeft(state) ? "" : state.userName,
    mfasVerified: factorsShown(cx, { userId, session, proof }),
    resourceOwner: cx.store.receipt(cx, user, userId)?.owner ?? "",
    authTime: new Date(authTime).toISOString(),
  }
}

const isCode = (proof: Proof | undefined): boolean => codeKinds.some((kind) => kind === proof?.kind)
const codeKinds = ["totp", "otp_sms", "otp_email", "recovery_code"] as const

/** The second factors that count now: 0 a code, 1 a key, 2 a key that has seen who holds it. */
function factorsShown(
  cx: Cx,
  { userId, session, proof }: Who & { readonly session: Present | undefined },
): readonly number[] {
  const { secondLifetime, multiLifetime } = needOf(cx, userId)
  const { checks, userVerified }: Pick<Present, "checks" | "userVerified"> = session ?? {
    checks: {},
    userVerified: false,
  }
  const { webAuthN, totp, otpSms, otpEmail, recoveryCode } = checks
  const counts = (time: number | undefined, lifetime = secondLifetime) =>
    time !== undefined && cx.clock.now() - time <= lifetime * 1000
  // Who came in by a mail proves nothing more with another one.
  const isMailed = cameBy({ checks }) === "link"
  const isNew = isCode(proof) && !(isMailed && proof?.kind === "otp_email")
  const codes = [totp, otpSms, recoveryCode, isMailed ? undefined : otpEmail]
  const hasCode = isNew || codes.some((time) => counts(time))
  const held = counts(webAuthN, userVerified ? multiLifetime : secondLifetime)
  const key = proof?.kind === "webauthn" ? proof.isUserVerified : held ? userVerified : undefined
  return [...(hasCode ? [0] : []), ...(key === undefined ? [] : [key ? 2 : 1])]
}

type Entering = {
  readonly userId: string
  /** What comes first in the step that signs in; answers what keeps them out. */
  readonly first: (tx: Transaction) => object | undefined
  /** How they prove who they are; without a word no script is asked. */
  readonly method?: AuthMethod | undefined
  /** What `first` has shown to be proved. */
  readonly proof?: (() => Proof | undefined) | undefined
}

/**
 * Asks the scripts for who is about to come in; answers what they note. Faults where one keeps them
 * out. Of whoever is kept out anyway none is asked.
 */
export async function askedOnEntry(
  seen: ScriptContext,
  { userId, first, method, proof }: Entering,
): Promise<readonly Metadata[]> {
  const { cx } = seen
  if (method === undefined || !hasAfterAuthentication(cx, userId)) return []
  if (await isKeptOut(cx, first)) return []
  return afterAuthentication(cx, userId, {
    method,
    scene: sceneOf(seen, { userId, proof: proof?.() }),
  })
}

/** Looks what a step would lead to, and takes it back. */
async function isKeptOut(cx: Cx, first: Entering["first"]): Promise<boolean> {
  const takenBack = new Fault("aborted", "login.tried", "this was only tried")
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

type Come = {
  readonly answered: Answered
  /** The sign-in that it is for; empty for none. */
  readonly requestId: string
  /** To whom it is to link who comes; absent where it signs somebody in. */
  readonly linkUserId?: string | undefined
}

/**
 * What a provider has answered, as the scripts of the person's organisation want it. Of whoever is
 * kept out anyway none is asked.
 */
export async function askedOfExternal(
  context: Omit<ScriptContext, "waiting">,
  found: Found,
  { answered, requestId, linkUserId }: Come,
): Promise<Answered> {
  const { cx, browserContext } = context
  const waiting = waitingRequest(cx, browserContext, requestId)
  const { externalId } = answered.identity
  const external = { idpId: found.idp.id, externalId }
  const userId = linkUserId ?? userLetIn(cx, external)
  if (userId === undefined) {
    if (linkedUser(cx, external) !== undefined) return answered
    const orgId = newcomersHome(cx, found, waiting)
    return askedAt({ ...context, waiting }, found, { answered, orgId })
  }
  if (standingNow(cx, userId)) return answered
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  return askedAt({ ...context, waiting }, found, { answered, orgId, userId })
}

/** The organisation of somebody whom nobody knows here yet. */
export const newcomersHome = (cx: Cx, { place }: Found, waiting: Waiting | undefined): string =>
  place ?? waiting?.asked.home ?? requireInstance(cx).defaultOrgId

type AtHome = {
  readonly answered: Answered
  readonly orgId: string
  /** Without a word somebody who is about to be added. */
  readonly userId?: string
}

/**
 * What a provider has answered, as the scripts of the organisation want it where somebody is at
 * home, or will be; they may keep them out. What those of another one have made of it counts for
 * nothing there. Nor does what was made of it for somebody else, who may have been let in because
 * they mend the scripts.
 */
export function askedAt(
  seen: ScriptContext,
  found: Found,
  { answered, orgId, userId = "" }: AtHome,
): Promise<Answered> | Answered {
  const before = answered.scripted
  if (before?.orgId === orgId && ["", userId].includes(before.userId)) return answered
  const scene = sceneOf(seen)
  return afterExternal(seen.cx, { orgId, userId, idpId: found.idp.id, answered, scene })
}
