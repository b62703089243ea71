import type { Cx } from "../../../store/index.ts"
import { instance } from "../../instance/index.ts"
import { type Metadata, setMetadata } from "../../user/index.ts"
import { isTemporary } from "../../user-lookup/index.ts"
import { user } from "../../user-model/index.ts"
import type { Effect } from "../script/wire.ts"
import { effectError, lastOfEach, metadataIn, textIn } from "./effect.ts"
import { answersAbout, mayMend, shownUser } from "./person.ts"
import { type Moment, play, type Script, scriptsAt } from "./run.ts"
import { askAbout, hasSay, type Said } from "./target.ts"

type Claims = Readonly<Record<string, unknown>>

/** What a token or an answer is to say, and of whom to whom. */
export type Complementing = {
  /** 4: userinfo, introspection and id_tokens; 5: access tokens that are JWTs. */
  readonly triggerType: 4 | 5
  readonly userId: string
  readonly clientId: string
  /** What the application requested and was granted. */
  readonly scopes: readonly string[]
  readonly claims: Claims
  readonly actor?: unknown
  /** Absent: nothing that is there can be set. */
  readonly replaceable?: () => Replaceable
}

/** Claims that can be set once although they are there. */
export type Replaceable = {
  readonly names: readonly string[]
  /** Whether scripts of the user's organization can do that; otherwise only targets. */
  readonly byScripts: boolean
}

const nothing: Replaceable = { names: [], byScripts: false }

/**
 * The claims with what the scripts of the user's organisation add, and then the targets of the
 * instance. Where there are none, that costs nothing. Faults where one refuses; never in the
 * console, and never who may mend them. None is asked about the user of a self-check.
 */
export function complementClaims(cx: Cx, asked: Complementing): Claims | Promise<Claims> {
  const orgId = cx.store.receipt(cx, user, asked.userId)?.owner ?? ""
  const { triggerType, userId } = asked
  if (isTemporary(cx, userId)) return asked.claims
  const moment = { orgId, userId, flowType: 2, triggerType } as const
  const isAlone = scriptsAt(cx, moment).length === 0 && !hasSay(cx, functions[asked.triggerType])
  return isAlone ? asked.claims : complement(cx, moment, asked)
}

const functions = { 4: "preuserinfo", 5: "preaccesstoken" } as const

async function complement(cx: Cx, moment: Moment, asked: Complementing): Promise<Claims> {
  const { userId, clientId, scopes, actor } = asked
  const claims: Record<string, unknown> = { ...asked.claims }
  const noted: Metadata[] = []
  const { names, byScripts } = asked.replaceable?.() ?? nothing
  const replaceable = new Set(names)
  const ofScript = { noted, isOfOrg: true, ...(byScripts ? { replaceable } : { scopes }) }
  await play(cx, moment, {
    input: () => ({
      shape: "token",
      data: { claims, clientId, actor, user: shownUser(cx, userId) },
    }),
    answers: answersAbout(cx, userId, moment.orgId),
    take: (effect, script) => takeClaim(effect, { claims, script, ...ofScript }),
    isLenient: () => isConsole(cx, clientId) || mayMend(cx, userId, moment.orgId),
  })
  const name = functions[asked.triggerType]
  await askAbout(cx, name, {
    userId,
    isOpen: isConsole(cx, clientId),
    more: () => ({ userinfo: claims, application: { client_id: clientId }, actor }),
    take: (said) => {
      noted.push(...said.metadata)
      const taking = { claims, script: { name }, noted, isOfOrg: false, replaceable }
      for (const effect of effectsOf(said)) takeClaim(effect, taking)
    },
  })
  if (noted.length > 0) await setMetadata(cx, userId, lastOfEach(noted))
  return claims
}

const isConsole = (cx: Cx, clientId: string): boolean =>
  clientId === cx.store.state(cx, instance, cx.instance).consoleClientId

