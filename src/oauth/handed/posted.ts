import type { Requested } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"

/** An answer that the browser is to post, which no address can make it do: a page of ours does. */
export type Posted = {
  readonly clientId: string
  readonly redirectUri: string
  readonly fields: Readonly<Record<string, string>>
}

/** As long as a code is good that is in it. */
const lifetimeMs = 60_000

/** The address of the page that posts an answer; what it says is sealed. */
export function writePosted(
  cx: Cx,
  {
    asked,
    all,
  }: {
    readonly asked: Pick<Requested, "clientId" | "redirectUri">
    readonly all: Posted["fields"]
  },
): string {
  const { clientId, redirectUri } = asked
  const posted: Posted = { clientId, redirectUri, fields: all }
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
