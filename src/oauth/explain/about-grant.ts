import { createHash } from "node:crypto"
import {
  deviceAuthorization,
  grant,
  offlineUntil,
  requestLifetimes,
  requestOf,
} from "../../domain/grant/index.ts"
import { about, because, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { readCode } from "../code.ts"
import { readDeviceCode } from "../device/code.ts"
import { readRefreshToken } from "../token/refresh.ts"
import { assertionFindings } from "./about-jwt.ts"
import type { Refused } from "./explain.ts"

/** What is wrong with what a request brings to the token endpoint. */
export async function grantFindings(
  cx: Cx,
  { sent }: Refused,
  clientId: string,
): Promise<readonly Finding[]> {
  const [code, token, assertion, device] = parts.map((name) => sent.get(name))
  if (code) return codeFindings(cx, { code, sent, clientId })
  if (token) return refreshFindings(cx, token, clientId)
  if (device) return deviceFindings(cx, device, clientId)
  return assertion ? assertionFindings(cx, assertion, clientId) : []
}

const parts = ["code", "refresh_token", "assertion", "device_code"] as const

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

/** RFC 8628 §3.4: whose code a device has sent, and what has become of it. */
function deviceFindings(cx: Cx, code: string, clientId: string): readonly Finding[] {
  const subject = "device_code"
  const id = readDeviceCode(cx, code)
  if (id === undefined) return [about(subject, "code.not_ours")]
  const state = cx.store.state(cx, deviceAuthorization, id)
  if (state.status === "absent") return [about(subject, "code.over")]
  if (state.clientId !== clientId) return [about(subject, "code.other_client")]
  if (state.status === "done") return [about(subject, "code.used")]
  return cx.clock.now() >= state.expires ? [about(subject, "device.old")] : []
}
