import type { Cx } from "../../../store/index.ts"
import { instance } from "../../instance/index.ts"
import { type Metadata, setMetadata } from "../../user/index.ts"
import { isTemporary } from "../../user-lookup/index.ts"
import { user } from "../../user-model/index.ts"
import type { Effect } from "../script/messages.ts"
import { effectError, lastByKey, parseMetadata, textArgument } from "./effect.ts"
import { type FlowRun, runScripts, type Script, scriptsFor } from "./run.ts"
import { canEditScripts, userAnswers, userForScript } from "./script-user.ts"
import { callTargetsForScript, hasTargets, type TargetResponse } from "./target.ts"

type Claims = Readonly<Record<string, unknown>>

/** The claims of a token or response, with its user and client. */
export type ComplementInput = {
  /** 4: userinfo, introspection and ID tokens; 5: access tokens that are JWTs. */
  readonly triggerType: 4 | 5
  readonly userId: string
  readonly clientId: string
  /** The scopes that the application requested and received. */
  readonly scopes: readonly string[]
  readonly claims: Claims
  readonly actor?: unknown
  /** If absent, existing claims can't be changed. */
  readonly replaceable?: () => ReplaceableClaims
}

/** Existing claims that can be replaced once. */
export type ReplaceableClaims = {
  readonly names: readonly string[]
  /** Whether scripts of the user's organization can replace them; otherwise only targets. */
  readonly byScripts: boolean
}

const noReplaceable: ReplaceableClaims = { names: [], byScripts: false }

/**
 * The claims with the additions of the scripts of the user's organization, followed by those of the
 * instance's targets. Returns the claims synchronously if there are none. Throws if one rejects,
 * but never for the console or for users who can edit them. Does not run for the temporary user of
 * a self-check.
 */
export function complementClaims(cx: Cx, input: ComplementInput): Claims | Promise<Claims> {
  const orgId = cx.store.receipt(cx, user, input.userId)?.owner ?? ""
  const { triggerType, userId } = input
  if (isTemporary(cx, userId)) return input.claims
  const moment = { orgId, userId, flowType: 2, triggerType } as const
  const isAlone =
    scriptsFor(cx, moment).length === 0 && !hasTargets(cx, functionNames[input.triggerType])
  return isAlone ? input.claims : runComplement(cx, moment, input)
}

const functionNames = { 4: "preuserinfo", 5: "preaccesstoken" } as const

async function runComplement(cx: Cx, moment: FlowRun, input: ComplementInput): Promise<Claims> {
  const { userId, clientId, scopes, actor } = input
  const claims: Record<string, unknown> = { ...input.claims }
  const metadata: Metadata[] = []
  const { names, byScripts } = input.replaceable?.() ?? noReplaceable
  const replaceable = new Set(names)
  const ofScript = { noted: metadata, isOfOrg: true, ...(byScripts ? { replaceable } : { scopes }) }
  await runScripts(cx, moment, {
    input: () => ({
      shape: "token",
      data: { claims, clientId, actor, user: userForScript(cx, userId) },
    }),
    answers: userAnswers(cx, userId, moment.orgId),
    applyEffect: (effect, script) => applyClaimEffect(effect, { claims, script, ...ofScript }),
    isLenient: () => isConsole(cx, clientId) || canEditScripts(cx, userId, moment.orgId),
  })
  const name = functionNames[input.triggerType]
  await callTargetsForScript(cx, name, {
    userId,
    ignoresErrors: isConsole(cx, clientId),
    additionalData: () => ({ userinfo: claims, application: { client_id: clientId }, actor }),
    applyResponse: (response) => {
      metadata.push(...response.metadata)
      const claimInput = { claims, script: { name }, noted: metadata, isOfOrg: false, replaceable }
      for (const effect of toEffects(response)) applyClaimEffect(effect, claimInput)
    },
  })
  if (metadata.length > 0) await setMetadata(cx, userId, lastByKey(metadata))
  return claims
}

const isConsole = (cx: Cx, clientId: string): boolean =>
  clientId === cx.store.state(cx, instance, cx.instance).consoleClientId

