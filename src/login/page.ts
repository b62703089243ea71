import type { ReactElement } from "react"
import type { Assets, PageProps, Problem } from "../../ui/login/index.ts"
import { isFeatureOn } from "../domain/feature/index.ts"
import { instance } from "../domain/instance/index.ts"
import { org } from "../domain/org/index.ts"
import { negotiateLanguages } from "../domain/quota/index.ts"
import { type CustomLoginTexts, customLoginTexts } from "../domain/text/index.ts"
import type { Code, Fault } from "../kernel/fault.ts"
import { loadOnce } from "../kernel/lazy.ts"
import { lru } from "../kernel/lru.ts"
import type { Cx } from "../store/index.ts"
import { appearanceOf, type BrandingOrg } from "./appearance/branding.ts"
import { loginPaths } from "./path.ts"

type Ui = typeof import("../../ui/login/index.ts")

export type PageOptions = {
  readonly status?: number
  /** Preferred over the browser's languages, best first. */
  readonly languages?: readonly string[]
  /** Whether the form posts to another site, which may redirect to any URL. */
  readonly postsElsewhere?: boolean
  /** False for a page that must not be framed, whatever the instance allows. */
  readonly isFramed?: boolean
  /** Pages of other sites that this page loads in frames. */
  readonly frames?: readonly string[]
  /** Where the browser continues automatically after a few seconds, without a script. */
  readonly continueTo?: string
  /** The organization whose branding is shown; see `brandingOrgOf`. */
  readonly orgId?: string | undefined
  /** Set-Cookie headers. */
  readonly cookies?: readonly (string | undefined)[]
  /** RFC 6585 §4: when to retry, after too many requests. */
  readonly retryAfterSeconds?: number | undefined
}

/** Renders one page with the headers that every page has. */
export type ShowPage = (
  cx: Cx,
  render: (ui: Ui, shared: PageProps) => ReactElement,
  options?: PageOptions,
) => Promise<Response>

/** React is loaded for the first page, so that startup does not wait for it. */
const loadUi = loadOnce((): Promise<Ui> => import("../../ui/login/index.ts"))

export function createShowPage(assets: Assets): ShowPage {
  const translators = createTranslatorCache()
  return async (cx, render, options = {}) => {
    const ui = await loadUi()
    const preferred = [...(options.languages ?? []), ...cx.languages]
    const home = pageOrgOf(cx, options.orgId)
    const spoken = ui.translator(negotiateLanguages(cx, preferred))
    const customTexts = customLoginTexts(cx, home?.id, spoken.language)
    const { language, t } = customTexts ? translators(ui, spoken.language, customTexts) : spoken
    const appearance = appearanceOf(cx, home, language)
    const embedders = options.isFramed === false ? [] : allowedEmbedders(cx)
    const html = ui.renderPage(render(ui, { t, language, assets, appearance }))
    const headers = new Headers({
      "content-type": "text/html; charset=utf-8",
      "content-language": language,
      "cache-control": "no-store",
      "content-security-policy": contentSecurityPolicy(options, embedders),
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
    })
    // X-Frame-Options can't list origins, and browsers that support frame-ancestors ignore it.
    if (embedders.length === 0) headers.set("x-frame-options", "DENY")
    for (const cookie of options.cookies ?? []) if (cookie) headers.append("set-cookie", cookie)
    const { retryAfterSeconds: seconds } = options
    if (seconds) headers.set("retry-after", String(seconds))
    if (options.continueTo) headers.set("refresh", refreshHeader(options.continueTo))
    return new Response(html, { status: options.status ?? 200, headers })
  }
}

/**
 * Maximum number of cached translators with custom texts; the cache holds at most twice as many.
 */
const translatorsMax = 64

/** Caches translators, which parse each text once. */
function createTranslatorCache() {
  const translatorCache = lru<Translator>(translatorsMax)
  return (ui: Ui, language: string, { id, texts }: CustomLoginTexts): Translator => {
    const key = `${language}/${id}`
    const cached = translatorCache.get(key) ?? ui.translatorWithTexts(language, texts)
    translatorCache.set(key, cached)
    return cached
  }
}

type Translator = ReturnType<Ui["translatorWithTexts"]>

/**
 * The organization of a page: that of the request; otherwise the default one, if the instance
 * enables that; undefined for the instance.
 */
export function pageOrgOf(cx: Cx, orgId: string | undefined): BrandingOrg | undefined {
  const isDefault = orgId === undefined && isFeatureOn(cx, "login_default_org")
  const id = isDefault ? cx.store.state(cx, instance, cx.instance).defaultOrgId : orgId
  const home = id ? cx.store.state(cx, org, id) : undefined
  return id && home?.status === "active" ? { id, name: home.name } : undefined
}

