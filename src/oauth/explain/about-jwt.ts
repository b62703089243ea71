import { decodeJwt, decodeProtectedHeader } from "jose"
import { appKey } from "../../domain/app/index.ts"
import { about, because, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import { serviceUserKey } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"
import { readHint } from "../authorize/parse.ts"
import { expected, ownNames } from "../client/assertion.ts"
import { onlyKeyOf, type Registered, registered } from "../client/registered.ts"
import { ownOf } from "../own.ts"
import type { Refused } from "./explain.ts"

/** Nobody has proven this yet: types say texts and numbers, but it may be anything. */
type Said = Readonly<Record<string, unknown>>

/** What a JWT says in its header and its claims; undefined where it is none. */
export const saidIn = (text: string): Promise<Said | undefined> =>
  expected(() => ({ ...decodeProtectedHeader(text), ...decodeJwt(text) }))

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

/** What a JWT that is signed for us must say. */
type Wanted = {
  readonly iss: string
  /** Absent where it needs none. */
  readonly sub?: string
  readonly audience: readonly string[]
  /** Undefined where the key is registered that it names. */
  readonly lacksKey?: "assertion.key" | "assertion.app_key" | undefined
}

/** What a JWT says, beside what it must say; whose it is stands in `iss`. */
function claimFindings(cx: Cx, said: Said, wanted: Wanted): readonly Finding[] {
  const { iss, sub, lacksKey, audience } = wanted
  const [exp, iat, nbf] = [numberOf(said.exp), numberOf(said.iat), numberOf(said.nbf)]
  const now = Math.floor(cx.clock.now() / 1000)
  const names = [said.aud].flat().map(textOf)
  const ahead = Math.max(iat, nbf) - now
  const wrong: readonly (Finding | false | undefined)[] = [
    textOf(said.iss) !== iss && { subject: "iss", received: textOf(said.iss), expected: [iss] },
    sub !== undefined &&
      textOf(said.sub) !== sub && { subject: "sub", received: textOf(said.sub), expected: [sub] },
    lacksKey && {
      ...{ subject: "kid", received: textOf(said.kid), expected: [] },
      ...because("kid", lacksKey),
    },
    !names.some((name) => audience.includes(name)) &&
      findingOfAddress("aud", names.join(" "), audience.slice(0, 1)),
    exp <= now && {
      ...{ subject: "exp", received: said.exp === undefined ? "" : `${now - exp} s ago` },
      expected: ["in the future"],
    },
    ahead > 1 && {
      ...{ subject: iat >= nbf ? "iat" : "nbf", received: `${ahead} s ahead` },
      expected: ["not in the future"],
      ...because("iat", "assertion.clock"),
    },
  ]
  return wrong.filter((each) => each !== false && each !== undefined)
}

/**
 * RFC 7523 §3: what the assertion of a service user says, beside what it must say. Where a request
 * names an application as well, its owner would learn which keys somebody else's users have.
 */
export async function assertionFindings(
  cx: Cx,
  text: string,
  clientId: string,
): Promise<readonly Finding[]> {
  const said = await saidIn(text)
  if (!said) return [about("assertion", "assertion.no_jwt")]
  const iss = textOf(said.iss)
  if (clientId !== "" && clientId !== iss) return []
  const lacksKey = serviceUserKey(cx, iss, textOf(said.kid)) ? undefined : "assertion.key"
  const wanted = { iss, sub: iss, audience: ownNames(cx), lacksKey } as const
  const found = claimFindings(cx, said, wanted)
  return found.length > 0 ? found : [about("assertion", "assertion.other")]
}

/** RFC 7523 §3: what a client's own assertion says, beside what it must say. */
export async function clientAssertionFindings(
  cx: Cx,
  client: Registered,
  { text, clientId }: { readonly text: string; readonly clientId: string },
): Promise<readonly Finding[]> {
  const said = await saidIn(text)
  if (!said) return [about("client_assertion", "assertion.no_jwt")]
  const keyId = textOf(said.kid) || onlyKeyOf(cx, client)
  const hasKey =
    client.kind === "application"
      ? appKey(cx, client.appId, keyId)
      : serviceUserKey(cx, client.userId, keyId)
  const lacking = client.kind === "application" ? "assertion.app_key" : "assertion.key"
  const lacksKey = hasKey ? undefined : lacking
  return claimFindings(cx, said, { iss: clientId, sub: clientId, audience: ownNames(cx), lacksKey })
}

/** RFC 9101: what a request object says of itself, beside what it must say. */
export async function objectFindings(
  cx: Cx,
  { sent, error }: Refused,
  clientId: string,
): Promise<readonly Finding[]> {
  const text = sent.get("request")
  if (!text || (error !== "invalid_request_object" && error !== "request_not_supported")) return []
  const said = await saidIn(text)
  if (!said) return [about("request", "assertion.no_jwt")]
  const alg = textOf(said.alg)
  if (alg === "none" || alg.startsWith("HS")) {
    return [{ subject: "alg", received: alg, expected: [], ...because("alg", "object.unsigned") }]
  }
  const client = registered(cx, clientId)
  if (client?.kind !== "application") return []
  const keyId = textOf(said.kid) || onlyKeyOf(cx, client)
  const lacksKey = appKey(cx, client.appId, keyId) ? undefined : "assertion.app_key"
  const audience = [ownOf(cx).issuer]
  const found = claimFindings(cx, said, { iss: clientId, audience, lacksKey })
  const inside = textOf(said.client_id)
  const named =
    inside === clientId ? [] : [{ subject: "client_id", received: inside, expected: [clientId] }]
  const all = [...found, ...named]
  return all.length > 0 ? all : [about("request", "object.other")]
}

/** What is wrong with the id_token that a request shows, and whose it is. */
export async function hintFindings(
  cx: Cx,
  { sent }: Refused,
  clientId: string,
): Promise<readonly Finding[]> {
  const subject = "id_token_hint"
  const hint = sent.get(subject)
  if (!hint) return []
  const owner = textOf(readHint(cx, hint)?.azp)
  if (owner !== "") return owner === clientId ? [] : [about(subject, "hint.other_client")]
  const iss = textOf((await saidIn(hint))?.iss)
  const { issuer } = ownOf(cx)
  if (iss === issuer) return [about(subject, "hint.changed")]
  return iss === ""
    ? [about(subject, "assertion.no_jwt")]
    : [findingOfAddress(`iss of ${subject}`, iss, [issuer])]
}
