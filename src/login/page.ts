import type { ReactElement } from "react"
import type { Assets, PageProps, Problem } from "../../ui/login/index.ts"
import { isFeatureOn } from "../domain/feature/index.ts"
import { instance } from "../domain/instance/index.ts"
import { org } from "../domain/org/index.ts"
import { allowedOf } from "../domain/quota/index.ts"
import { type LoginWords, loginWords } from "../domain/text/index.ts"
import type { Code, Fault } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import { lru } from "../kernel/lru.ts"
import type { Cx } from "../store/index.ts"
import { type Home, lookOf } from "./look/branding.ts"
import { loginPaths } from "./path.ts"

type Ui = typeof import("../../ui/login/index.ts")

export type PageOptions = {
  readonly status?: number
  /** Preferred before the browser's own, best first. */
  readonly languages?: readonly string[]
  /** Whether its form posts to another site, which may redirect the browser to any address. */
  readonly postsElsewhere?: boolean
  /** False for a page that no other may show in a frame, whatever the instance says. */
  readonly isFramed?: boolean
  /** Pages of others that this page loads in frames. */
  readonly frames?: readonly string[]
  /** Where the browser goes by itself after a few seconds, without any script. */
  readonly continueTo?: string
  /** The organisation whose look it has; see `lookOrgOf`. */
  readonly orgId?: string | undefined
  /** Set-Cookie lines. */
  readonly cookies?: readonly (string | undefined)[]
  /** RFC 6585 §4: when to come again, for who has come too often. */
  readonly retryAfterSeconds?: number | undefined
}

/** Shows one page with the headers that every page has. */
export type ShowPage = (
  cx: Cx,
  render: (ui: Ui, shared: PageProps) => ReactElement,
  options?: PageOptions,
) => Promise<Response>

/** React is loaded with the first page that somebody asks for: start-up does without it. */
const loadUi = lazily((): Promise<Ui> => import("../../ui/login/index.ts"))

export function pagesWith(assets: Assets): ShowPage {
  const translators = translatorsKept()
  return async (cx, render, options = {}) => {
    const ui = await loadUi()
    const wanted = [...(options.languages ?? []), ...cx.languages]
    const home = pagesOf(cx, options.orgId)
    const spoken = ui.translator(allowedOf(cx, wanted))
    const said = loginWords(cx, home?.id, spoken.language)
    const { language, t } = said ? translators(ui, spoken.language, said) : spoken
    const look = lookOf(cx, home, language)
    const embedders = options.isFramed === false ? [] : embeddersOf(cx)
    const html = ui.renderPage(render(ui, { t, language, assets, look }))
    const headers = new Headers({
      "content-type": "text/html; charset=utf-8",
      "content-language": language,
      "cache-control": "no-store",
      "content-security-policy": policy(options, embedders),
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
    })
    // It can't name anybody, and browsers that know frame-ancestors pass it over.
    if (embedders.length === 0) headers.set("x-frame-options", "DENY")
    for (const cookie of options.cookies ?? []) if (cookie) headers.append("set-cookie", cookie)
    const { retryAfterSeconds: seconds } = options
    if (seconds) headers.set("retry-after", String(seconds))
    if (options.continueTo) headers.set("refresh", refreshTo(options.continueTo))
    return new Response(html, { status: options.status ?? 200, headers })
  }
}

/** Translators that speak in somebody's own words, at most twice as many. */
const translatorsMax = 64

/** Keeps translators, which read each text once. */
function translatorsKept() {
  const kept = lru<Translator>(translatorsMax)
  return (ui: Ui, language: string, { id, texts }: LoginWords): Translator => {
    const key = `${language}/${id}`
    const known = kept.get(key) ?? ui.translatorSaying(language, texts)
    kept.set(key, known)
    return known
  }
}

type Translator = ReturnType<Ui["translatorSaying"]>

/**
 * Whose pages these are: those of the organisation that the request is for, else, where the
 * instance wants that, those of the default one; undefined: ours.
 */
export function pagesOf(cx: Cx, orgId: string | undefined): Home | undefined {
  const isDefault = orgId === undefined && isFeatureOn(cx, "login_default_org")
  const id = isDefault ? cx.store.state(cx, instance, cx.instance).defaultOrgId : orgId
  const home = id ? cx.store.state(cx, org, id) : undefined
  return id && home?.status === "active" ? { id, name: home.name } : undefined
}

/** Whose pages may show ours in a frame: nobody's, unless the instance says so. */
function embeddersOf(cx: Cx): readonly string[] {
  const { security } = cx.store.state(cx, instance, cx.instance)
  return security.enableIframeEmbedding ? security.allowedOrigins.flatMap(sourceOf) : []
}

/** What a page that continues by itself says, and where it leads. */
export type Continuing = PageOptions & {
  readonly href: string
  readonly application: string
  readonly why: "signed_in" | "refused" | "signed_out"
}

