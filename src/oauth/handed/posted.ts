import type { Requested } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"

type Back = Pick<Requested, "appId" | "clientId" | "redirectUri" | "responseMode" | "languages"> & {
  readonly state?: string | undefined
}

/** An answer that no address can bring to the application: a page of ours does, or asks first. */
export type Posted = { readonly back: Back; readonly fields: Readonly<Record<string, string>> }

/** As long as a code is good that is in it. */
const lifetimeMs = 60_000

/** The address of the page that has an answer; what it says is sealed. */
export function writePosted(
  cx: Cx,
  { asked, fields }: { readonly asked: Back; readonly fields: Posted["fields"] },
): string {
  const { appId, clientId, redirectUri, responseMode, state, languages } = asked
  const back: Back = { appId, clientId, redirectUri, responseMode, state, languages }
  const posted: Posted = { back, fields }
  const plain = JSON.stringify([posted, cx.clock.now() + lifetimeMs])
  const answer = cx.secrets.seal("token", plain, aboutOf(cx))
  return `${issuerOf(cx).issuer}${paths.callback}?${new URLSearchParams({ answer })}`
}

/** Reads it; undefined for anything else, and for one that is too old. */
export function readPosted(cx: Cx, answer: string): Posted | undefined {
  const plain = cx.secrets.open("token", answer, aboutOf(cx))
  if (plain === undefined) return undefined
  const [posted, expires]: [Posted, number] = JSON.parse(plain)
  return cx.clock.now() < expires ? posted : undefined
}

const aboutOf = (cx: Cx) => `posted_answer/${cx.instance}`
