import type { Page } from "../../kernel/page.ts"
import { type Cx, type Store, windowOf } from "../../store/index.ts"
import { app, applicationAskedFor, findClient } from "../app/index.ts"
import type { Finding } from "./finding.ts"

/** A request of an application that was refused, and why. */
export type Refusal = {
  /** Names the request, in the answer and in the log too. */
  readonly requestId: string
  /** ms UTC. */
  readonly time: number
  /** The path that was asked. */
  readonly endpoint: string
  /** What the client was told. */
  readonly error: string
  readonly description: string
  /** What the request called its client; it may be nobody's. */
  readonly clientId: string
  /** Of the application, where the request has another name for it. */
  readonly appId?: string
  readonly findings: readonly Finding[]
}

/** `place` counts those of the instance. */
type Kept = Refusal & { readonly place: number }

const keptByStore = new WeakMap<Store, Map<string, Kept[]>>()

/** Of one instance; the oldest go first. */
const keptMax = 500
const textMax = 500
const listMax = 20

/**
 * Keeps why a request was refused, in memory: for whoever looks into it now. Strangers cause these,
 * so they are few, short, and never on disk.
 */
export function noteRefusal(cx: Cx, refusal: Omit<Refusal, "requestId" | "time">): Refusal {
  const byInstance = keptByStore.get(cx.store) ?? new Map<string, Kept[]>()
  keptByStore.set(cx.store, byInstance)
  const kept = byInstance.get(cx.instance) ?? []
  byInstance.set(cx.instance, kept)
  const { endpoint, error, description, clientId, appId, findings } = refusal
  const { requestId } = cx
  const time = cx.clock.now()
  const noted = {
    requestId,
    time,
    endpoint,
    error,
    description,
    ...(appId !== undefined && { appId }),
    clientId: onOneLine(withoutSecrets(clientId)).slice(0, textMax),
    findings: findings.slice(0, listMax).map(shortened),
  }
  kept.push({ ...noted, place: (kept.at(-1)?.place ?? 0) + 1 })
  if (kept.length > keptMax) kept.shift()
  return noted
}

const shortened = (finding: Finding): Finding => ({
  ...finding,
  subject: withoutSecrets(finding.subject).slice(0, textMax),
  received: shown(finding, finding.received),
  expected: finding.expected.slice(0, listMax).map((text) => shown(finding, text)),
})

/**
 * A hash is what nobody can use; everything else may be a secret gone astray, also what would have
 * fitted: it may come from another part of the same request.
 */
const shown = ({ subject }: Finding, text: string): string =>
  (subject.startsWith("SHA-256 of ") ? text : withoutSecrets(text)).slice(0, textMax)

/**
 * Whoever confuses two settings sends a secret as an id. What looks like one, long and of letters
 * of both cases and digits, is not kept; its beginning and length are enough to find the mistake.
 */
const withoutSecrets = (text: string): string =>
  text.replace(/[\w-]{32,}/g, (word) =>
    [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(word))
      ? `${word.slice(0, 4)}… (${word.length} characters)`
      : word,
  )

/** It is logged: what a stranger calls their client must not look like a line of ours. */
const onOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{FFFD}")

/** A refusal with the application that its client is. */
export type Known = Kept & {
  readonly application: { readonly id: string; readonly name: string } | undefined
}

type Wanted = { readonly requestId: string; readonly appId: string; readonly page: Page }

/**
 * The refusals that the caller may see, newest first unless requested: those of the applications in
 * their scope. What came from nobody's client is for those who see the whole instance.
 */
export function searchRefusals(cx: Cx, { requestId, appId, page }: Wanted) {
  const { scope } = cx
  if (!scope) throw new Error("a search of refusals needs the scope of its caller")
  const all = keptByStore.get(cx.store)?.get(cx.instance) ?? []
  const seen = all.flatMap((refusal): readonly Known[] => {
    const id = refusal.appId ?? findClient(cx, refusal.clientId)?.appId
    const state =
      id === undefined ? undefined : applicationAskedFor(cx, { clientId: "", appId: id })
    if (requestId !== "" && refusal.requestId !== requestId) return []
    if (appId !== "" && id !== appId) return []
    const owner = cx.store.receipt(cx, app, id ?? "")?.owner
    const isSeen =
      scope.all ||
      (state !== undefined &&
        (scope.orgs.includes(owner ?? "") || scope.projects.includes(state.projectId)))
    const application = id !== undefined && state ? { id, name: state.name } : undefined
    return isSeen ? [{ ...refusal, application }] : []
  })
  const requested = ["refusals", requestId, appId]
  return windowOf(cx, seen, { page, requested, by: ({ place }) => [place] })
}
