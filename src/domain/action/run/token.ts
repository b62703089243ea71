import type { Cx } from "../../../store/index.ts"
import { instance } from "../../instance/index.ts"
import { type Metadata, setMetadata, user } from "../../user/index.ts"
import type { Effect } from "../script/wire.ts"
import { effectError, lastOfEach, metadataIn, textIn } from "./effect.ts"
import { answersAbout, mayMend, shownUser } from "./person.ts"
import { type Moment, play, type Script, scriptsAt } from "./run.ts"

type Claims = Readonly<Record<string, unknown>>

/** What a token or an answer is to say, and of whom to whom. */
export type Complementing = {
  /** 4: userinfo, introspection and id_tokens; 5: access tokens that are JWTs. */
  readonly triggerType: 4 | 5
  readonly userId: string
  readonly clientId: string
  readonly claims: Claims
  readonly actor?: unknown
}

/**
 * The claims with what the scripts of the user's organisation add. Where it has none, that costs
 * nothing. Faults where a script refuses; never in the console, and never who may mend them.
 */
export function complementClaims(cx: Cx, asked: Complementing): Claims | Promise<Claims> {
  const orgId = cx.store.receipt(cx, user, asked.userId)?.owner ?? ""
  const moment = { orgId, flowType: 2, triggerType: asked.triggerType } as const
  return scriptsAt(cx, moment).length === 0 ? asked.claims : complement(cx, moment, asked)
}

async function complement(cx: Cx, moment: Moment, asked: Complementing): Promise<Claims> {
  const { userId, clientId, actor } = asked
  const claims: Record<string, unknown> = { ...asked.claims }
  const noted: Metadata[] = []
  await play(cx, moment, {
    input: () => ({
      shape: "token",
      data: { claims, clientId, actor, user: shownUser(cx, userId) },
    }),
    answers: answersAbout(cx, userId, moment.orgId),
    take: (effect, script) => takeClaim(effect, { claims, script, noted }),
    isLenient: () =>
      clientId === cx.store.state(cx, instance, cx.instance).consoleClientId ||
      mayMend(cx, userId, moment.orgId),
  })
  if (noted.length > 0) await setMetadata(cx, userId, lastOfEach(noted))
  return claims
}

type Taking = {
  readonly claims: Record<string, unknown>
  readonly script: Script
  readonly noted: Metadata[]
}

/** Tokens travel in headers, which are short. */
const claimMax = 4000
const linesMax = 20
const lineMax = 200

function takeClaim(effect: Effect, { claims, script, noted }: Taking): void {
  const [kind, key, value] = effect
  if (kind === "metadata") noted.push(metadataIn(effect))
  else if (kind === "claimLog") log(claims, script, textIn(effect))
  else if (kind === "claim") {
    const problem = problemOf(claims, textIn(effect), value)
    if (problem === undefined) claims[String(key)] = value
    else log(claims, script, `key "${key}" ${problem}`)
  } else throw effectError(`${kind} is nothing that can be done here`)
}

/** Why a claim can't be set; undefined where it can. */
function problemOf(claims: Claims, key: string, value: unknown): string | undefined {
  if (isReserved(key)) return "is reserved"
  if (Object.hasOwn(claims, key)) return "already exists"
  const json = JSON.stringify(value)
  if (json === undefined) return "has no value"
  return json.length > claimMax ? `has more than ${claimMax} characters` : undefined
}

/** What goes wrong with a claim is no failure: it stands in a claim of its own. */
function log(claims: Record<string, unknown>, { name }: Script, line: string): void {
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