/** The origins that can embed our pages in a frame; none by default. */
function allowedEmbedders(cx: Cx): readonly string[] {
  const { security } = cx.store.state(cx, instance, cx.instance)
  return security.enableIframeEmbedding ? security.allowedOrigins.flatMap(cspSourcesOf) : []
}

/** A page that continues automatically. */
export type ContinueOptions = PageOptions & {
  readonly href: string
  readonly application: string
  readonly why: "signed_in" | "refused" | "signed_out"
}

/**
 * Sends the browser on after one of our forms. A redirect would still belong to the form and be
 * blocked by form-action (see `contentSecurityPolicy`), so a page is returned instead.
 */
export const showContinue = (
  show: ShowPage,
  cx: Cx,
  { href: location, application, why: denialReason, ...options }: ContinueOptions,
): Promise<Response> =>
  show(
    cx,
    (ui, shared) =>
      ui.ContinuePage({
        ...shared,
        application,
        reason: denialReason,
        href: toAscii(location),
        isAutomatic: true,
      }),
    options,
  )

const continueSeconds = 5

const refreshHeader = (address: string): string => `${continueSeconds};url=${toAscii(address)}`

/** RFC 3987 §3.1: a registered URI may contain characters that are not allowed in headers. */
const toAscii = (address: string): string =>
  address.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)

/** An error page, with the request ID for the log. */
export type ErrorPageOptions = PageOptions & {
  readonly problem: Problem
  /** For the developers of the application, in English. */
  readonly detail?: string
  /** The reason for this user; a key of the catalog. */
  readonly reason?: Parameters<PageProps["t"]>[0]
  /** The reason in the words of the script that denied the sign-in. */
  readonly said?: string
  /** Where to sign in, if that solves the problem. */
  readonly startHref?: string
  /** The user's account page, if they came from there. */
  readonly accountHref?: string
  /** The sign-in page that most problems link to, if it is not the one without an application. */
  readonly signInHref?: string | undefined
  /** The ID of the failed request, if it is not the one that shows the page. */
  readonly requestId?: string
}

export const showError = (
  show: ShowPage,
  cx: Cx,
  errorOptions: ErrorPageOptions,
): Promise<Response> => {
  const { problem, detail, accountHref, signInHref = loginPaths.entry, status = 400 } = errorOptions
  const isSignInNext = accountHref === undefined && solvedBySignIn.has(problem)
  const { startHref = isSignInNext ? signInHref : undefined } = errorOptions
  return show(
    cx,
    (ui, shared) => {
      const reason = errorOptions.said ?? (errorOptions.reason && shared.t(errorOptions.reason))
      const { requestId = cx.requestId } = errorOptions
      const hrefs = { startHref, accountHref }
      return ui.ErrorPage({ ...shared, problem, reason, detail, requestId, ...hrefs })
    },
    { ...errorOptions, status },
  )
}

/** Problems that a new sign-in can solve, unlike errors of the application. */
const solvedBySignIn: ReadonlySet<Problem> = new Set([
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

/** The page for an expected failure. It explains what to do; details are only logged. */
export function showFault(show: ShowPage, cx: Cx, fault: Fault): Promise<Response> {
  const [problem, status] = faultPages[fault.code] ?? ["unexpected", 500]
  const { retryAfterSeconds } = fault
  return showError(show, cx, { problem, status, retryAfterSeconds })
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
 * The Content-Security-Policy: nothing inline, only frames that the instance allows, and external
 * resources only as the page declares. Chromium applies form-action to every redirect after a form,
 * so only pages that post to another site omit it. Our own forms lead to our own pages; see
 * `ContinuePage`.
 */
const contentSecurityPolicy = (
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
    ...(frames.length > 0
      ? [`frame-src ${[...new Set(frames.flatMap(cspSourcesOf))].join(" ")}`]
      : []),
    `frame-ancestors ${embedders.join(" ") || "'none'"}`,
    "base-uri 'none'",
  ].join("; ")

function cspSourcesOf(target: string): readonly string[] {
  const cached = sourceCache.get(target) ?? parseSource(target)
  sourceCache.set(target, cached)
  return cached
}

/** Most sign-ins are to a few applications, and parsing a URL is slow. */
const sourceCache = lru<readonly string[]>(64)

/** An origin, or only the scheme for custom schemes. */
function parseSource(target: string): readonly string[] {
  if (!URL.canParse(target)) return []
  const { protocol, origin } = new URL(target)
  const source = protocol === "https:" || protocol === "http:" ? origin : protocol
  // A host can contain ";" or ",", which would end the directive here.
  return /[;,']/.test(source) ? [] : [source]
}
