import { createHash } from "node:crypto"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { grant, offlineUntil, requestLifetimes, requestOf } from "../../domain/grant/index.ts"
import { because, type Cause, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import { serviceUserKey } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"
import { expected } from "../client/assertion.ts"
import { readCode } from "../code.ts"
import { ownOf } from "../own.ts"
import { readRefreshToken } from "../token/refresh.ts"
import type { Refused } from "./explain.ts"

/** What is wrong with what a request brings to the token endpoint. */
export async function grantFindings(
  cx: Cx,
  { sent }: Refused,
  clientId: string,
): Promise<readonly Finding[]> {
  const [code, token, assertion] = ["code", "refresh_token", "assertion"].map((name) =>
    sent.get(name),
  )
  if (code) return codeFindings(cx, { code, sent, clientId })
  if (token) return refreshFindings(cx, token, clientId)
  return assertion ? assertionFindings(cx, assertion, clientId) : []
}

/** Says something of a value that must not be shown. */
const about = (subject: string, cause: Cause): Finding => ({
  ...{ subject, received: "", expected: [], ...because(subject, cause) },
})

type Redeemed = {
  readonly code: string
  readonly sent: URLSearchParams
  readonly clientId: string
}

function codeFindings(cx: Cx, { code, sent, clientId }: Redeemed): readonly Finding[] {
  const answered = readCode(cx, code)
  if (!answered) return [about("code", "code.not_ours")]
  const state = requestOf({ state: (kind, id) => cx.store.state(cx, kind, id) }, answered)
  if (state.status === "absent" || state.status === "failed") {
    return [about("code", "code.over")]
  }
  const owner = state.status === "exchanged" ? state.clientId : state.asked.clientId
  if (owner !== clientId) return [about("code", "code.other_client")]
  if (state.status === "exchanged") {
    return [about("code", "code.used")]
  }
  if (state.status === "answered" && cx.clock.now() >= state.codeAt + requestLifetimes.code) {
    return [about("code", "code.old")]
  }
  const { redirectUri, challenge } = state.asked
  const uri = sent.get("redirect_uri") ?? ""
  const address = uri === redirectUri ? [] : [findingOfAddress("redirect_uri", uri, [redirectUri])]
  return [...address, ...verifierFindings(challenge, sent.get("code_verifier"))]
}

/** RFC 7636 §4.6: a hash may be shown, what it is made of may not. */
function verifierFindings(challenge: string | undefined, verifier: string | null) {
  const subject = "code_verifier"
  if (challenge === undefined && verifier === null) return []
  if (challenge === undefined) {
    return [about(subject, "verifier.unasked")]
  }
  if (verifier === null) return [about(subject, "verifier.missing")]
  const received = createHash("sha256").update(verifier).digest("base64url")
  if (received === challenge) return []
  const cause = verifier === challenge ? "verifier.challenge" : "verifier.other"
  const finding = { subject: `SHA-256 of ${subject}`, received, expected: [challenge] }
  return [{ ...finding, ...because(subject, cause) }]
}

function refreshFindings(cx: Cx, token: string, clientId: string): readonly Finding[] {
  const subject = "refresh_token"
  const read = readRefreshToken(cx, token)
  if (!read) return [about(subject, "refresh.not_ours")]
  const given = cx.store.state(cx, grant, read.grantId)
  if (given.status === "absent") return [about(subject, "refresh.over")]
  if (given.clientId !== clientId) return [about(subject, "refresh.other_client")]
  if (given.status === "ended") {
    return [about(subject, "refresh.ended")]
  }
  const { offline } = given
  if (offline && cx.clock.now() >= offlineUntil(offline)) {
    return [about(subject, "refresh.expired")]
  }
  return [about(subject, "refresh.stopped")]
}

/**
 * RFC 7523 §3: what the assertion of a service user says, beside what it must say. Where a request
 * names an application as well, its owner would learn which keys somebody else's users have.
 */
async function assertionFindings(
  cx: Cx,
  text: string,
  clientId: string,
): Promise<readonly Finding[]> {
  const parts = await expected(() => ({ ...decodeProtectedHeader(text), ...decodeJwt(text) }))
  if (!parts) return [about("assertion", "assertion.no_jwt")]
  // Nobody has signed this yet: types say texts and numbers, but it may be anything.
  const said: Readonly<Record<string, unknown>> = parts
  const [iss, sub, kid] = [textOf(said.iss), textOf(said.sub), textOf(said.kid)]
  if (clientId !== "" && clientId !== iss) return []
  const [exp, iat] = [numberOf(said.exp), numberOf(said.iat)]
  const now = Math.floor(cx.clock.now() / 1000)
  const key = serviceUserKey(cx, iss, kid)
  const names = (Array.isArray(said.aud) ? said.aud : [said.aud]).map(textOf)
  const { issuer } = ownOf(cx)
  const wrong: readonly (Finding | false)[] = [
    iss !== sub && finding("sub", sub, [iss]),
    !key && {
      ...finding("kid", kid, []),
      ...because("kid", "assertion.key"),
    },
    !names.some((name) => name.startsWith(issuer)) && finding("aud", names.join(" "), [issuer]),
    exp <= now && finding("exp", `${now - exp} s ago`, ["in the future"]),
    iat > now + 1 && {
      ...finding("iat", `${iat - now} s ahead`, ["not in the future"]),
      ...because("iat", "assertion.clock"),
    },
  ]
  const found = wrong.filter((each) => each !== false)
  if (found.length > 0) return found
  return [about("assertion", "assertion.other")]
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

const finding = (subject: string, received: string, wanted: readonly string[]): Finding => ({
  ...{ subject, received, expected: wanted },
})