/** What a target says is taken as what a script does. */
const effectsOf = ({ claims, logs }: Said): readonly Effect[] => [
  ...claims.map(([key, value]) => ["claim", key, value] as const),
  ...logs.map((line) => ["claimLog", line] as const),
]

export type Taking = {
  readonly claims: Record<string, unknown>
  /** Whose log it is. */
  readonly script: Pick<Script, "name">
  readonly noted: Metadata[]
  /** Whether an organization's administrators wrote the script; targets are the instance's. */
  readonly isOfOrg: boolean
  /** What the application was granted, where none of its role claims can be set; else absent. */
  readonly scopes?: readonly string[]
  /** Names of claims that can be set although they are there; one that is set is taken out. */
  readonly replaceable?: Set<string>
}

/** Tokens travel in headers, which are short. */
const claimMax = 4000
const linesMax = 20
const lineMax = 200

/** Does to claims what a script asks for; a Fault where it can't have that. */
export function takeClaim(effect: Effect, taking: Taking): void {
  const { claims, script, noted, isOfOrg, scopes = [] } = taking
  const [kind, key, value] = effect
  if (kind === "metadata") noted.push(metadataIn(effect))
  else if (kind === "claimLog") log(claims, script, textIn(effect))
  else if (kind === "claim") {
    const name = textIn(effect)
    const isServers = isOfOrg && (isContactClaim(name) || isRoleClaim(name, scopes))
    const problem = problemOf(taking, name, value) ?? (isServers ? "is reserved" : undefined)
    if (problem === undefined) {
      claims[String(key)] = value
      taking.replaceable?.delete(name)
    } else log(claims, script, `key "${key}" ${problem}`)
  } else throw effectError(`${kind} is nothing that can be done here`)
}

/** Why a claim can't be set; undefined where it can. */
function problemOf(
  { claims, replaceable }: Taking,
  key: string,
  value: unknown,
): string | undefined {
  if (isReserved(key)) return "is reserved"
  if (Object.hasOwn(claims, key) && !replaceable?.has(key)) return "already exists"
  const json = JSON.stringify(value)
  if (json === undefined) return "has no value"
  return json.length > claimMax ? `has more than ${claimMax} characters` : undefined
}

/** What goes wrong with a claim is no failure: it stands in a claim of its own. */
function log(claims: Record<string, unknown>, { name }: Taking["script"], line: string): void {
  const key = `urn:core:iam:action:${name}:log`
  const lines = Array.isArray(claims[key]) ? claims[key] : []
  if (lines.length < linesMax) claims[key] = [...lines, line.slice(0, lineMax)]
}

/** What tokens and answers say of themselves (RFC 7519 §4.1, RFC 7662 §2.2, OpenID Connect). */
const protocol = new Set(
  `iss sub aud exp nbf iat jti azp nonce auth_time acr amr at_hash c_hash s_hash sid act may_act
   cnf scope client_id token_type active username events typ __proto__`.split(/\s+/),
)

/** Nobody takes a claim of a script for one of ours. */
const isReserved = (key: string): boolean =>
  key === "" ||
  key.length > 200 ||
  key.toLowerCase().startsWith("urn:core:iam") ||
  protocol.has(key)

/**
 * Claims for which other organizations rely on who verified an address: an organization's script
 * can't add them where the server leaves them out. Some clients ignore the case of names.
 */
const isContactClaim = (key: string): boolean =>
  /^(?:email|phone_number)(?:_verified)?$/.test(key.trim().toLowerCase())

/**
 * Claims by which applications decide what a user may do. Where one requested the scope of that
 * name, the roles are those that its project grants: an organization's script can't add others
 * where the server leaves them out, as in an ID token without user claims.
 */
const isRoleClaim = (key: string, scopes: readonly string[]): boolean => {
  const name = key.trim().toLowerCase()
  return roleScopes.has(name) && scopes.includes(name)
}
const roleScopes: ReadonlySet<string> = new Set(["groups", "roles"])