/**
 * Sends the browser on from what a form of ours has led to. A redirect would be a part of the form,
 * and blocked by its form-action (see `policy`); a page ends that.
 */
export const showContinue = (
  show: ShowPage,
  cx: Cx,
  { href: location, application, why, ...options }: Continuing,
): Promise<Response> =>
  show(
    cx,
    (ui, shared) =>
      ui.ContinuePage({ ...shared, application, why, href: asciiOf(location), isAutomatic: true }),
    options,
  )

const continueSeconds = 5

const refreshTo = (address: string): string => `${continueSeconds};url=${asciiOf(address)}`

/** RFC 3987 §3.1: a registered address may have characters that no header can carry. */
const asciiOf = (address: string): string =>
  address.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)

/** What went wrong, with the id that finds it in the log. */
export type Trouble = PageOptions & {
  readonly problem: Problem
  /** For who made the application, in English. */
  readonly detail?: string
  /** What is so for this person; the catalogue has it. */
  readonly reason?: Parameters<PageProps["t"]>[0]
  /** The same in the words of whoever keeps them out, as they wrote it. */
  readonly said?: string
  /** Where one signs in, if that is the way on. */
  readonly startHref?: string
  /** Where one's own account is, for whoever came from there. */
  readonly accountHref?: string
  /** The sign-in that most problems lead to, where it is not the one without an application. */
  readonly signInHref?: string | undefined
  /** Which request it happened in, where that is not the one that shows it. */
  readonly requestId?: string
}

export const showTrouble = (show: ShowPage, cx: Cx, trouble: Trouble): Promise<Response> => {
  const { problem, detail, accountHref, signInHref = loginPaths.entry, status = 400 } = trouble
  const isSignInNext = accountHref === undefined && signInNext.has(problem)
  const { startHref = isSignInNext ? signInHref : undefined } = trouble
  return show(
    cx,
    (ui, shared) => {
      const reason = trouble.said ?? (trouble.reason && shared.t(trouble.reason))
      const { requestId = cx.requestId } = trouble
      const hrefs = { startHref, accountHref }
      return ui.ErrorPage({ ...shared, problem, reason, detail, requestId, ...hrefs })
    },
    { ...trouble, status },
  )
}

/** Problems of whoever signs in; what an application did wrong is not mended by a sign-in. */
const signInNext: ReadonlySet<Problem> = new Set([
  "expired",
  "other_browser",
  "not_found",
  "not_allowed",
  "provider_cancelled",
  "provider_down",
  "provider_refused",
  "provider_unlinked",
  "provider_domain",
  "provider_taken",
])

/** An expected failure, as a page; the person learns what to do, and the log has the rest. */
export function showFault(show: ShowPage, cx: Cx, fault: Fault): Promise<Response> {
  const [problem, status] = faultPages[fault.code] ?? ["unexpected", 500]
  const { retryAfterSeconds } = fault
  return showTrouble(show, cx, { problem, status, retryAfterSeconds })
}

const faultPages: Readonly<Partial<Record<Code, readonly [Problem, number]>>> = {
  failed_precondition: ["expired", 400],
  invalid_argument: ["invalid_request", 400],
  unauthenticated: ["not_allowed", 403],
  permission_denied: ["not_allowed", 403],
  resource_exhausted: ["too_many_tries", 429],
  aborted: ["unexpected", 503],
  unavailable: ["unexpected", 503],
}

/**
 * Nothing inline, no frames but those that the instance allows, and from elsewhere only what a page
 * names. Chromium applies form-action to every redirect that follows a form, so only pages that
 * post to another site leave it out. Our own forms lead to pages of ours, see `ContinuePage`.
 */
const policy = (
  { postsElsewhere = false, frames = [] }: PageOptions,
  embedders: readonly string[],
): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    ...(postsElsewhere ? [] : ["form-action 'self'"]),
    ...(frames.length > 0 ? [`frame-src ${[...new Set(frames.flatMap(sourceOf))].join(" ")}`] : []),
    `frame-ancestors ${embedders.join(" ") || "'none'"}`,
    "base-uri 'none'",
  ].join("; ")

function sourceOf(target: string): readonly string[] {
  const known = sources.get(target) ?? readSource(target)
  sources.set(target, known)
  return known
}

/** Few applications are most of what people sign in to, and an address is slow to read. */
const sources = lru<readonly string[]>(64)

/** An origin, or the scheme alone where an application has its own. */
function readSource(target: string): readonly string[] {
  if (!URL.canParse(target)) return []
  const { protocol, origin } = new URL(target)
  const source = protocol === "https:" || protocol === "http:" ? origin : protocol
  // A host may have a ";" or a ",", which would end the directive here.
  return /[;,']/.test(source) ? [] : [source]
}