/** Converts the response of a target to the effects of a script. */
const toEffects = ({ claims, logs }: TargetResponse): readonly Effect[] => [
  ...claims.map(([key, value]) => ["claim", key, value] as const),
  ...logs.map((line) => ["claimLog", line] as const),
]

export type ClaimEffectInput = {
  readonly claims: Record<string, unknown>
  /** The script that logs. */
  readonly script: Pick<Script, "name">
  readonly noted: Metadata[]
  /** Whether administrators of an organization wrote the script; targets belong to the instance. */
  readonly isOfOrg: boolean
  /** The granted scopes if role claims can't be set; otherwise absent. */
  readonly scopes?: readonly string[]
  /** The names of existing claims that can be replaced; each is removed after it is set. */
  readonly replaceable?: Set<string>
}

/** Tokens are sent in headers, whose size is limited. */
const claimMax = 4000
const linesMax = 20
const lineMax = 200

/** Applies an effect to the claims; throws if it is not allowed. */
export function applyClaimEffect(effect: Effect, claimInput: ClaimEffectInput): void {
  const { claims, script, noted: metadata, isOfOrg, scopes = [] } = claimInput
  const [kind, key, value] = effect
  if (kind === "metadata") metadata.push(parseMetadata(effect))
  else if (kind === "claimLog") logToClaim(claims, script, textArgument(effect))
  else if (kind === "claim") {
    const name = textArgument(effect)
    const isServers = isOfOrg && (isContactClaim(name) || isRoleClaim(name, scopes))
    const problem =
      claimProblemOf(claimInput, name, value) ?? (isServers ? "is reserved" : undefined)
    if (problem === undefined) {
      claims[String(key)] = value
      claimInput.replaceable?.delete(name)
    } else logToClaim(claims, script, `key "${key}" ${problem}`)
  } else throw effectError(`${kind} is not available here`)
}

/** Why a claim can't be set; undefined if it can. */
function claimProblemOf(
  { claims, replaceable }: ClaimEffectInput,
  key: string,
  value: unknown,
): string | undefined {
  if (isReserved(key)) return "is reserved"
  if (Object.hasOwn(claims, key) && !replaceable?.has(key)) return "already exists"
  const json = JSON.stringify(value)
  if (json === undefined) return "has no value"
  return json.length > claimMax ? `has more than ${claimMax} characters` : undefined
}

/** A problem with a claim is not a failure of the script; it is reported in a separate claim. */
function logToClaim(
  claims: Record<string, unknown>,
  { name }: ClaimEffectInput["script"],
  line: string,
): void {
  const key = `urn:core:iam:action:${name}:log`
  const lines = Array.isArray(claims[key]) ? claims[key] : []
  if (lines.length < linesMax) claims[key] = [...lines, line.slice(0, lineMax)]
}

/** Claims that the protocols define (RFC 7519 §4.1, RFC 7662 §2.2, OpenID Connect). */
const protocolClaims = new Set(
  `iss sub aud exp nbf iat jti azp nonce auth_time acr amr at_hash c_hash s_hash sid act may_act
   cnf scope client_id token_type active username events typ __proto__`.split(/\s+/),
)

/** Claims of scripts must not be mistaken for ours. */
const isReserved = (key: string): boolean =>
  key === "" ||
  key.length > 200 ||
  key.toLowerCase().startsWith("urn:core:iam") ||
  protocolClaims.has(key)

/**
 * Claims that other organizations trust for verified contacts. A script of an organization can't
 * add them where the server omits them. Some clients ignore the case of names.
 */
const isContactClaim = (key: string): boolean =>
  /^(?:email|phone_number)(?:_verified)?$/.test(key.trim().toLowerCase())

/**
 * Claims that applications use for authorization. If an application requested the scope of that
 * name, the roles are those of its project: a script of an organization can't add others where the
 * server omits them, as in an ID token without user claims.
 */
const isRoleClaim = (key: string, scopes: readonly string[]): boolean => {
  const name = key.trim().toLowerCase()
  return roleScopes.has(name) && scopes.includes(name)
}
const roleScopes: ReadonlySet<string> = new Set(["groups", "roles"])
